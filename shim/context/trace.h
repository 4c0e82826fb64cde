/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations that are sent to the device while a trace is active: kernels, copies and fills, each
 * with the times that the worker measured. Two event records behind an operation ask for its
 * beginning and its end. Operations of graphs are not traced. When several threads send to one
 * stream at once, an operation may get the times of the next one.
 *
 * Any thread. Without a trace each operation costs one load.
 */
#ifndef SHIM_CONTEXT_TRACE_H
#define SHIM_CONTEXT_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/atomics.h"
#include "proto/wire/wire.h"

#define TRACE_PENDING 4096 /* operations that are not complete; further ones are dropped */
#define TRACE_MINOR 9      /* first minor version of the protocol that has WIRE_EVENT_BEGAN */

enum trace_kind { TRACE_KERNEL, TRACE_COPY, TRACE_FILL };

struct trace_item {
    enum trace_kind kind;
    uint32_t correlation; /* a number from 1, different for each operation */
    uint32_t stream, context, thread;
    uint64_t tag;                    /* for the observer's use */
    uint64_t called_ns, returned_ns; /* begin and end of a kernel's driver call, CLOCK_MONOTONIC */
    uint64_t start_ns, end_ns; /* times on the device, same clock; set when the item is complete */
    union {
        struct {
            const char *name; /* valid while the module is loaded */
            uint32_t grid[3], block[3];
            uint32_t registers, shared_bytes, dynamic_bytes, local_bytes;
        } kernel;
        struct {
            uint64_t dst, src, bytes;
        } copy;
        struct {
            uint64_t dst, bytes;
            uint32_t value;
        } fill;
    };
};

struct trace_observer {
    /* Called in the sending thread, before the times are known. May set the kernel's name and tag.
     */
    void (*sent)(struct trace_item *item);
    /* Called when the item is complete, in any thread and with no lock held. */
    void (*done)(const struct trace_item *item);
};

/* Starts the trace. `observer`: static. A second observer replaces the first. */
void trace_begin(const struct trace_observer *observer);
/* Stops the trace; trace_collect still hands out items that were traced before. */
void trace_end(void);

/* Hands out all complete items. Never waits. */
void trace_collect(void);

/* Returns how many operations were dropped since the last call: too many were pending, no events
 * were left, or the context ended. */
uint64_t trace_dropped(void);

extern _Atomic uint32_t trace_active;

static inline bool trace_on(void) {
    return __builtin_expect(atom_load_relaxed(&trace_active) != 0, 0);
}

/* Called when a graph is launched. The first time while a trace is active, logs that the graph's
 * operations are not traced. */
void trace_graph(void);

/* Adds a kernel that was just sent. `item` holds the kernel's part and the call's times; the
 * function fills in the rest. */
void trace_launch(struct trace_item *item, uint32_t stream, uint32_t context);

#endif
