/* SPDX-License-Identifier: Apache-2.0
 *
 * A table by number. A started worker gets these descriptors under the numbers that they have here
 * (spawn.c), so the lowest numbers are left free for it.
 */
#include "daemon/broker/worker/held_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "common/log.h"
#include "daemon/broker/fd_reserve.h"
#include "proto/wire/wire.h"

#define FIRST_FD 16
#define FIRST_PARTS 256u
#define AT_ONCE 64u /* closed in the loop up to this number; freeing GPU memory takes time */

struct held_memory_part {
    int fd;         /* -1: none */
    uint32_t start; /* ordinal of the worker that created the part */
};

/* Descriptors that are being closed. */
struct closing {
    uv_work_t work;
    struct held_memory *keeping;
    uint32_t count;
    int fds[];
};

void held_memory_init(struct held_memory *k) {
    *k = (struct held_memory){0};
}

void held_memory_begin(struct held_memory *k) {
    k->start++;
    k->crowded = false;
}

/* ---- a single part --------------------------------------------------------------------------- */

static int make_room(struct held_memory *k, uint64_t id) {
    uint32_t cap = k->cap ? k->cap : FIRST_PARTS;
    struct held_memory_part *parts;

    if (id < k->cap) return 0;
    while (cap <= id)
        cap *= 2;
    parts = realloc(k->parts, cap * sizeof(*parts));
    if (!parts) return -ENOMEM;
    for (uint32_t i = k->cap; i < cap; i++)
        parts[i] = (struct held_memory_part){.fd = -1};
    k->parts = parts;
    k->cap = cap;
    return 0;
}

static void drop(struct held_memory *k, uint64_t id) {
    if (id >= k->cap || k->parts[id].fd < 0) return;
    fdutil_close(&k->parts[id].fd);
    k->count--;
}

/* Moves the descriptor above the lowest numbers; fails for one of the last. */
static int place(int *fd) {
    int moved = *fd;

    if (*fd < FIRST_FD) {
        moved = fcntl(*fd, F_DUPFD_CLOEXEC, FIRST_FD);
        if (moved < 0) return -errno;
        fdutil_close(fd);
        *fd = moved;
    }
    return fd_reserve_for_memory(moved) ? -EMFILE : 0;
}

/* Logged once per worker. */
static void say_crowded(struct held_memory *k, int err) {
    if (k->crowded) return;
    k->crowded = true;
    log_warn("worker",
             "event=memory-not-kept held=%u why=\"%s\" text=\"jobs that use more memory end with "
             "their worker\"",
             k->count, err == -ENOMEM ? err_text(err) : FD_RESERVE_TEXT);
}

int held_memory_take(struct held_memory *k, uint64_t id, int *fd) {
    int err;

    if (id >= WIRE_PARTS) return -EINVAL;
    drop(k, id);
    err = *fd == -1 ? 0 : *fd < 0 ? *fd : place(fd);
    if (err == 0 && *fd >= 0) err = make_room(k, id);
    if (err < 0) say_crowded(k, err);
    if (err < 0 || *fd < 0) return 0;
    k->parts[id] = (struct held_memory_part){.fd = *fd, .start = k->start};
    k->count++;
    *fd = -1;
    return 0;
}

/* ---- all parts ------------------------------------------------------------------------------ */

static void on_close(uv_work_t *work) { /* runs in a thread of the pool: accesses only `work` */
    struct closing *c = work->data;

    for (uint32_t i = 0; i < c->count; i++)
        fdutil_close(&c->fds[i]);
}

static void on_closed(uv_work_t *work, int status) {
    struct closing *c = work->data;

    c->keeping->closing--;
    free(c);
}

/* Closes many descriptors in another thread. Returns false if that is not possible or not needed.
 */
static bool close_beside(struct held_memory *k, uint32_t end, uv_loop_t *loop) {
    struct closing *c;

    if (k->count <= AT_ONCE) return false;
    c = malloc(sizeof(*c) + k->count * sizeof(c->fds[0]));
    if (!c) return false;
    *c = (struct closing){.work.data = c, .keeping = k};
    for (uint32_t i = 0; i < k->cap; i++)
        if (k->parts[i].fd >= 0 && k->parts[i].start < end) c->fds[c->count++] = k->parts[i].fd;
    if (uv_queue_work(loop, &c->work, on_close, on_closed) < 0) {
        free(c);
        return false;
    }
    for (uint32_t i = 0; i < k->cap; i++)
        if (k->parts[i].start < end) k->parts[i].fd = -1;
    k->count -= c->count;
    k->closing++;
    return true;
}

/* Closes the parts created by workers whose ordinals are below `end`. */
static void let_go(struct held_memory *k, uint32_t end, uv_loop_t *loop) {
    if (k->count == 0 || close_beside(k, end, loop)) return;
    for (uint32_t i = 0; i < k->cap; i++)
        if (k->parts[i].start < end) drop(k, i);
}

void held_memory_forget(struct held_memory *k, uv_loop_t *loop) {
    let_go(k, k->start, loop);
}

void held_memory_clear(struct held_memory *k, uv_loop_t *loop) {
    let_go(k, k->start + 1, loop);
}

void held_memory_finish(struct held_memory *k) {
    for (uint32_t i = 0; i < k->cap; i++)
        drop(k, i);
    free(k->parts);
    k->parts = NULL;
    k->cap = 0;
}

/* ---- for the next worker --------------------------------------------------------------------- */

int held_memory_next(const struct held_memory *k, uint32_t *id) {
    for (; *id < k->cap; ++*id)
        if (k->parts[*id].fd >= 0) return k->parts[*id].fd;
    return -1;
}

static void name_all(const struct held_memory *k, struct wire_kept *out) {
    int fd;

    for (uint32_t id = 0; (fd = held_memory_next(k, &id)) >= 0; id++)
        *out++ = (struct wire_kept){.id = id, .fd = fd};
}

int held_memory_list(const struct held_memory *k) {
    size_t bytes = k->count * sizeof(struct wire_kept);
    int fd = fdutil_memfd("salus-kept", bytes, 0);
    struct wire_kept *list;

    if (fd < 0) return fd;
    list = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (list == MAP_FAILED) {
        int err = -errno;

        fdutil_close(&fd);
        return err;
    }
    name_all(k, list);
    munmap(list, bytes);
    return fd;
}
