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
#include "daemon/device/soft/dev/soft.h"

struct dev_chunk {
    bool used; /* its place in the array is its place in the file */
};

int chunk_open(struct dev *dev) {
    uint64_t bytes = dev->info.memory_bytes;
    dev->chunk_count = bytes / SOFT_GRANULARITY;
    dev->chunks = calloc(dev->chunk_count + 1, sizeof *dev->chunks);
    if (!dev->chunks) return -ENOMEM;
    dev->memory_fd = fdutil_memfd("salus-device-memory", bytes, 0);
    if (dev->memory_fd < 0) return dev->memory_fd;
    dev->memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, dev->memory_fd, 0);
    if (dev->memory == MAP_FAILED) return -errno;
    madvise(dev->memory, bytes, MADV_HUGEPAGE);
    return 0;
}

void chunk_close(struct dev *dev) {
    if (dev->memory != MAP_FAILED) munmap(dev->memory, dev->info.memory_bytes);
    fdutil_close(&dev->memory_fd);
    free(dev->chunks);
}

uint64_t chunk_offset(const struct dev *dev, const struct dev_chunk *chunk) {
    return (uint64_t)(chunk - dev->chunks) * SOFT_GRANULARITY;
}

uint32_t chunk_run(struct dev_chunk *const *chunks, uint32_t count) {
    uint32_t n = 1;
    while (n < count && chunks[n] == chunks[0] + n)
        n++;
    return n;
}

static unsigned char *chunk_bytes(const struct dev *dev, const struct dev_chunk *chunk) {
    return dev->memory + chunk_offset(dev, chunk);
}

/* Behind the latest one where that is free, so that chunks made one after the other are neighbours
 * and are mapped together; else the lowest. */
int chunk_create(struct dev *dev, struct dev_chunk **out) {
    *out = NULL;
    if (dev->info.memory_bytes - dev->memory_used < SOFT_GRANULARITY) return ERR_NO_MEMORY;
    uint64_t i = dev->chunk_next;
    if (i == dev->chunk_count || dev->chunks[i].used) /* there is one: the account says so */
        for (i = 0; dev->chunks[i].used; i++)
            continue;
    dev->chunk_next = i + 1;
    dev->chunks[i].used = true;
    dev->memory_used += SOFT_GRANULARITY;
    *out = &dev->chunks[i];
    return 0;
}

void chunk_destroy(struct dev *dev, struct dev_chunk *chunk) {
    if (!chunk) return;
    if (fallocate(dev->memory_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  (off_t)chunk_offset(dev, chunk), SOFT_GRANULARITY) < 0)
        memset(chunk_bytes(dev, chunk), 0, SOFT_GRANULARITY);
    chunk->used = false;
    dev->memory_used -= SOFT_GRANULARITY;
}

int chunk_copy(struct dev *dev, struct dev_chunk *dst, const struct dev_chunk *src) {
    memcpy(chunk_bytes(dev, dst), chunk_bytes(dev, src), SOFT_GRANULARITY);
    return 0;
}

int chunk_save(struct dev *dev, void *host, const struct dev_chunk *chunk) {
    memcpy(host, chunk_bytes(dev, chunk), SOFT_GRANULARITY);
    return 0;
}

int chunk_load(struct dev *dev, struct dev_chunk *chunk, const void *host) {
    memcpy(chunk_bytes(dev, chunk), host, SOFT_GRANULARITY);
    return 0;
}

/* Not by punching holes: to give the pages back takes ten times as long as to fill them, and the
 * next user's first touch of each as long again. */
int chunk_clear(struct dev *dev, struct dev_chunk *const *chunks, uint32_t count) {
    for (uint32_t i = 0, n; i < count; i += n) {
        n = chunk_run(chunks + i, count - i);
        memset(chunk_bytes(dev, chunks[i]), 0, n * SOFT_GRANULARITY);
    }
    return 0;
}
