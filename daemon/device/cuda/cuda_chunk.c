/* SPDX-License-Identifier: Apache-2.0
 *
 * cuMemCreate and its relatives.
 */
#include "daemon/device/cuda/cuda_chunk.h"

#include <errno.h>
#include <stdlib.h>

#include "common/err.h"

/* With descriptors, so that memory can outlive this process. */
CUmemAllocationProp cuda_chunk_prop(CUdevice device) {
    return (CUmemAllocationProp){
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
    };
}

static int result(struct chunks *c, CUresult r) {
    return context_result(c->context, r);
}

int cuda_chunk_open(struct chunks *c, struct context *context, uint64_t granule, uint64_t bytes) {
    const struct driver *d = &context->driver;
    *c = (struct chunks){.context = context, .granule = granule, .limit = bytes / granule};
    c->list = calloc(c->limit + 1, sizeof(*c->list));
    if (!c->list) return -ENOMEM;
    int err = result(c, d->cuMemAddressReserve(&c->window, c->limit * granule, granule, 0, 0));
    if (!err)
        err = result(c, d->cuStreamCreateWithPriority(&c->stream, CU_STREAM_NON_BLOCKING,
                                                      context->least_priority));
    if (!err)
        err = result(c, d->cuStreamCreateWithPriority(&c->clearing, CU_STREAM_NON_BLOCKING,
                                                      context->least_priority));
    if (err) cuda_chunk_close(c);
    return err;
}

void cuda_chunk_close(struct chunks *c) {
    const struct driver *d = c->context ? &c->context->driver : NULL;
    if (d && c->clearing) cuda_chunk_settle(c);
    for (uint64_t i = 0; d && c->list && i < c->made; i++) {
        d->cuMemUnmap(c->list[i].address, c->granule);
        d->cuMemRelease(c->list[i].handle);
    }
    if (d && c->cleared) d->cuEventDestroy_v2(c->cleared);
    if (d && c->clearing) d->cuStreamDestroy_v2(c->clearing);
    if (d && c->stream) d->cuStreamDestroy_v2(c->stream);
    if (d && c->window) d->cuMemAddressFree(c->window, c->limit * c->granule);
    free(c->list);
    *c = (struct chunks){0};
}

int cuda_chunk_show(struct chunks *c, CUdeviceptr at, const struct dev_chunk *chunk) {
    return result(c, c->context->driver.cuMemMap(at, c->granule, 0, chunk->handle, 0));
}

int cuda_chunk_hide(struct chunks *c, CUdeviceptr at) {
    return result(c, c->context->driver.cuMemUnmap(at, c->granule));
}

int cuda_chunk_allow(struct chunks *c, CUdeviceptr at, uint64_t bytes) {
    CUmemAccessDesc desc = {
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = c->context->device},
        .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    return result(c, c->context->driver.cuMemSetAccess(at, bytes, &desc, 1));
}

/* Another one of the driver, shown to the worker. */
static int make(struct chunks *c, struct dev_chunk **out) {
    const struct driver *d = &c->context->driver;
    struct dev_chunk *chunk = &c->list[c->made];
    CUmemAllocationProp prop = cuda_chunk_prop(c->context->device);
    *chunk = (struct dev_chunk){.address = c->window + c->made * c->granule};
    int err = result(c, d->cuMemCreate(&chunk->handle, c->granule, &prop, 0));
    if (err) return err;
    err = cuda_chunk_show(c, chunk->address, chunk);
    if (!err) {
        err = cuda_chunk_allow(c, chunk->address, c->granule);
        if (err) cuda_chunk_hide(c, chunk->address);
    }
    if (err) {
        d->cuMemRelease(chunk->handle);
        return err;
    }
    c->made++;
    *out = chunk;
    return 0;
}

int cuda_chunk_create(struct chunks *c, struct dev_chunk **out) {
    struct dev_chunk *chunk = c->free;
    *out = NULL;
    if (c->used == c->limit) return ERR_NO_MEMORY;
    if (chunk) c->free = chunk->next_free;
    int err = chunk ? 0 : make(c, &chunk);
    if (err) return err;
    c->used++;
    chunk->foreign = true;
    *out = chunk;
    return 0;
}

void cuda_chunk_destroy(struct chunks *c, struct dev_chunk *chunk) {
    if (!chunk) return;
    chunk->next_free = c->free;
    c->free = chunk;
    c->used--;
}

/* ---- clears ---------------------------------------------------------------------------------- */

int cuda_chunk_settle(struct chunks *c) {
    int err = context_settle(c->context, c->clearing);
    if (!err) c->settled = c->clears;
    return err;
}

static int begin_clear(struct chunks *c, struct dev_chunk *chunk) {
    int err = result(
        c, c->context->driver.cuMemsetD32Async(chunk->address, 0, c->granule / 4, c->clearing));
    if (err) return err;
    chunk->foreign = false;
    chunk->clear = ++c->clears;
    return 0;
}

bool cuda_chunk_pending(struct chunks *c, uint64_t clear) {
    if (clear <= c->settled) return false;
    CUresult r = c->context->driver.cuStreamQuery(c->clearing);
    if (!r) c->settled = c->clears;
    if (r && r != CUDA_ERROR_NOT_READY) result(c, r);
    return r;
}

int cuda_chunk_begin_clear(struct chunks *c, struct dev_chunk *const *chunks, uint32_t count,
                           bool *pending) {
    uint64_t latest = 0;
    int err = 0;
    for (uint32_t i = 0; !err && i < count; i++) {
        if (chunks[i]->foreign) err = begin_clear(c, chunks[i]);
        if (chunks[i]->clear > latest) latest = chunks[i]->clear;
    }
    *pending = !err && cuda_chunk_pending(c, latest);
    return err;
}

int cuda_chunk_mark(struct chunks *c, CUevent *event) {
    const struct driver *d = &c->context->driver;
    int err = *event ? 0 : result(c, d->cuEventCreate(event, CU_EVENT_DISABLE_TIMING));
    return err ? err : result(c, d->cuEventRecord(*event, c->clearing));
}

int cuda_chunk_follow(struct chunks *c, CUevent event, CUstream stream) {
    int err = result(c, c->context->driver.cuStreamWaitEvent(stream, event, 0));
    return err ? cuda_chunk_settle(c) : 0;
}

/* ---- whole chunks ---------------------------------------------------------------------------- */

/* What comes on our stream comes behind the clear that it is in. */
static int follow_clear(struct chunks *c, const struct dev_chunk *chunk) {
    if (!cuda_chunk_pending(c, chunk->clear)) return 0;
    if (cuda_chunk_mark(c, &c->cleared)) return cuda_chunk_settle(c);
    return cuda_chunk_follow(c, c->cleared, c->stream);
}

/* Nothing of it is under way any more, also where it failed. */
static int finish(struct chunks *c, CUresult r) {
    int err = context_settle(c->context, c->stream);
    return err ? err : result(c, r);
}

/* To the caller it is zero, whenever that becomes true. */
static int begin_read(struct chunks *c, const struct dev_chunk *chunk) {
    int err = chunk->foreign ? begin_clear(c, &c->list[chunk - c->list]) : 0;
    return err ? err : follow_clear(c, chunk);
}

static int transfer(struct chunks *c, CUdeviceptr dst, CUdeviceptr src) {
    return finish(c, c->context->driver.cuMemcpyAsync(dst, src, c->granule, c->stream));
}

/* All of it is written: what was in it does not matter. */
static int fill(struct chunks *c, struct dev_chunk *dst, CUdeviceptr src) {
    int err = follow_clear(c, dst);
    if (!err) err = transfer(c, dst->address, src);
    if (!err) dst->foreign = false;
    return err;
}

int cuda_chunk_copy(struct chunks *c, struct dev_chunk *dst, const struct dev_chunk *src) {
    int err = begin_read(c, src);
    return err ? err : fill(c, dst, src->address);
}

int cuda_chunk_save(struct chunks *c, void *host, const struct dev_chunk *chunk) {
    int err = begin_read(c, chunk);
    return err ? err : transfer(c, (CUdeviceptr)(uintptr_t)host, chunk->address);
}

int cuda_chunk_load(struct chunks *c, struct dev_chunk *chunk, const void *host) {
    return fill(c, chunk, (CUdeviceptr)(uintptr_t)host);
}

int cuda_chunk_clear(struct chunks *c, struct dev_chunk *const *chunks, uint32_t count) {
    CUresult r = CUDA_SUCCESS;
    int err = 0;
    for (uint32_t i = 0; !err && i < count; i++)
        err = follow_clear(c, chunks[i]);
    for (uint32_t i = 0; !err && !r && i < count; i++)
        r = c->context->driver.cuMemsetD32Async(chunks[i]->address, 0, c->granule / 4, c->stream);
    int ended = finish(c, r);
    for (uint32_t i = 0; !err && !ended && i < count; i++)
        chunks[i]->foreign = false;
    return err ? err : ended;
}
