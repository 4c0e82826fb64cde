/* SPDX-License-Identifier: Apache-2.0
 *
 * Chunks of the software GPU's physical memory (device.h says what they are). One file holds them
 * all; where a chunk lies in it is what a mapping needs to know.
 *
 * Owner: the device. Thread: the worker's.
 */
#ifndef DAEMON_DEVICE_SOFT_DEV_CHUNK_H
#define DAEMON_DEVICE_SOFT_DEV_CHUNK_H

#include <stdint.h>

struct dev;
struct dev_chunk;

/* Needs dev->info.memory_bytes; sets dev->memory_fd and what belongs to it. On failure call
 * chunk_close as well. */
int chunk_open(struct dev *dev);
void chunk_close(struct dev *dev);

uint64_t chunk_offset(const struct dev *dev, const struct dev_chunk *chunk);
/* How many of the first chunks lie behind one another in the file; at least 1. */
uint32_t chunk_run(struct dev_chunk *const *chunks, uint32_t count);

/* The device's operations of these names. */
int chunk_create(struct dev *dev, struct dev_chunk **out);
void chunk_destroy(struct dev *dev, struct dev_chunk *chunk);
int chunk_copy(struct dev *dev, struct dev_chunk *dst, const struct dev_chunk *src);
int chunk_save(struct dev *dev, void *host, const struct dev_chunk *chunk);
int chunk_load(struct dev *dev, struct dev_chunk *chunk, const void *host);
int chunk_clear(struct dev *dev, struct dev_chunk *const *chunks, uint32_t count);

#endif
