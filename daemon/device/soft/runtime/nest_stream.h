/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams and events of a launch tree's grids, by handle. Threads: as in nest.h.
 */
#ifndef DAEMON_DEVICE_SOFT_RUNTIME_NEST_STREAM_H
#define DAEMON_DEVICE_SOFT_RUNTIME_NEST_STREAM_H

#include "daemon/device/soft/runtime/runtime.h"

struct moment;
struct nested;

/* Streams without a handle. */
enum {
    NEST_STREAM_BLOCK, /* the block's own */
    NEST_STREAM_LEGACY,
    NEST_STREAM_THREAD, /* a thread's default stream: also the block's */
    NEST_STREAM_TAIL,
    NEST_STREAM_FORGET,
};

/* ---- for the launch tree, which holds its lock ----------------------------------------------- */

/* Orders `m` after everything in a stream of `self`. Errors: RUNTIME_INVALID_VALUE,
 * RUNTIME_NO_MEMORY. */
enum runtime_error nest_stream_order(struct nested *self, uint32_t slot, uint64_t stream,
                                     struct nested *m);
/* nest_moment_come: the moment is reached, and members that waited only for it become ready.
 * nest_moment_unref releases a reference. nest_names_finish releases all streams and events of a
 * member. The first two accept NULL. */
void nest_moment_come(struct moment *at);
void nest_moment_unref(struct moment *at);
void nest_names_finish(struct nested *m);

/* ---- for kernels: `self` is the grid that asks, `slot` its block's context ------------------- */

/* Handles belong to one grid: other grids that use them get RUNTIME_INVALID_VALUE. */
enum runtime_error nest_stream_create(struct nested *self, uint64_t *stream);
enum runtime_error nest_stream_destroy(struct nested *self, uint64_t stream);
enum runtime_error nest_stream_wait(struct nested *self, uint32_t slot, uint64_t stream,
                                    uint64_t event);
enum runtime_error nest_event_create(struct nested *self, uint64_t *event);
enum runtime_error nest_event_destroy(struct nested *self, uint64_t event);
enum runtime_error nest_event_record(struct nested *self, uint32_t slot, uint64_t event,
                                     uint64_t stream);

#endif
