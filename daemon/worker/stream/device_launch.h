/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs that kernels launch: permission, execution and completion.
 *
 * A launch of a graph is an environment: its own operations, and the fire-and-forget launches of
 * its kernels. When all of these are complete, the first graph of its tail replaces it, and the
 * rest of the tail comes behind that graph's own tail. A client's launch whose kernels may launch
 * others is an environment inside another one, the stream's. The last operation of the client's
 * launch is complete when the outer environment is. Launched graphs run in inner streams (body.h),
 * in the place of that launch.
 *
 * Kernels name a graph by a handle that the client has offered. A graph can run once at a time; it
 * may also put itself into its own tail. These are CUDA's rules and bounds for device graphs.
 *
 * Owner: the client. Threads: device_launch_ask is called on the device's threads, and uses what
 * the lock guards; all else is the worker's.
 */
#ifndef DAEMON_WORKER_STREAM_DEVICE_LAUNCH_H
#define DAEMON_WORKER_STREAM_DEVICE_LAUNCH_H

#include <pthread.h>

#include "common/atomics.h"
#include "daemon/device/device.h"
#include "daemon/worker/stream/body.h"

#define DEVICE_LAUNCH_CHILDREN 120u /* launches at once by one launch of a graph */
#define DEVICE_LAUNCH_TAILS 255u    /* tail launches by one launch of a graph */
#define DEVICE_LAUNCH_BEGUN 64u     /* environments that run at a time; the others wait */
#define DEVICE_LAUNCH_BUCKETS 1024u
/* A withdrawn graph counts until its last launch is complete. */
#define DEVICE_LAUNCH_OFFERS (2 * WIRE_GRAPH_OFFERS)

struct environment;

struct launching {
    pthread_mutex_t lock; /* guards the table, `asked`, and fields that kernels' calls change */
    uint64_t seed;        /* a secret: clients choose handles */
    struct environment **table; /* [DEVICE_LAUNCH_BUCKETS] offered graphs; NULL before the first */
    uint32_t offers;
    struct list asked;      /* environment.link, in the order of the calls */
    _Atomic uint32_t calls; /* number of entries in `asked` */
    struct list waiting;    /* environment.link: launches that wait for others to end */
    struct list bodies;     /* body.due: idle ones */
    uint32_t begun;
    struct list roots;    /* launches by the client */
    struct list settling; /* roots with no open operation of their own */
    struct list settled;  /* roots that are complete */
};

void device_launch_init(struct launching *l, uint64_t seed);
/* Called before the client's streams and graphs are finished, when the device has no operation of
 * the client. */
void device_launch_finish(struct launching *l);

/* Makes kernels know this graph by the handle from now on; NULL: withdraws it. 0, -ENOMEM, or
 * -E2BIG for more than DEVICE_LAUNCH_OFFERS. */
int device_launch_offer(struct launching *l, uint64_t handle, struct graph *graph);

/* Implements dev_space_ops.graph; any thread. 0; -EINVAL: the graph is not offered, or is running;
 * -EAGAIN: `from` has made as many launches as allowed. */
int device_launch_ask(struct launching *l, struct dev_graph *from, uint64_t handle,
                      enum dev_graph_order how);

/* ---- launches by the client ------------------------------------------------------------------ */

/* Begins a launch whose first lane is this stream, with an operation of this number. `handle`: the
 * launched graph's, if kernels may use it, else 0. NULL: no memory. */
struct environment *device_launch_open(struct launching *l, struct stream *s, uint64_t handle,
                                       uint64_t number);
/* Sets the iteration of the launch. */
void device_launch_note(struct environment *e, uint32_t iteration);
/* The argument for the device when the launch's kernels run. */
struct dev_graph *device_launch_shown(struct environment *e);
/* All of the launch's own operations are complete except the one at its stream's cursor. */
void device_launch_settle(struct launching *l, struct environment *e);

/* ---- progress of launches -------------------------------------------------------------------- */

/* True when a sweep would find work. */
static inline bool device_launch_ready(const struct launching *l) {
    return atom_load_acquire(&l->calls) || !list_empty(&l->settling);
}
/* Begins the launches that kernels requested, and completes the client's launches that
 * device_launch_settle reported. Called before any body is found to be over, because all requests
 * of its kernels are known then. 0 or -ENOMEM. */
int device_launch_sweep(struct launching *l);
/* The body of an environment is over. 0 or -ENOMEM. */
int device_launch_ended(struct launching *l, struct environment *e);
/* A stream whose operation at the cursor is now complete; NULL: no further one. */
struct stream *device_launch_settled(struct launching *l);

#endif
