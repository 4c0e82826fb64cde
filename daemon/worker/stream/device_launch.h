/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs that kernels launch: which they may, and what came of it.
 *
 * A launch of a graph is an environment: its own operations, and those that its kernels launched
 * and forgot. When all of these are complete, the first graph that is in its tail takes its place,
 * and what is left of the tail comes behind that one's own. A client's launch whose kernels may
 * launch others is an environment in one more, the stream's; the last operation of the launch is
 * complete when that is. What is launched runs in inner streams (body.h), in the place of that
 * launch.
 *
 * Kernels name a graph by a handle that the client has offered. One can be launched once at a time;
 * itself it can put into its own tail besides. These are CUDA's rules and bounds for device graphs.
 *
 * Owner: the client. Threads: device_launch_ask is called from the device's, and sees what the lock
 * guards; all else is the worker's.
 */
#ifndef DAEMON_WORKER_STREAM_DEVICE_LAUNCH_H
#define DAEMON_WORKER_STREAM_DEVICE_LAUNCH_H

#include <pthread.h>

#include "common/atomics.h"
#include "daemon/device/device.h"
#include "daemon/worker/stream/body.h"

#define DEVICE_LAUNCH_CHILDREN 120u /* that a graph launches at once, in one launch of it */
#define DEVICE_LAUNCH_TAILS 255u    /* that it puts into its tail */
#define DEVICE_LAUNCH_BEGUN 64u     /* that run at a time; the others wait */
#define DEVICE_LAUNCH_BUCKETS 1024u
/* What was withdrawn counts until the last launch of it is complete. */
#define DEVICE_LAUNCH_OFFERS (2 * WIRE_GRAPH_OFFERS)

struct environment;

struct launching {
    pthread_mutex_t lock; /* of the table, `asked`, and what kernels' calls change */
    uint64_t seed;        /* a secret: handles are any numbers */
    struct environment *
        *table; /* [DEVICE_LAUNCH_BUCKETS] of what was offered; NULL before the first */
    uint32_t offers;
    struct list asked;      /* environment.link, in the order of the calls */
    _Atomic uint32_t calls; /* how many that is */
    struct list waiting;    /* environment.link: for others to end */
    struct list bodies;     /* body.due: idle ones */
    uint32_t begun;
    struct list roots;    /* launches by the client */
    struct list settling; /* of these, those that have nothing left of their own */
    struct list settled;  /* and those that are complete */
};

void device_launch_init(struct launching *l, uint64_t seed);
/* Nothing of the client is on the device. Before its streams and graphs are finished. */
void device_launch_finish(struct launching *l);

/* From now on kernels know this graph by the handle; NULL: none. 0, -ENOMEM, or -E2BIG for more
 * than DEVICE_LAUNCH_OFFERS. */
int device_launch_offer(struct launching *l, uint64_t handle, struct graph *graph);

/* As dev_space_ops.graph; any thread. */
int device_launch_ask(struct launching *l, struct dev_graph *from, uint64_t handle,
                      enum dev_graph_order how);

/* ---- launches by the client ------------------------------------------------------------------ */

/* One begins, with this stream as its first lane and an operation of this number. `handle`: what it
 * is a launch of, if kernels may have that; 0. NULL: no memory. */
struct environment *device_launch_open(struct launching *l, struct stream *s, uint64_t handle,
                                       uint64_t number);
/* The iteration that it belongs to. */
void device_launch_note(struct environment *e, uint32_t iteration);
/* What its launches are given. */
struct dev_graph *device_launch_shown(struct environment *e);
/* All of its own operations are complete but the one at its stream's cursor. */
void device_launch_settle(struct launching *l, struct environment *e);

/* ---- what came of it ------------------------------------------------------------------------- */

/* True when a sweep would find something. */
static inline bool device_launch_ready(const struct launching *l) {
    return atom_load_acquire(&l->calls) || !list_empty(&l->settling);
}
/* What kernels asked for begins, and what is complete makes room. Called before any body is found
 * to be over: what its kernels asked for is known then. 0 or -ENOMEM. */
int device_launch_sweep(struct launching *l);
/* The body of one is over. 0 or -ENOMEM. */
int device_launch_ended(struct launching *l, struct environment *e);
/* A stream whose operation at the cursor is complete by all this; NULL: none any more. */
struct stream *device_launch_settled(struct launching *l);

#endif
