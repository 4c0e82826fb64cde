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
    if (err) cuda_chunk_close(c);
    return err;
}

void cuda_chunk_close(struct chunks *c) {
    const struct driver *d = c->context ? &c->context->driver : NULL;
    for (uint64_t i = 0; d && c->list && i < c->made; i++) {
        d->cuMemUnmap(c->list[i].address, c->granule);
        d->cuMemRelease(c->list[i].handle);
    }
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
    err = cuda_chunk_clear(c, &chunk, 1);
    if (err)
        cuda_chunk_destroy(c, chunk);
    else
        *out = chunk;
    return err;
}

void cuda_chunk_destroy(struct chunks *c, struct dev_chunk *chunk) {
    if (!chunk) return;
    chunk->next_free = c->free;
    c->free = chunk;
    c->used--;
}

/* ---- whole chunks ---------------------------------------------------------------------------- */

/* Nothing of it is under way any more, also where it failed. */
static int finish(struct chunks *c, CUresult r) {
    int err = context_settle(c->context, c->stream);
    return err ? err : result(c, r);
}

static int transfer(struct chunks *c, CUdeviceptr dst, CUdeviceptr src) {
    return finish(c, c->context->driver.cuMemcpyAsync(dst, src, c->granule, c->stream));
}

int cuda_chunk_copy(struct chunks *c, struct dev_chunk *dst, const struct dev_chunk *src) {
    return transfer(c, dst->address, src->address);
}

int cuda_chunk_save(struct chunks *c, void *host, const struct dev_chunk *chunk) {
    return transfer(c, (CUdeviceptr)(uintptr_t)host, chunk->address);
}

int cuda_chunk_load(struct chunks *c, struct dev_chunk *chunk, const void *host) {
    return transfer(c, chunk->address, (CUdeviceptr)(uintptr_t)host);
}

int cuda_chunk_clear(struct chunks *c, struct dev_chunk *const *chunks, uint32_t count) {
    CUresult r = CUDA_SUCCESS;
    for (uint32_t i = 0; !r && i < count; i++)
        r = c->context->driver.cuMemsetD32Async(chunks[i]->address, 0, c->granule / 4, c->stream);
    return finish(c, r);
}
