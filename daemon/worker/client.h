/* SPDX-License-Identifier: Apache-2.0
 *
 * A client of the worker: its shared pages and windows, and the state that each folder below has
 * for it. Everything that a client names (streams, modules, functions) is looked up in its own
 * tables.
 *
 * A client is dead once it has a fault. Its records are still read, but nothing runs, nothing is
 * published as complete, and every answer is the fault. An expelled client broke the protocol: the
 * worker reads nothing more from it. A client is leaving, and dead, from the moment at which the
 * broker says so. It is freed once the device has no operation of it, no background task runs for
 * it, and no move of its memory is left. The memory of a dead client is released earlier: its
 * context is lost, and others wait for the memory.
 */
#ifndef DAEMON_WORKER_CLIENT_H
#define DAEMON_WORKER_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"
#include "daemon/worker/iteration/boundary.h"
#include "daemon/worker/iteration/lifetime.h"
#include "daemon/worker/kernel/launch_profile.h"
#include "daemon/worker/kernel/object.h"
#include "daemon/worker/kernel/variables.h"
#include "daemon/worker/page/completion_page.h"
#include "daemon/worker/page/text.h"
#include "daemon/worker/recovery/recovery_state.h"
#include "daemon/worker/recovery/replay_state.h"
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

/* Reasons why the worker reads nothing from a client that lives. */
#define CLIENT_WAITS 1u /* waits for admission */
#define CLIENT_OUT 2u   /* swapped out: waits for its memory */
#define CLIENT_LOADS 4u /* waits for its background task */
#define CLIENT_SAVES 8u /* waits until its memory is saved: savepoint_writer.h */
#define CLIENT_ASKS 16u /* asks for memory that a new limit needs: limit_request.h */

/* The members that each operation touches come first, on a few cache lines. */
struct client {
    struct worker *worker;
    struct completion com;
    uint32_t job_id, uid;
    uint64_t inflight;      /* operations on the device */
    const struct op *shown; /* the operation in flight that the status page shows: status_page.h */
    uint64_t quota;         /* most operations not complete: its part of its user's limit */
    /* CLIENT_*: while any is set, or boundary_holds, the client's ring is not read. */
    uint8_t throttled;
    bool null;      /* kernels take time and compute nothing */
    bool wanted;    /* swapped out, and the scheduler knows that it has work */
    bool displaced; /* some of its memory is not on the device, or its lane is not clear */
    bool fixed;     /* the client has or had arrays, which cannot leave the device */
    bool stranded;  /* the lane holds data of an earlier iteration: residency.h */
    bool abandoned; /* no further operation of it will be submitted */
    bool expelled, leaving;
    bool deferring; /* the deferred list is being run */
    bool held;      /* not admitted before WIRE_BEGIN arrives */

    /* State of the records that the client has sent. */
    struct stream_set streams;
    struct boundary boundary;
    struct profiling profiling;
    struct objects objects;
    struct variables variables; /* saved variables of its modules */
    /* The background task in progress, which the worker owns; NULL: none. module_load.h */
    struct background_task *background_task;
    struct signals signals;
    struct op_pool pool;
    struct ring_rx rx;
    struct graphs graphs;
    struct launching launching;
    struct watch watch;

    /* State that outlives this worker, and the state that an earlier worker left. */
    struct recovery_state recovery_state;
    struct replay replay;

    /* Memory that the client may use, and the place of that memory. */
    struct lifetime lifetime;
    struct wire_limits limits; /* limits of all clients of its user together */
    struct memory *memory;     /* NULL once it is released */
    struct credit credit;
    struct memory_ask asks[MEMORY_ASK_NOBODY]; /* by enum memory_asker */
    struct wire_limit limit;                   /* the limit for which CLIENT_ASKS is set */
    uint32_t survivors_left;          /* granules of survivors that this round may still keep */
    uint32_t lane;                    /* SCHED_NO_LANE until it is admitted */
    uint32_t next_lane;               /* the lane to which it is moving; SCHED_NO_LANE: none */
    uint32_t moves;                   /* unfinished moves of its memory: memory_move.h */
    struct memory *ending;            /* memory that is being released; NULL: none, or all is */
    struct list clearing;             /* worker.work.clearing */
    struct list parts;                /* worker.work.parts */
    struct list keeping;              /* worker.boundaries.keeping */
    struct op *parked, **parked_last; /* operations that run once memory and lane are ready */

    /* Pages and descriptors that the client shares with the worker. */
    struct list link, fault_link;
    struct wire_windows windows;
    struct wire_submission *sub; /* written by the client: every value from it is checked */
    int doorbell;
    struct dev_space *space;
    bool host_mapped;
    struct hostfiles files; /* files that are mapped into parts of the host window */
    char name[64];
    struct text text;
    struct callbacks callbacks;
};

#define CLIENT_FDS 3   /* submission, host, doorbell */
#define CLIENT_AGAIN 5 /* CLIENT_FDS, and an earlier worker's page and recovery state */

/* Maps the `nfds` descriptors that the broker sent and opens a space. `nfds` is CLIENT_FDS, or
 * CLIENT_AGAIN for a client of an earlier worker. The descriptors are taken over in any case. On
 * success the caller sends and closes *completion_fd. Returns 0 or -errno; -EEXIST: the windows
 * collide with mappings of this process. For a client of an earlier worker, `why` may give the
 * reason. */
int client_create(struct worker *w, const struct wire_worker_msg *msg, int *fds, int nfds,
                  int *completion_fd, struct client **out, char *why, size_t why_bytes);
/* The client leaves, because the broker says so or the worker ends. */
void client_leave(struct client *c);
/* Frees the client, whose memory is already released. */
void client_destroy(struct client *c);

/* True when the device has an incomplete operation of this client from any worker. The client has
 * recovery state. */
bool client_under_way(const struct client *c);

/* The client with this job id, or NULL. */
struct client *client_find(const struct worker *w, uint32_t job_id);

/* Host memory of the client, or NULL when any part lies outside its host window. */
void *client_host(const struct client *c, uint64_t addr, uint64_t bytes);
/* True when the range lies in one of the client's windows. */
bool client_owns(const struct client *c, uint64_t addr, uint64_t bytes);

/* The address at which the second half of its alloc window begins. */
static inline uint64_t client_ephemeral(const struct client *c) {
    return c->windows.dev_base + WIRE_EPHEMERAL_OFFSET(c->windows.alloc_bytes);
}

/* The client that owns the stream. */
static inline struct client *client_of(const struct stream *s) {
    return list_entry(s->set, struct client, streams);
}

/* True while a restored client runs an operation again that its next record must follow:
 * savepoint.h. */
static inline bool client_catches_up(const struct client *c) {
    return c->replay.awaited && c->replay.awaited->head <= c->replay.awaited_seq;
}

/* True when the client's next record may be read now. */
static inline bool client_accepts(const struct client *c) {
    const struct stream_set *s = &c->streams;
    return !c->leaving && !c->expelled && !c->throttled && !boundary_holds(&c->boundary) &&
           !client_catches_up(c) && s->pushed - s->completed + s->deferred_count < c->quota;
}

/* True while another thread may use objects of the client. */
static inline bool client_busy(const struct client *c) {
    return c->inflight || c->background_task;
}

static inline bool client_dead(const struct client *c) {
    return completion_dead(&c->com);
}

#endif
