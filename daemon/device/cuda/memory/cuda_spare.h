/* SPDX-License-Identifier: Apache-2.0
 *
 * Host memory for what is taken out of the device, which outlives the process as the device's own
 * does: a granule each, of the file of cuda_lasting.h. One that nobody has is a hole in it.
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
    bool *used;    /* each */
    uint64_t next; /* where one is looked for first */
    bool old;      /* until it is settled those that nobody has may be somebody's */
};

/* 0 or -ENOMEM. */
int cuda_spare_open(struct spares *s, struct lasting *lasting);
/* Also of one that is zeroed. */
void cuda_spare_close(struct spares *s);

/* Zeros; NULL: there is none, or it is not settled. */
void *cuda_spare_make(struct spares *s);
void cuda_spare_free(struct spares *s, void *host); /* accepts NULL */
/* Above those of chunks. */
uint64_t cuda_spare_id(const struct spares *s, const void *host);
/* As dev_recovery_ops.chunk_adopt. */
int cuda_spare_adopt(struct spares *s, uint64_t id, void **out);
/* What nobody has is a hole from now on. */
void cuda_spare_settle(struct spares *s);

#endif
