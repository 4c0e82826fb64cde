/* SPDX-License-Identifier: Apache-2.0
 *
 * A client of the worker: its shared pages, windows, streams, objects, and what it has queued.
 * Everything that a client names (streams, modules, functions) is looked up in its own tables.
 *
 * A client is dead once it has a fault: what it sends is still read, but nothing runs, nothing is
 * published as complete, and what is answered is the fault. It is expelled when it broke the
 * protocol: then nothing is read any more. It is leaving when the broker said so, and dead at that
 * moment, if not before: as soon as nothing of it is on the device, it is freed. The memory of a
 * dead client goes earlier: its context is lost, and others wait for it.
 */
#ifndef DAEMON_WORKER_CLIENT_H
#define DAEMON_WORKER_CLIENT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"
#include "daemon/worker/iteration/boundary.h"
#include "daemon/worker/memory/credit.h"
#include "daemon/worker/memory/lifetime.h"
#include "daemon/worker/stream/op.h"
#include "daemon/worker/stream/stream.h"
#include "daemon/worker/worker.h"
#include "proto/ring.h"
#include "proto/wire.h"

struct memory;

/* Why nothing is read of a client that lives. */
#define CLIENT_WAITS 1u /* for admission */
#define CLIENT_HELD 2u  /* for the end of an iteration: boundary.h */
#define CLIENT_OUT 4u   /* for its memory: swapped out, it comes back without being asked for */

struct client {
    struct worker *worker;
    struct list link, fault_link;
    uint32_t job_id;
    char name[64];
    struct wire_windows windows;
    struct wire_submission *sub; /* written by the client: every value from it is checked */
    struct wire_completion *com; /* written by us alone */
    int doorbell;
    struct ring_rx rx;
    struct dev_space *space;
    bool host_mapped;

    struct op_pool pool;
    struct stream **streams; /* [WIRE_STREAMS] */
    uint32_t stream_end;     /* no stream has this id or a higher one */
    struct module **modules; /* [WIRE_MODULES] */
    struct func **funcs;     /* [WIRE_FUNCS] */

    uint64_t pushed, completed; /* stream operations; the first is the next one's number */
    uint64_t launches;
    uint64_t inflight;      /* on the device */
    const struct op *shown; /* of these, to people: running.h */
    struct boundary boundary;
    struct lifetime lifetime;
    uint64_t legacy_pending;
    bool legacy_blocked; /* stream 0 waits for legacy_pending to become 0 */

    struct op *deferred, **deferred_last; /* records that wait for all before them */
    uint64_t deferred_count;
    struct list clearing;             /* worker.clearing */
    struct op *parked, **parked_last; /* they run once its lane is clear: clearing.h */
    struct stream *fenced; /* streams whose next operation comes after the first of these */

    uint64_t callbacks_posted, callbacks_done;
    struct stream *callback_waiters; /* no place free to post into */

    int fault;      /* ERR_* or -errno; 0 while alive */
    bool abandoned; /* nothing of it will be submitted any more */
    bool expelled, leaving;
    uint8_t deaf;   /* CLIENT_*: its ring is not read */
    bool away;      /* some of its memory is not on the device, or its lane is not clear */
    bool published; /* since its waiters were last woken */
    bool ending;    /* its deferred list is being run */

    struct sched_spec spec;
    struct memory *memory; /* NULL once it was released */
    struct credit credit;
    uint32_t uid;
    struct wire_limits limits; /* of all of its user's clients */
    uint64_t quota;            /* its part of the operations that these may have */
    uint32_t kernels_created;  /* entries of the table of kernels */
    uint32_t level;            /* of the device's priorities, of all its streams */
    uint32_t lane;             /* SCHED_NO_LANE until it is admitted */
    bool stranded;             /* data of an earlier iteration is in its lane: residence.h */

    pthread_mutex_t text_lock;            /* completion.text: the device's threads write it */
    struct op *callbacks[WIRE_CALLBACKS]; /* posted and not returned; index as on the wire */
};

/* Maps what the broker sent (`fds`: submission, host, doorbell; taken over in any case) and opens a
 * space. On success *completion_fd is the caller's to send and close. -EEXIST when the windows
 * collide with what is mapped here. */
int client_create(struct worker *w, const struct wire_worker_msg *msg, int *fds, int *completion_fd,
                  struct client **out);
/* Nothing of it may be on the device. */
void client_destroy(struct client *c);

/* The scheduler let it in: its ring is read from now on. */
void client_admitted(struct client *c);
/* All its streams, those it will open as well, have this level of the device's priorities. */
void client_level(struct client *c, uint32_t level);
/* Gives back its device memory; nothing of it is on the device. */
void client_release(struct client *c);

/* Stops everything: cancels what runs, drops what is queued. `err` is its fault when it has none
 * yet, and is there before anything is dropped. At a safe point only (not while a step's actions or
 * a poll's completions are being carried out). */
void client_abandon(struct client *c, int err);

/* Records that a stream operation of it is complete, and frees it. */
void client_completed(struct client *c, struct op *op);

/* Host memory of the client, or NULL when any part lies outside its host window. */
void *client_host(const struct client *c, uint64_t addr, uint64_t bytes);
/* True when the range lies in one of the client's windows. */
bool client_owns(const struct client *c, uint64_t addr, uint64_t bytes);

/* Where the second half of its alloc window begins. */
static inline uint64_t client_ephemeral(const struct client *c) {
    return c->windows.dev_base + WIRE_EPHEMERAL_OFFSET(c->windows.alloc_bytes);
}

/* The stream, when the client has it open. */
struct stream *client_stream(const struct client *c, uint32_t id);

/* True when its next record may be read now. */
static inline bool client_accepts(const struct client *c) {
    return !c->leaving && !c->expelled && !c->deaf &&
           c->pushed - c->completed + c->deferred_count < c->quota;
}

static inline bool client_dead(const struct client *c) {
    return c->fault != 0;
}

#endif
