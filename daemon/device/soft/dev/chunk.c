/* SPDX-License-Identifier: Apache-2.0
 *
 * Physical memory of the software GPU: one sparse memfd, cut into chunks of the granularity. Spaces
 * map pieces of it (space.c); here chunks are handed out and whole chunks are copied, through a
 * mapping of all of it that no kernel ever sees. A chunk that nobody has is a hole in the file, so
 * that it costs nothing and is zero when it is handed out again.
 *
 * Owner: the device. Thread: the worker's.
 */
#include "daemon/device/soft/dev/chunk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/err.h"
#include "common/fdutil.h"

struct dev_chunk {
    bool used; /* its place in the array is its place in the file */
};

int chunk_open(struct chunks *c, uint64_t bytes) {
    *c = (struct chunks){.bytes = bytes, .fd = -1, .memory = MAP_FAILED};
    c->count = bytes / CHUNK_BYTES;
    c->list = calloc(c->count + 1, sizeof(*c->list));
    if (!c->list) return -ENOMEM;
    c->fd = fdutil_memfd("salus-device-memory", bytes, 0);
    if (c->fd < 0) return c->fd;
    c->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, c->fd, 0);
    if (c->memory == MAP_FAILED) return -errno;
    madvise(c->memory, bytes, MADV_HUGEPAGE);
    return 0;
}

void chunk_close(struct chunks *c) {
    if (c->memory != MAP_FAILED) munmap(c->memory, c->bytes);
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

/* Behind the latest one where that is free, so that chunks made one after the other are neighbours
 * and are mapped together; else the lowest. */
int chunk_create(struct chunks *c, struct dev_chunk **out) {
    *out = NULL;
    if (!chunk_charge(c, CHUNK_BYTES)) return ERR_NO_MEMORY;
    uint64_t i = c->next;
    if (i == c->count || c->list[i].used) /* there is one: the account says so */
        for (i = 0; c->list[i].used; i++)
            continue;
    c->next = i + 1;
    c->list[i].used = true;
    *out = &c->list[i];
    return 0;
}

void chunk_destroy(struct chunks *c, struct dev_chunk *chunk) {
    if (!chunk) return;
    if (fallocate(c->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)chunk_offset(c, chunk),
                  CHUNK_BYTES) < 0)
        memset(bytes_of(c, chunk), 0, CHUNK_BYTES);
    chunk->used = false;
    chunk_refund(c, CHUNK_BYTES);
}

void chunk_copy(struct chunks *c, struct dev_chunk *dst, const struct dev_chunk *src) {
    memcpy(bytes_of(c, dst), bytes_of(c, src), CHUNK_BYTES);
}

void chunk_save(struct chunks *c, void *host, const struct dev_chunk *chunk) {
    memcpy(host, bytes_of(c, chunk), CHUNK_BYTES);
}

void chunk_load(struct chunks *c, struct dev_chunk *chunk, const void *host) {
    memcpy(bytes_of(c, chunk), host, CHUNK_BYTES);
}

/* Not by punching holes: to give the pages back takes ten times as long as to fill them, and the
 * next user's first touch of each as long again. */
void chunk_clear(struct chunks *c, struct dev_chunk *const *chunks, uint32_t count) {
    for (uint32_t i = 0, n; i < count; i += n) {
        n = chunk_run(chunks + i, count - i);
        memset(bytes_of(c, chunks[i]), 0, n * CHUNK_BYTES);
    }
}
