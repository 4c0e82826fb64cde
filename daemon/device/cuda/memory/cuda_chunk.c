/* SPDX-License-Identifier: Apache-2.0
 *
 * cuMemCreate and its relatives.
 */
#include "daemon/device/cuda/memory/cuda_chunk.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/atomics.h"
#include "common/err.h"
#include "common/fdutil.h"
#include "daemon/device/device_recovery.h"

/* Requests exportable descriptors, so that memory can outlive this process. */
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

/* Registers the word in which the GPU reports its progress in clearing. */
static int open_cleared(struct chunks *c) {
    const struct driver *d = &c->context->driver;
    struct lasting_head *head = c->lasting->head;
    int err = result(
        c, d->cuMemHostRegister_v2(head, LASTING_HEAD_BYTES,
                                   CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP));
    if (err) return err;
    err = result(c, d->cuMemHostGetDevicePointer_v2(&c->cleared_at, head, 0));
    if (err) d->cuMemHostUnregister(head);
    c->cleared_at += err ? 0 : offsetof(struct lasting_head, cleared);
    return err;
}

/* Continues after the completed clears of an earlier process; its others never complete. */
static void begin_numbers(struct chunks *c) {
    c->clears = atom_load_relaxed(&c->lasting->head->cleared);
    c->settled = c->told = c->clears;
}

/* Reserves the former addresses, which no other window had then. */
static int open_window(struct chunks *c) {
    struct lasting_head *head = c->lasting->head;
    int err = result(c, c->context->driver.cuMemAddressReserve(&c->window, c->limit * c->granule,
                                                               c->granule, head->window, 0));
    if (!err) head->window = c->window;
    return err;
}

static int open_streams(struct chunks *c) {
    const struct context *x = c->context;
    int err = result(c, x->driver.cuStreamCreateWithPriority(&c->stream, CU_STREAM_NON_BLOCKING,
                                                             x->least_priority));
    if (err) return err;
    return result(c, x->driver.cuStreamCreateWithPriority(&c->clearing, CU_STREAM_NON_BLOCKING,
                                                          x->least_priority));
}

/* Duplicates the descriptors, which become chunks when these are needed. */
static int take_kept(struct chunks *c, const struct dev_config *config) {
    for (uint32_t i = 0; c->old && i < config->kept_count; i++) {
        const struct dev_kept *k = &config->kept[i];
        if (k->id >= c->limit || c->list[k->id].fd) return -EINVAL;
        int fd = fcntl(k->fd, F_DUPFD_CLOEXEC, 3);
        if (fd < 0) return -errno;
        c->list[k->id].fd = fd;
    }
    return 0;
}

int cuda_chunk_open(struct chunks *c, struct context *context, struct lasting *lasting,
                    const struct dev_config *config) {
    *c = (struct chunks){.context = context,
                         .lasting = lasting,
                         .keep = config->keep,
                         .keep_arg = config->keep_arg,
                         .granule = lasting->head->granule,
                         .limit = lasting->chunk_count,
                         .old = lasting->old};
    c->list = calloc(c->limit + 1, sizeof(*c->list));
    if (!c->list) return -ENOMEM;
    begin_numbers(c);
    int err = take_kept(c, config);
    if (!err) err = open_cleared(c);
    if (!err) err = open_window(c);
    if (!err) err = open_streams(c);
    if (err) cuda_chunk_close(c);
    return err;
}

static void close_chunk(struct chunks *c, struct dev_chunk *chunk) {
    const struct driver *d = &c->context->driver;
    if (chunk->fd) close(chunk->fd);
    if (!chunk->made) return;
    if (chunk->seen) d->cuMemUnmap(chunk->address, c->granule);
    d->cuMemRelease(chunk->handle);
}

void cuda_chunk_close(struct chunks *c) {
    const struct driver *d = c->context ? &c->context->driver : NULL;
    if (d && c->clearing) cuda_chunk_settle(c);
    for (uint64_t i = 0; d && c->list && i < c->limit; i++)
        close_chunk(c, &c->list[i]);
    if (d && c->cleared) d->cuEventDestroy_v2(c->cleared);
    if (d && c->clearing) d->cuStreamDestroy_v2(c->clearing);
    if (d && c->stream) d->cuStreamDestroy_v2(c->stream);
    if (d && c->window) d->cuMemAddressFree(c->window, c->limit * c->granule);
    if (d && c->cleared_at) d->cuMemHostUnregister(c->lasting->head);
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

/* ---- making and taking chunks ---------------------------------------------------------------- */

static uint64_t number_of(const struct chunks *c, const struct dev_chunk *chunk) {
    return (uint64_t)(chunk - c->list);
}

/* Records whose bytes it has, for the next process. */
static void note_bytes(struct chunks *c, const struct dev_chunk *chunk, uint64_t whose) {
    atom_store_release(&c->lasting->bytes_of[number_of(c, chunk)], whose);
}

/* Maps a chunk for the worker. It seldom needs an earlier process's chunks, and each takes two
 * calls. */
static int see(struct chunks *c, const struct dev_chunk *whose) {
    struct dev_chunk *chunk = &c->list[number_of(c, whose)];
    if (chunk->seen) return 0;
    chunk->address = c->window + number_of(c, chunk) * c->granule;
    int err = cuda_chunk_show(c, chunk->address, chunk);
    if (err) return err;
    err = cuda_chunk_allow(c, chunk->address, c->granule);
    if (err) cuda_chunk_hide(c, chunk->address);
    chunk->seen = !err;
    return err;
}

/* Makes the memory of `handle` the chunk's. */
static void give_memory(struct dev_chunk *chunk, CUmemGenericAllocationHandle handle) {
    chunk->handle = handle;
    chunk->made = true;
    chunk->seen = false;
}

/* Hands out a descriptor. A chunk without one is as usable, and ends with the process. */
static void let_keep(struct chunks *c, struct dev_chunk *chunk) {
    int fd = -1;
    chunk->kept = false;
    if (!c->keep) return;
    if (result(c, c->context->driver.cuMemExportToShareableHandle(
                      &fd, chunk->handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0)))
        return;
    chunk->kept = !c->keep(c->keep_arg, number_of(c, chunk), fd);
    fdutil_close(&fd);
}

/* Creates new memory in the driver. */
static int make(struct chunks *c, struct dev_chunk *chunk) {
    CUmemAllocationProp prop = cuda_chunk_prop(c->context->device);
    CUmemGenericAllocationHandle handle;
    int err = result(c, c->context->driver.cuMemCreate(&handle, c->granule, &prop, 0));
    if (err) return err;
    give_memory(chunk, handle);
    err = see(c, chunk);
    if (err) {
        c->context->driver.cuMemRelease(handle);
        chunk->made = false;
        return err;
    }
    let_keep(c, chunk);
    return 0;
}

/* Imports memory of an earlier process. */
static int import(struct chunks *c, struct dev_chunk *chunk) {
    CUmemGenericAllocationHandle handle;
    int err = result(
        c, c->context->driver.cuMemImportFromShareableHandle(
               &handle, (void *)(uintptr_t)chunk->fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    if (err) return err;
    give_memory(chunk, handle);
    fdutil_close(&chunk->fd);
    chunk->fd = 0;
    chunk->kept = true;
    return 0;
}

/* Memory that can no longer be imported is replaced; the holder of its descriptor gets the new one
 * under the same number. */
static int take_memory(struct chunks *c, struct dev_chunk *chunk) {
    if (chunk->made) return 0;
    if (chunk->fd && !import(c, chunk)) return 0;
    if (chunk->fd) close(chunk->fd);
    chunk->fd = 0;
    return make(c, chunk);
}

static void give_free(struct chunks *c, struct dev_chunk *chunk) {
    chunk->next_free = c->free;
    c->free = chunk;
}

/* A free chunk; one exists, because not all are used. */
static struct dev_chunk *take_free(struct chunks *c) {
    struct dev_chunk *chunk = c->free;
    if (chunk)
        c->free = chunk->next_free;
    else
        chunk = &c->list[c->fresh++];
    return chunk;
}

int cuda_chunk_create(struct chunks *c, struct dev_chunk **out) {
    *out = NULL;
    if (c->old) return -EBUSY;
    if (c->used == c->limit) return ERR_NO_MEMORY;
    struct dev_chunk *chunk = take_free(c);
    note_bytes(c, chunk, LASTING_FOREIGN);
    int err = take_memory(c, chunk);
    if (err) {
        give_free(c, chunk);
        return err;
    }
    c->used++;
    chunk->used = chunk->foreign = true;
    *out = chunk;
    return 0;
}

void cuda_chunk_destroy(struct chunks *c, struct dev_chunk *chunk) {
    if (!chunk) return;
    chunk->used = false;
    c->used--;
    if (!c->old) give_free(c, chunk);
}

/* ---- chunks of an earlier process ------------------------------------------------------------ */

uint64_t cuda_chunk_id(const struct chunks *c, const struct dev_chunk *chunk) {
    return chunk->kept ? number_of(c, chunk) : DEV_NOT_KEPT;
}

/* A clear that was begun and did not complete preceded all operations of the chunk's owner. */
static int end_clear(struct chunks *c, struct dev_chunk *chunk) {
    uint64_t whose = atom_load_acquire(&c->lasting->bytes_of[number_of(c, chunk)]);
    if (whose <= atom_load_acquire(&c->lasting->head->cleared)) return 0;
    return cuda_chunk_clear(c, &chunk, 1);
}

int cuda_chunk_promise(struct chunks *c, uint64_t id) {
    if (id >= c->limit) return -EINVAL;
    struct dev_chunk *chunk = &c->list[id];
    if (chunk->used) return -EEXIST;
    if (!c->old) return -ENOENT;
    if (!chunk->made && !chunk->fd) return -EINVAL;
    int err = chunk->made ? 0 : import(c, chunk);
    if (!err) err = end_clear(c, chunk);
    if (err) return err;
    note_bytes(c, chunk, LASTING_OWN);
    chunk->used = chunk->promised = true;
    c->used++;
    return 0;
}

int cuda_chunk_adopt(struct chunks *c, uint64_t id, struct dev_chunk **out) {
    *out = NULL;
    int err = id < c->limit && c->list[id].promised ? 0 : cuda_chunk_promise(c, id);
    if (err) return err;
    c->list[id].promised = false;
    *out = &c->list[id];
    return 0;
}

void cuda_chunk_renounce(struct chunks *c, uint64_t id) {
    if (id >= c->limit || !c->list[id].promised) return;
    c->list[id].promised = false;
    cuda_chunk_destroy(c, &c->list[id]);
}

/* Makes the lowest chunk the first to be taken; chunks that were never made come last. */
void cuda_chunk_free_rest(struct chunks *c) {
    if (!c->old) return;
    c->old = false;
    c->fresh = c->limit;
    for (uint64_t i = c->limit; i-- > 0;)
        if (!c->list[i].used && !c->list[i].made && !c->list[i].fd) give_free(c, &c->list[i]);
    for (uint64_t i = c->limit; i-- > 0;)
        if (!c->list[i].used && (c->list[i].made || c->list[i].fd)) give_free(c, &c->list[i]);
}

/* ---- clears ---------------------------------------------------------------------------------- */

int cuda_chunk_settle(struct chunks *c) {
    int err = context_settle(c->context, c->clearing);
    if (!err) c->settled = c->clears;
    return err;
}

static int begin_clear(struct chunks *c, struct dev_chunk *chunk) {
    int err = see(c, chunk);
    if (!err)
        err = result(
            c, c->context->driver.cuMemsetD32Async(chunk->address, 0, c->granule / 4, c->clearing));
    if (err) return err;
    chunk->foreign = false;
    chunk->clear = ++c->clears;
    note_bytes(c, chunk, chunk->clear);
    return 0;
}

/* The GPU records its progress in memory that outlives the process, before any work that waits for
 * it. */
static int tell_clears(struct chunks *c) {
    if (c->told == c->clears) return 0;
    int err = result(
        c, c->context->driver.cuStreamWriteValue64_v2(c->clearing, c->cleared_at, c->clears, 0));
    if (!err) c->told = c->clears;
    return err;
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
    if (!err) err = tell_clears(c);
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

/* Makes later work of our stream wait for the chunk's clear. */
static int follow_clear(struct chunks *c, const struct dev_chunk *chunk) {
    if (!cuda_chunk_pending(c, chunk->clear)) return 0;
    if (cuda_chunk_mark(c, &c->cleared)) return cuda_chunk_settle(c);
    return cuda_chunk_follow(c, c->cleared, c->stream);
}

/* Waits until no copy is in progress any more, also after a failure. */
static int finish(struct chunks *c, CUresult r) {
    int err = context_settle(c->context, c->stream);
    return err ? err : result(c, r);
}

/* The chunk reads as zeros, even if its clear is not complete yet. */
static int begin_read(struct chunks *c, const struct dev_chunk *chunk) {
    int err = chunk->foreign ? begin_clear(c, &c->list[number_of(c, chunk)]) : see(c, chunk);
    return err ? err : follow_clear(c, chunk);
}

static int transfer(struct chunks *c, CUdeviceptr dst, CUdeviceptr src) {
    return finish(c, c->context->driver.cuMemcpyAsync(dst, src, c->granule, c->stream));
}

/* All of the chunk is overwritten, so it needs no clear. */
static int fill(struct chunks *c, struct dev_chunk *dst, CUdeviceptr src) {
    int err = see(c, dst);
    if (!err) err = follow_clear(c, dst);
    if (!err) err = transfer(c, dst->address, src);
    if (err) return err;
    dst->foreign = false;
    note_bytes(c, dst, LASTING_OWN);
    return 0;
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
    for (uint32_t i = 0; !err && i < count; i++) {
        err = see(c, chunks[i]);
        if (!err) err = follow_clear(c, chunks[i]);
    }
    for (uint32_t i = 0; !err && !r && i < count; i++)
        r = c->context->driver.cuMemsetD32Async(chunks[i]->address, 0, c->granule / 4, c->stream);
    int ended = finish(c, r);
    for (uint32_t i = 0; !err && !ended && i < count; i++) {
        chunks[i]->foreign = false;
        note_bytes(c, chunks[i], LASTING_OWN);
    }
    return err ? err : ended;
}
