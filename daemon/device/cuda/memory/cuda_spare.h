/* SPDX-License-Identifier: Apache-2.0
 *
 * Host memory for swapped memory, which outlives the process as the device's memory does: granules
 * of the file of cuda_lasting.h. An unused one is a hole in the file.
 *
 * Owner: the device. Thread: the worker's.
 */
#ifndef DAEMON_DEVICE_CUDA_MEMORY_CUDA_SPARE_H
#define DAEMON_DEVICE_CUDA_MEMORY_CUDA_SPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/cuda/memory/cuda_lasting.h"

struct spares {
    struct lasting *lasting;
    bool *used;    /* one for each spare */
    uint64_t next; /* index at which the search begins */
    bool old; /* until it is settled, unused ones may belong to clients that have yet to come */
};

/* 0 or -ENOMEM. */
int cuda_spare_open(struct spares *s, struct lasting *lasting);
/* Accepts a struct that is zeroed. */
void cuda_spare_close(struct spares *s);

/* A spare of zeros; NULL: there is none, or it is not settled. */
void *cuda_spare_make(struct spares *s);
void cuda_spare_free(struct spares *s, void *host); /* accepts NULL */
/* Larger than the numbers of chunks. */
uint64_t cuda_spare_id(const struct spares *s, const void *host);
/* As dev_recovery_ops.chunk_adopt. */
int cuda_spare_adopt(struct spares *s, uint64_t id, void **out);
/* Turns unused spares into holes. */
void cuda_spare_settle(struct spares *s);

#endif
