/* SPDX-License-Identifier: Apache-2.0
 *
 * The software GPU's physical memory: one file, divided into chunks (device.h defines them). After
 * the chunks the same file has space for host memory that must live as long: spares, which are no
 * device memory. A mapping needs a chunk's offset in the file. Memory that needs no chunk is
 * counted as well, so that all memory together never exceeds the device's.
 *
 * Owner: the device. Thread: the worker's.
 */
#ifndef DAEMON_DEVICE_SOFT_DEV_CHUNK_H
#define DAEMON_DEVICE_SOFT_DEV_CHUNK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"
#include "daemon/device/device_retirement.h"

#define CHUNK_BYTES (2ull << 20)

struct dev_chunk;
struct dev_retired;

struct chunks {
    uint64_t bytes; /* size of the device's memory */
    uint64_t used;  /* bytes used by chunks, and bytes charged */
    int fd;
    unsigned char *memory; /* the whole file, mapped where no kernel sees it */
    struct dev_chunk *list;
    uint64_t count, next;
    uint64_t all, next_spare; /* all: chunks and spares */
    struct list retired;      /* retired chunks that still have a place in the file */
    bool old;                 /* memory of a previous process's device, not settled yet */
};

/* Opens new memory of `bytes` bytes (a multiple of the chunk size) if `fd` is 0 or less. Otherwise
 * opens the memory in `fd` (device.h's memory_fd), whose size must be `bytes`, unless that is 0.
 * Returns 0 or -errno; on failure the caller calls chunk_close as well. */
int chunk_open(struct chunks *c, uint64_t bytes, int fd);
void chunk_close(struct chunks *c);

/* Charges memory of other kinds. Returns false, with nothing charged, if less is left. */
bool chunk_charge(struct chunks *c, uint64_t bytes);
void chunk_refund(struct chunks *c, uint64_t bytes);

uint64_t chunk_offset(const struct chunks *c, const struct dev_chunk *chunk);
/* Returns the chunk with this id (its index), or NULL if it is free or there is none. */
struct dev_chunk *chunk_numbered(const struct chunks *c, uint64_t id);
/* Returns how many of the first chunks are consecutive in the file; at least 1. */
uint32_t chunk_run(struct dev_chunk *const *chunks, uint32_t count);

/* The device's operations with these names. */
void *chunk_spare_make(struct chunks *c);
void chunk_spare_free(struct chunks *c, void *host);
uint64_t chunk_spare_id(const struct chunks *c, const void *host);
int chunk_spare_adopt(struct chunks *c, uint64_t id, void **out);
uint64_t chunk_id(const struct chunks *c, const struct dev_chunk *chunk);
int chunk_adopt(struct chunks *c, uint64_t id, struct dev_chunk **out);
int chunk_promise(struct chunks *c, uint64_t id);
void chunk_renounce(struct chunks *c, uint64_t id);
void chunk_settle(struct chunks *c);
int chunk_create(struct chunks *c, struct dev_chunk **out);
void chunk_destroy(struct chunks *c, struct dev_chunk *chunk);
int chunk_retire(struct chunks *c, struct dev_chunk *chunk, struct dev_retired **out);
int chunk_revive(struct chunks *c, struct dev_retired *retired, struct dev_chunk **out);
void chunk_retired_free(struct chunks *c, struct dev_retired *retired);
void chunk_copy(struct chunks *c, struct dev_chunk *dst, const struct dev_chunk *src);
void chunk_save(struct chunks *c, void *host, const struct dev_chunk *chunk);
void chunk_load(struct chunks *c, struct dev_chunk *chunk, const void *host);
void chunk_clear(struct chunks *c, struct dev_chunk *const *chunks, uint32_t count);

#endif
