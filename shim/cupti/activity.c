/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a record of a kernel, a copy or a fill when it is complete; and records of the thread's
 * external ids when it is sent.
 */
#include "shim/cupti/activity.h"

#include <unistd.h>

#include "common/atomics.h"
#include "shim/connection/state.h"
#include "shim/context/trace.h"
#include "shim/cupti/buffers.h"
#include "shim/cupti/clock.h"
#include "shim/cupti/external.h"
#include "shim/cupti/names.h"

#define BIT(kind) (1ull << (kind))
#define KERNELS (BIT(CUPTI_KIND_KERNEL) | BIT(CUPTI_KIND_CONCURRENT_KERNEL))
#define ON_DEVICE (KERNELS | BIT(CUPTI_KIND_MEMCPY) | BIT(CUPTI_KIND_MEMSET))
#define ALL (ON_DEVICE | BIT(CUPTI_KIND_DRIVER) | BIT(CUPTI_KIND_EXTERNAL_CORRELATION))
#define STREAM_FIRST 7u  /* CUPTI's number for the default stream */
#define CONTEXT_FIRST 1u /* CUPTI numbers contexts from 1 */

static _Atomic uint64_t wanted;

static uint64_t kind_of(const struct trace_item *item) {
    if (item->kind == TRACE_KERNEL) return KERNELS | BIT(CUPTI_KIND_DRIVER);
    return item->kind == TRACE_COPY ? BIT(CUPTI_KIND_MEMCPY) : BIT(CUPTI_KIND_MEMSET);
}

/* ---- sending --------------------------------------------------------------------------------- */

static void put_externals(uint32_t correlation) {
    struct cupti_external r = {.kind = CUPTI_KIND_EXTERNAL_CORRELATION, .correlation = correlation};
    for (uint32_t kind = 0; kind < CUPTI_EXTERNAL_KINDS; kind++) {
        uint64_t id;
        if (!external_top(kind, &id)) continue;
        r.external_kind = kind;
        r.external = id;
        buffers_put(&r, sizeof(r));
    }
}

static void sent(struct trace_item *item) {
    item->tag =
        atom_load_relaxed(&wanted); /* the kind may be disabled before the item is complete */
    if (item->kind == TRACE_KERNEL) item->kernel.name = names_keep(item->kernel.name);
    if (item->tag & BIT(CUPTI_KIND_EXTERNAL_CORRELATION) && item->tag & kind_of(item))
        put_externals(item->correlation);
}

/* ---- completion ------------------------------------------------------------------------------ */

static void put_kernel(const struct trace_item *item) {
    struct cupti_kernel r = {
        .kind = item->tag & BIT(CUPTI_KIND_CONCURRENT_KERNEL) ? CUPTI_KIND_CONCURRENT_KERNEL
                                                              : CUPTI_KIND_KERNEL,
        .registers = (uint16_t)item->kernel.registers,
        .start = clock_convert(item->start_ns),
        .end = clock_convert(item->end_ns),
        .context = item->context + CONTEXT_FIRST,
        .stream = item->stream + STREAM_FIRST,
        .shared_bytes = (int32_t)item->kernel.shared_bytes,
        .dynamic_bytes = (int32_t)item->kernel.dynamic_bytes,
        .local_per_thread = item->kernel.local_bytes,
        .correlation = item->correlation,
        .grid_id = item->correlation,
        .name = item->kernel.name,
        .shared_executed = item->kernel.shared_bytes + item->kernel.dynamic_bytes,
        .channel_type = CUPTI_CHANNEL_COMPUTE,
    };
    r.completed = r.end;
    for (int i = 0; i < 3; i++) {
        r.grid[i] = (int32_t)item->kernel.grid[i];
        r.block[i] = (int32_t)item->kernel.block[i];
    }
    buffers_put(&r, sizeof(r));
}

static void put_call(const struct trace_item *item) {
    const struct cupti_call r = {
        .kind = CUPTI_KIND_DRIVER,
        .cbid = CUPTI_CBID_LAUNCH_KERNEL,
        .start = clock_convert(item->called_ns),
        .end = clock_convert(item->returned_ns),
        .process = (uint32_t)getpid(),
        .thread = item->thread,
        .correlation = item->correlation,
    };
    buffers_put(&r, sizeof(r));
}

static bool in_host(uint64_t addr) {
    return conn_in_host(&state.conn, addr);
}

static uint8_t copy_kind(uint64_t dst, uint64_t src) {
    if (in_host(src)) return in_host(dst) ? CUPTI_COPY_HTOH : CUPTI_COPY_HTOD;
    return in_host(dst) ? CUPTI_COPY_DTOH : CUPTI_COPY_DTOD;
}

static uint8_t memory_kind(uint64_t addr) {
    return in_host(addr) ? CUPTI_MEMORY_PINNED : CUPTI_MEMORY_DEVICE;
}

static void put_copy(const struct trace_item *item) {
    const struct cupti_copy r = {
        .kind = CUPTI_KIND_MEMCPY,
        .copy_kind = copy_kind(item->copy.dst, item->copy.src),
        .src_kind = memory_kind(item->copy.src),
        .dst_kind = memory_kind(item->copy.dst),
        .bytes = item->copy.bytes,
        .start = clock_convert(item->start_ns),
        .end = clock_convert(item->end_ns),
        .context = item->context + CONTEXT_FIRST,
        .stream = item->stream + STREAM_FIRST,
        .correlation = item->correlation,
        .channel_type = CUPTI_CHANNEL_COPY,
        .copies = 1,
    };
    buffers_put(&r, sizeof(r));
}

static void put_fill(const struct trace_item *item) {
    const struct cupti_fill r = {
        .kind = CUPTI_KIND_MEMSET,
        .value = item->fill.value,
        .bytes = item->fill.bytes,
        .start = clock_convert(item->start_ns),
        .end = clock_convert(item->end_ns),
        .context = item->context + CONTEXT_FIRST,
        .stream = item->stream + STREAM_FIRST,
        .correlation = item->correlation,
        .memory_kind = memory_kind(item->fill.dst),
        .channel_type = CUPTI_CHANNEL_COPY,
    };
    buffers_put(&r, sizeof(r));
}

static void done(const struct trace_item *item) {
    uint64_t records = item->tag & kind_of(item);
    if (records & BIT(CUPTI_KIND_DRIVER)) put_call(item);
    if (records & KERNELS) put_kernel(item);
    if (records & BIT(CUPTI_KIND_MEMCPY)) put_copy(item);
    if (records & BIT(CUPTI_KIND_MEMSET)) put_fill(item);
}

/* ---- enabled kinds --------------------------------------------------------------------------- */

static const struct trace_observer tracer = {sent, done};

bool activity_want(uint32_t kind, bool on) {
    if (kind >= CUPTI_KINDS || !(ALL & BIT(kind))) return false;
    uint64_t before =
        on ? atomic_fetch_or(&wanted, BIT(kind)) : atomic_fetch_and(&wanted, ~BIT(kind));
    uint64_t now = on ? before | BIT(kind) : before & ~BIT(kind);
    const uint64_t traced = ON_DEVICE | BIT(CUPTI_KIND_DRIVER);
    if (!(before & traced) && now & traced) {
        clock_mark();
        trace_begin(&tracer);
    }
    if (before & traced && !(now & traced)) trace_end();
    return true;
}

void activity_stop(void) {
    for (uint32_t kind = 0; kind < CUPTI_KINDS; kind++)
        activity_want(kind, false);
}

void activity_collect(void) {
    trace_collect();
}
