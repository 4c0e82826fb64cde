/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations that are sent to the device while somebody traces them: kernels, copies and fills,
 * each with the times that the worker measured. Two event records behind an operation ask for its
 * beginning and its end. Operations of graphs are not traced. Where several threads send to one
 * stream at once, an operation may be given the times of the next one.
 *
 * Any thread. Costs one load for each operation while nobody traces.
 */
#ifndef SHIM_CONTEXT_TRACE_H
#define SHIM_CONTEXT_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/atomics.h"
#include "proto/wire/wire.h"

#define TRACE_PENDING 4096 /* operations that are not complete; those beyond are dropped */
#define TRACE_MINOR 9      /* of the protocol: what knows WIRE_EVENT_BEGAN */

enum trace_kind { TRACE_KERNEL, TRACE_COPY, TRACE_FILL };

struct trace_item {
    enum trace_kind kind;
    uint32_t correlation; /* from 1, another one for each operation */
    uint32_t stream, context, thread;
    uint64_t tag;                    /* the observer's own */
    uint64_t called_ns, returned_ns; /* the driver call of a kernel, CLOCK_MONOTONIC */
    uint64_t start_ns, end_ns;       /* on the device, same clock; filled in when it is complete */
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

/* `observer`: static. A second one replaces the first. */
void trace_begin(const struct trace_observer *observer);
/* Nothing more is traced; trace_collect still hands out what was. */
void trace_end(void);

/* Hands out all that is complete. Never waits. */
void trace_collect(void);

/* Operations since the last call that were dropped: too many were pending, or no events were left.
 */
uint64_t trace_dropped(void);

extern _Atomic uint32_t trace_active;

static inline bool trace_on(void) {
    return __builtin_expect(atom_load_relaxed(&trace_active) != 0, 0);
}

/* A graph was sent: the first time it is said that its operations are not traced. */
void trace_graph(void);

/* For those who send: a kernel that was just sent. `item`: with the kernel's part and the call's
 * times; the rest is filled in. */
void trace_launch(struct trace_item *item, uint32_t stream, uint32_t context);

#endif
