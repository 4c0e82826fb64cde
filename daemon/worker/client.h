/* SPDX-License-Identifier: Apache-2.0
 *
 * A client of the worker: its shared pages and windows, composed with what each room keeps of it.
 * Everything that a client names (streams, modules, functions) is looked up in its own tables.
 *
 * A client is dead once it has a fault: what it sends is still read, but nothing runs, nothing is
 * published as complete, and what is answered is the fault. It is expelled when it broke the
 * protocol: then nothing is read any more. It is leaving when the broker said so, and dead at that
 * moment, if not before: as soon as nothing of it is on the device or on an errand, it is freed.
 * The memory of a dead client goes earlier: its context is lost, and others wait for it.
 */
#ifndef DAEMON_WORKER_CLIENT_H
#define DAEMON_WORKER_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"
#include "daemon/worker/estate/again.h"
#include "daemon/worker/estate/estate.h"
#include "daemon/worker/iteration/boundary.h"
#include "daemon/worker/iteration/lifetime.h"
#include "daemon/worker/kernel/launch_profile.h"
#include "daemon/worker/kernel/object.h"
#include "daemon/worker/kernel/variables.h"
#include "daemon/worker/page/completion_page.h"
#include "daemon/worker/page/text.h"
#include "daemon/worker/residency/credit.h"
#include "daemon/worker/residency/memory_ask.h"
#include "daemon/worker/segments/hostfile.h"
#include "daemon/worker/stream/callback.h"
#include "daemon/worker/stream/device_launch.h"
#include "daemon/worker/stream/graph.h"
#include "daemon/worker/stream/op.h"
#include "daemon/worker/stream/signal.h"
#include "daemon/worker/stream/stream.h"
#include "daemon/worker/stream/watch.h"
#include "daemon/worker/worker.h"
#include "proto/wire/ring.h"
#include "proto/wire/wire.h"

struct memory;

/* Why nothing is read of a client that lives. */
#define CLIENT_WAITS 1u /* for admission */
#define CLIENT_OUT 2u   /* for its memory: swapped out */
#define CLIENT_LOADS 4u /* for its errand: what it sent behind it comes after it */
#define CLIENT_SAVES 8u /* for its memory to be saved: savepoint_writer.h */
#define CLIENT_ASKS 16u /* for a limit, which needs memory that it asks for: limit_request.h */

/* What each operation touches comes first, on a few cache lines. */
struct client {
    struct worker *worker;
    struct completion com;
    uint32_t job_id, uid;
    uint64_t inflight;      /* on the device */
    const struct op *shown; /* of these, to people: status_page.h */
    uint64_t quota;         /* of operations: its part of what its user's clients may have */
    uint8_t throttled;      /* CLIENT_*: its ring is not read; nor while boundary_holds */
    bool null;              /* its kernels take time and compute nothing */
    bool wanted;    /* swapped out, and the scheduler was told that it has something to do */
    bool displaced; /* some of its memory is not on the device, or its lane not clear */
    bool fixed;     /* it has, or had, arrays that cannot leave the device */
    bool stranded;  /* data of an earlier iteration is in its lane: residency.h */
    bool abandoned; /* nothing of it will be submitted any more */
    bool expelled, leaving;
    bool deferring; /* its deferred list is being run */
    bool held;      /* until WIRE_BEGIN it is not to be admitted */

    /* What it has sent. */
    struct stream_set streams;
    struct boundary boundary;
    struct profiling profiling;
    struct objects objects;
    struct variables variables; /* of its modules, saved */
    struct errand *errand;      /* under way for it, of the worker's; NULL: none. module_load.h */
    struct signals signals;
    struct op_pool pool;
    struct ring_rx rx;
    struct graphs graphs;
    struct launching launching;
    struct watch watch;

    /* What outlives this worker, and what an earlier one left. */
    struct estate estate;
    struct replay replay;

    /* What it may use, and where that is. */
    struct lifetime lifetime;
    struct wire_limits limits; /* of all of its user's clients */
    struct memory *memory;     /* NULL once it is given back */
    struct credit credit;
    struct memory_ask asks[MEMORY_ASK_NOBODY]; /* by enum memory_asker */
    struct wire_limit limit;                   /* that CLIENT_ASKS is about */
    uint32_t survivors_left;          /* granules of survivors that are still kept in this round */
    uint32_t lane;                    /* SCHED_NO_LANE until it is admitted */
    uint32_t next_lane;               /* to which it is on its way; SCHED_NO_LANE: none */
    uint32_t moves;                   /* of its memory, that are not over: memory_move.h */
    struct memory *ending;            /* memory that is being given back; NULL: none, or all was */
    struct list clearing;             /* worker.work.clearing */
    struct list parts;                /* worker.work.parts */
    struct list keeping;              /* worker.boundaries.keeping */
    struct op *parked, **parked_last; /* they run once its memory is there, and its lane clear */

    /* What it shares with us. */
    struct list link, fault_link;
    struct wire_windows windows;
    struct wire_submission *sub; /* written by the client: every value from it is checked */
    int doorbell;
    struct dev_space *space;
    bool host_mapped;
    struct hostfiles files; /* that parts of the host window show */
    char name[64];
    struct text text;
    struct callbacks callbacks;
};

#define CLIENT_FDS 3   /* submission, host, doorbell */
#define CLIENT_AGAIN 5 /* these, and of an earlier worker's: completion page, estate */

/* Maps what the broker sent (`fds`: so many as it says, CLIENT_FDS or CLIENT_AGAIN; taken over in
 * any case) and opens a space. On success *completion_fd is the caller's to send and close. -EEXIST
 * when the windows collide with what is mapped here. Of an earlier worker's, `why` may say more. */
int client_create(struct worker *w, const struct wire_worker_msg *msg, int *fds, int nfds,
                  int *completion_fd, struct client **out, char *why, size_t why_bytes);
/* The client leaves, because the broker says so or the worker ends. */
void client_leave(struct client *c);
/* Its memory was released. */
void client_destroy(struct client *c);

/* Of one with an estate: something was given to the device, by whatever worker, and is not
 * complete.
 */
bool client_under_way(const struct client *c);

/* The client with this job id, or NULL. */
struct client *client_find(const struct worker *w, uint32_t job_id);

/* Host memory of the client, or NULL when any part lies outside its host window. */
void *client_host(const struct client *c, uint64_t addr, uint64_t bytes);
/* True when the range lies in one of the client's windows. */
bool client_owns(const struct client *c, uint64_t addr, uint64_t bytes);

/* Where the second half of its alloc window begins. */
static inline uint64_t client_ephemeral(const struct client *c) {
    return c->windows.dev_base + WIRE_EPHEMERAL_OFFSET(c->windows.alloc_bytes);
}

/* Whose stream it is. */
static inline struct client *client_of(const struct stream *s) {
    return list_entry(s->set, struct client, streams);
}

/* One is being done again, and the next comes after it: savepoint.h. */
static inline bool client_catches_up(const struct client *c) {
    return c->replay.awaited && c->replay.awaited->head <= c->replay.awaited_seq;
}

/* True when its next record may be read now. */
static inline bool client_accepts(const struct client *c) {
    const struct stream_set *s = &c->streams;
    return !c->leaving && !c->expelled && !c->throttled && !boundary_holds(&c->boundary) &&
           !client_catches_up(c) && s->pushed - s->completed + s->deferred_count < c->quota;
}

/* True while another thread may be at what is the client's. */
static inline bool client_busy(const struct client *c) {
    return c->inflight || c->errand;
}

static inline bool client_dead(const struct client *c) {
    return completion_dead(&c->com);
}

#endif
