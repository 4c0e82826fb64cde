/* SPDX-License-Identifier: Apache-2.0 */
#include "test/lib/cuda/cuda_rig.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/device/device_recovery.h"
#include "test/lib/patience.h"

/* ---- opening and closing --------------------------------------------------------------------- */

static void *load(char *path, size_t room, const char *which) {
    const char *build = getenv("BUILD");
    snprintf(path, room, "%s/test/lib/driver/%s/libcuda.so.1", build ? build : "build", which);
    char *whole = realpath(path, NULL);
    void *library = whole ? dlopen(whole, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library) {
        fprintf(stderr, "%s: %s\n", path, whole ? dlerror() : "there is none");
        abort();
    }
    snprintf(path, room, "%s", whole);
    free(whole);
    return library;
}

void cuda_rig_load(struct cuda_rig *r, bool faulty) {
    *r = (struct cuda_rig){.ops = &dev_cuda};
    r->fake = dlsym(load(r->path, sizeof(r->path), "fake"), "fake_control");
    if (!faulty) return;
    setenv("SALUS_FAULTY_DRIVER", r->path, 1);
    r->faulty = dlsym(load(r->path, sizeof(r->path), "faulty"), "faulty_control");
}

int cuda_rig_open(struct cuda_rig *r) {
    r->config.driver = r->path;
    r->config.memory_bytes = RIG_CHUNKS * RIG_GRANULE;
    int err = r->ops->open(&r->dev, &r->config);
    if (!err) r->ops->info(r->dev, &r->info);
    return err;
}

void cuda_rig_close(struct cuda_rig *r) {
    r->ops->close(r->dev);
    r->dev = NULL;
}

/* Replaces the memory that had this number before. */
static int keep(void *arg, uint64_t id, int fd) {
    struct cuda_rig *r = arg;
    uint32_t i = 0;
    if (r->keep_result) return r->keep_result;
    while (i < r->kept_count && r->kept[i].id != id)
        i++;
    if (id >= RIG_CHUNKS || i == RIG_CHUNKS) abort();
    if (i < r->kept_count) close(r->kept[i].fd);
    r->kept[i] = (struct dev_kept){id, fcntl(fd, F_DUPFD_CLOEXEC, 0)};
    if (i == r->kept_count) r->kept_count++;
    return 0;
}

void cuda_rig_keep(struct cuda_rig *r) {
    r->config.keep = keep;
    r->config.keep_arg = r;
}

int cuda_rig_die(struct cuda_rig *r, const struct fake_options *options) {
    if (!r->config.memory_fd)
        r->config.memory_fd = fcntl(r->ops->recovery->memory_fd(r->dev), F_DUPFD_CLOEXEC, 0);
    r->fake->end(CUDA_ERROR_UNKNOWN);
    cuda_rig_close(r);
    if (r->faulty) r->faulty->set(NULL);
    r->fake->start(options);
    r->config.kept = r->kept;
    r->config.kept_count = r->kept_count;
    return cuda_rig_open(r);
}

void cuda_rig_drop(struct cuda_rig *r) {
    while (r->kept_count)
        close(r->kept[--r->kept_count].fd);
    if (r->config.memory_fd > 0) close(r->config.memory_fd);
    r->config = (struct dev_config){0};
}

const char *cuda_rig_complaint(const struct cuda_rig *r) {
    static char said[512];
    static const struct fake_left nothing;
    struct fake_left l = r->fake->left();
    snprintf(said, sizeof(said), "%s", r->fake->misuse());
    if (said[0] || !memcmp(&l, &nothing, sizeof(l))) return said;
    snprintf(said, sizeof(said),
             "left: contexts %u reservations %u memories %u maps %u registrations %u pinned %u "
             "streams %u events %u modules %u greens %u arrays %u textures %u",
             l.contexts, l.reservations, l.memories, l.maps, l.registrations, l.pinned, l.streams,
             l.events, l.modules, l.greens, l.arrays, l.textures);
    return said;
}

/* ---- spaces ---------------------------------------------------------------------------------- */

static void nothing_said(void *arg, int to_stderr, const char *text, size_t bytes) {
    (void)arg, (void)to_stderr, (void)text, (void)bytes;
}

int cuda_rig_space(struct cuda_rig *r, struct rig_space *s, unsigned int nth) {
    static const struct dev_space_ops space_ops = {.text = nothing_said};
    *s = (struct rig_space){.host = mmap(NULL, RIG_HOST, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)};
    if (s->host == MAP_FAILED) abort();
    s->windows = (struct dev_windows){.dev_base = RIG_DEV_BASE + nth * RIG_ALLOC * 4,
                                      .alloc_bytes = RIG_ALLOC,
                                      .host_base = (uintptr_t)s->host,
                                      .host_bytes = RIG_HOST};
    int err = r->ops->space_create(r->dev, &s->windows, &space_ops, NULL, &s->space);
    if (err) munmap(s->host, RIG_HOST);
    return err;
}

void cuda_rig_space_end(struct cuda_rig *r, struct rig_space *s) {
    r->ops->space_destroy(s->space);
    munmap(s->host, RIG_HOST);
}

/* Peeks wait until chunks are zeroed, as operations do. Code that reads the memory directly
 * calls this first. */
static void settle(const struct cuda_rig *r, const struct rig_space *s, uint32_t at) {
    uint64_t value;
    r->ops->peek(s->space, s->windows.dev_base + at * RIG_GRANULE, 4, &value);
}

int cuda_rig_map(struct cuda_rig *r, struct rig_space *s, uint32_t at, uint32_t count,
                 struct dev_chunk **chunks) {
    int err = 0;
    uint32_t made = 0;
    for (; !err && made < count; made += !err)
        err = r->ops->chunk_create(r->dev, &chunks[made]);
    if (!err)
        err = r->ops->chunk_map(s->space, s->windows.dev_base + at * RIG_GRANULE, chunks, count);
    if (!err) settle(r, s, at);
    while (err && made > 0)
        r->ops->chunk_destroy(r->dev, chunks[--made]);
    return err;
}

void cuda_rig_unmap(struct cuda_rig *r, struct rig_space *s, uint32_t at, uint32_t count,
                    struct dev_chunk **chunks) {
    r->ops->chunk_unmap(s->space, s->windows.dev_base + at * RIG_GRANULE, count);
    for (uint32_t i = 0; i < count; i++)
        r->ops->chunk_destroy(r->dev, chunks[i]);
}

/* ---- operations ------------------------------------------------------------------------------ */

uint32_t cuda_rig_poll(struct cuda_rig *r) {
    uint32_t count = 0;
    for (struct dev_op *op = r->ops->poll(r->dev), *next; op; op = next) {
        next = op->next;
        ((struct rig_op *)op)->done++;
        count++;
    }
    r->done += count;
    return count;
}

/* Sleeps between polls, as the worker does. */
bool cuda_rig_wait(struct cuda_rig *r, uint32_t done) {
    uint64_t end_ns = fdutil_now_ns() + patience_ms() * 1000000ull;
    while (cuda_rig_poll(r), r->done < done) {
        struct pollfd p = {.fd = r->ops->event_fd(r->dev), .events = POLLIN};
        if (fdutil_now_ns() >= end_ns) return false;
        if (!r->ops->arm(r->dev)) poll(&p, 1, 100);
    }
    return true;
}

int cuda_rig_launch(struct cuda_rig *r, struct dev_queue *q, struct dev_func *f, struct rig_op *op,
                    uint32_t param_bytes, const uint64_t *params) {
    const struct dev_launch launch = {.func = f,
                                      .grid = {1, 1, 1},
                                      .block = {32, 1, 1},
                                      .params = params,
                                      .param_bytes = param_bytes};
    *op = (struct rig_op){.dev = r->asked};
    return r->ops->launch(q, &launch, &op->dev);
}

int cuda_rig_copy(struct cuda_rig *r, struct dev_queue *q, struct rig_op *op, uint64_t dst,
                  uint64_t src, uint64_t bytes) {
    const struct dev_copy copy = {
        .dst = dst, .src = src, .width_bytes = bytes, .height = 1, .depth = 1};
    *op = (struct rig_op){.dev = r->asked};
    return r->ops->copy(q, &copy, &op->dev);
}

int cuda_rig_fill(struct cuda_rig *r, struct dev_queue *q, struct rig_op *op, uint64_t dst,
                  uint32_t value, uint64_t words) {
    const struct dev_memset set = {
        .dst = dst, .value = value, .elem_bytes = 4, .width_elems = words, .height = 1};
    *op = (struct rig_op){.dev = r->asked};
    return r->ops->memset(q, &set, &op->dev);
}
