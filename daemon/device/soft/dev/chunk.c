/* SPDX-License-Identifier: Apache-2.0
 *
 * Physical memory of the software GPU: one sparse memfd, divided into chunks of the granularity.
 * Spaces map pieces of it (space.c). This file hands out chunks and copies whole chunks, through a
 * mapping of the whole file that no kernel sees. A free chunk is a hole in the file, so that it
 * costs nothing and is zero when it is handed out again.
 *
 * Owner: the device. Thread: the worker's.
 */
#include "daemon/device/soft/dev/chunk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "daemon/device/device_retirement.h"

/* A chunk or a spare. Its index in chunks.list is its index in the file. */
struct dev_chunk {
    bool used;     /* handed out, promised, or the place of a retired chunk */
    bool promised; /* reserved for the process that will adopt it: used, but without an owner yet */
};

/* A former chunk, charged to no client. */
struct dev_retired {
    struct list link;        /* link in chunks.retired while it has its place in the file */
    struct dev_chunk *place; /* NULL: another chunk has the place */
    void *spare;             /* spare that holds the bytes while `place` is NULL */
};

/* Spares per chunk in the sparse file. Unused ones cost only numbers. */
#define SPARES_A_CHUNK 15u

static uint64_t file_bytes(uint64_t device_bytes) {
    return device_bytes * (1 + SPARES_A_CHUNK);
}

/* Duplicates the caller's descriptor if it is the memory of a device of this size. With size 0 it
 * takes the size from the file. */
static int open_old(struct chunks *c, int fd) {
    uint64_t bytes;
    int err = fdutil_check_lasting(fd, &bytes);
    if (err) return err;
    if (!c->bytes) c->bytes = bytes / (1 + SPARES_A_CHUNK);
    if (bytes != file_bytes(c->bytes) || !bytes || c->bytes % CHUNK_BYTES) return -EINVAL;
    c->old = true;
    c->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return c->fd < 0 ? -errno : 0;
}

static int open_new(struct chunks *c) {
    c->fd = fdutil_memfd("salus-device-memory", file_bytes(c->bytes), 0);
    return c->fd < 0 ? c->fd : 0;
}

int chunk_open(struct chunks *c, uint64_t bytes, int fd) {
    *c = (struct chunks){.bytes = bytes, .fd = -1, .memory = MAP_FAILED};
    list_init(&c->retired);
    int err = fd > 0 ? open_old(c, fd) : open_new(c);
    if (err) return err;
    c->count = c->bytes / CHUNK_BYTES;
    c->all = c->count * (1 + SPARES_A_CHUNK);
    c->next_spare = c->count;
    c->list = calloc(c->all + 1, sizeof(*c->list));
    if (!c->list) return -ENOMEM;
    c->memory = mmap(NULL, file_bytes(c->bytes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                     c->fd, 0);
    if (c->memory == MAP_FAILED) return -errno;
    madvise(c->memory, file_bytes(c->bytes), MADV_HUGEPAGE);
    madvise(c->memory + c->bytes, file_bytes(c->bytes) - c->bytes, MADV_DONTDUMP);
    return 0;
}

void chunk_close(struct chunks *c) {
    if (c->memory != MAP_FAILED) munmap(c->memory, file_bytes(c->bytes));
    fdutil_close(&c->fd);
    free(c->list);
}

bool chunk_charge(struct chunks *c, uint64_t bytes) {
    if (bytes > c->bytes - c->used) return false;
    c->used += bytes;
    return true;
}

void chunk_refund(struct chunks *c, uint64_t bytes) {
    c->used -= bytes;
}

uint64_t chunk_offset(const struct chunks *c, const struct dev_chunk *chunk) {
    return (uint64_t)(chunk - c->list) * CHUNK_BYTES;
}

uint32_t chunk_run(struct dev_chunk *const *chunks, uint32_t count) {
    uint32_t n = 1;
    while (n < count && chunks[n] == chunks[0] + n)
        n++;
    return n;
}

static unsigned char *bytes_of(const struct chunks *c, const struct dev_chunk *chunk) {
    return c->memory + chunk_offset(c, chunk);
}

uint64_t chunk_id(const struct chunks *c, const struct dev_chunk *chunk) {
    return (uint64_t)(chunk - c->list);
}

struct dev_chunk *chunk_numbered(const struct chunks *c, uint64_t id) {
    return id < c->count && c->list[id].used ? &c->list[id] : NULL;
}

int chunk_adopt(struct chunks *c, uint64_t id, struct dev_chunk **out) {
    *out = NULL;
    if (id >= c->count) return -EINVAL;
    int err = c->list[id].promised ? 0 : chunk_promise(c, id);
    if (err) return err;
    c->list[id].promised = false;
    *out = &c->list[id];
    return 0;
}

int chunk_promise(struct chunks *c, uint64_t id) {
    if (id >= c->count) return -EINVAL;
    if (c->list[id].used) return -EEXIST;
    if (!c->old) return -ENOENT;
    if (!chunk_charge(c, CHUNK_BYTES)) return ERR_NO_MEMORY;
    c->list[id].used = c->list[id].promised = true;
    return 0;
}

void chunk_renounce(struct chunks *c, uint64_t id) {
    if (id >= c->count || !c->list[id].promised) return;
    c->list[id].promised = false;
    chunk_destroy(c, &c->list[id]);
}

/* Zeroes `count` chunks of the file from chunk `first` on, and gives their pages back to Linux. */
static void punch(const struct chunks *c, uint64_t first, uint64_t count) {
    uint64_t at = first * CHUNK_BYTES, bytes = count * CHUNK_BYTES;
    if (fallocate(c->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)bytes) < 0)
        memset(c->memory + at, 0, bytes);
}

void chunk_settle(struct chunks *c) {
    for (uint64_t i = 0, n; c->old && i < c->all; i += n + 1) {
        for (n = 0; i + n < c->all && !c->list[i + n].used; n++)
            continue;
        if (n) punch(c, i, n);
    }
    c->old = false;
}

/* ---- spares ---------------------------------------------------------------------------------- */

/* Takes the next free spare after the one made last, wrapping around. */
void *chunk_spare_make(struct chunks *c) {
    for (uint64_t n = c->count; !c->old && n < c->all; n++) {
        uint64_t i = c->next_spare;
        c->next_spare = i + 1 < c->all ? i + 1 : c->count;
        if (c->list[i].used) continue;
        c->list[i].used = true;
        return bytes_of(c, &c->list[i]);
    }
    return NULL;
}

uint64_t chunk_spare_id(const struct chunks *c, const void *host) {
    return (uint64_t)((const unsigned char *)host - c->memory) / CHUNK_BYTES;
}

void chunk_spare_free(struct chunks *c, void *host) {
    if (!host) return;
    uint64_t id = chunk_spare_id(c, host);
    if (!c->old) punch(c, id, 1);
    c->list[id].used = false;
}

int chunk_spare_adopt(struct chunks *c, uint64_t id, void **out) {
    *out = NULL;
    if (id < c->count || id >= c->all) return -EINVAL;
    if (c->list[id].used) return -EEXIST;
    if (!c->old) return -ENOENT;
    c->list[id].used = true;
    *out = bytes_of(c, &c->list[id]);
    return 0;
}

/* ---- chunks ---------------------------------------------------------------------------------- */

/* Frees the place of a retired chunk by moving its bytes to a spare. Returns NULL if no chunk is
 * retired, or if no spare is free. */
static struct dev_chunk *clear_place(struct chunks *c) {
    void *spare = list_empty(&c->retired) ? NULL : chunk_spare_make(c);
    if (!spare) return NULL;
    struct dev_retired *r = list_entry(c->retired.next, struct dev_retired, link);
    struct dev_chunk *place = r->place;
    chunk_save(c, spare, place);
    r->spare = spare;
    r->place = NULL;
    list_remove(&r->link);
    punch(c, chunk_id(c, place), 1);
    return place;
}

/* Finds a free place: the one after the latest if it is free, so that chunks made one after the
 * other are neighbours and are mapped together; else the lowest. Only if none is free does it take
 * a place from a retired chunk. Returns NULL if there is none either. */
static struct dev_chunk *find_place(struct chunks *c) {
    uint64_t i = c->next;
    if (i == c->count || c->list[i].used)
        for (i = 0; i < c->count && c->list[i].used; i++)
            continue;
    if (i == c->count) return clear_place(c);
    c->next = i + 1;
    return &c->list[i];
}

int chunk_create(struct chunks *c, struct dev_chunk **out) {
    *out = NULL;
    if (c->old) return -EBUSY; /* the owners of old chunks are not known yet */
    if (!chunk_charge(c, CHUNK_BYTES)) return ERR_NO_MEMORY;
    *out = find_place(c);
    if (!*out) {
        chunk_refund(c, CHUNK_BYTES);
        return ERR_NO_MEMORY;
    }
    (*out)->used = true;
    return 0;
}

void chunk_destroy(struct chunks *c, struct dev_chunk *chunk) {
    if (!chunk) return;
    if (!c->old) punch(c, chunk_id(c, chunk), 1);
    chunk->used = false;
    chunk_refund(c, CHUNK_BYTES);
}

int chunk_retire(struct chunks *c, struct dev_chunk *chunk, struct dev_retired **out) {
    struct dev_retired *r = calloc(1, sizeof(*r));
    *out = r;
    if (!r) return -ENOMEM;
    r->place = chunk;
    list_append(&c->retired, &r->link);
    chunk_refund(c, CHUNK_BYTES);
    return 0;
}

/* Revives a chunk in another place, since its own is taken. */
static int move_in(struct chunks *c, struct dev_retired *r, struct dev_chunk **out) {
    int err = chunk_create(c, out);
    if (err) return err;
    chunk_load(c, *out, r->spare);
    chunk_spare_free(c, r->spare);
    free(r);
    return 0;
}

int chunk_revive(struct chunks *c, struct dev_retired *retired, struct dev_chunk **out) {
    *out = NULL;
    if (!retired->place) return move_in(c, retired, out);
    if (!chunk_charge(c, CHUNK_BYTES)) return ERR_NO_MEMORY;
    *out = retired->place;
    list_remove(&retired->link);
    free(retired);
    return 0;
}

void chunk_retired_free(struct chunks *c, struct dev_retired *retired) {
    struct dev_chunk *chunk;
    if (!retired) return;
    if (retired->place) {
        chunk = retired->place;
        if (!c->old) punch(c, chunk_id(c, chunk), 1);
        chunk->used = false;
    }
    list_remove(&retired->link);
    chunk_spare_free(c, retired->spare);
    free(retired);
}

void chunk_copy(struct chunks *c, struct dev_chunk *dst, const struct dev_chunk *src) {
    memcpy(bytes_of(c, dst), bytes_of(c, src), CHUNK_BYTES);
}

static bool is_spare(const struct chunks *c, const void *host) {
    return (const unsigned char *)host >= c->memory &&
           (const unsigned char *)host < c->memory + file_bytes(c->bytes);
}

/* chunk_save (to a spare) and chunk_load write with pwrite: a process that touches memory which is
 * new to it pays a page fault for every page, and new pages are zeroed first. */
void chunk_save(struct chunks *c, void *host, const struct dev_chunk *chunk) {
    const unsigned char *from = bytes_of(c, chunk);
    off_t at = is_spare(c, host) ? (off_t)((unsigned char *)host - c->memory) : -1;
    if (at < 0 || pwrite(c->fd, from, CHUNK_BYTES, at) != (ssize_t)CHUNK_BYTES)
        memcpy(host, from, CHUNK_BYTES);
}

void chunk_load(struct chunks *c, struct dev_chunk *chunk, const void *host) {
    off_t at = (off_t)chunk_offset(c, chunk);
    if (pwrite(c->fd, host, CHUNK_BYTES, at) != (ssize_t)CHUNK_BYTES)
        memcpy(bytes_of(c, chunk), host, CHUNK_BYTES);
}

/* Writes zeros instead of punching holes: giving the pages back takes ten times as long as filling
 * them, and the next user's first touch of each page as long again. */
void chunk_clear(struct chunks *c, struct dev_chunk *const *chunks, uint32_t count) {
    for (uint32_t i = 0, n; i < count; i += n) {
        n = chunk_run(chunks + i, count - i);
        memset(bytes_of(c, chunks[i]), 0, n * CHUNK_BYTES);
    }
}
