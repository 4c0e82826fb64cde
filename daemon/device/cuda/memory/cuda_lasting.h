/* SPDX-License-Identifier: Apache-2.0
 *
 * What outlives the process beside the chunks themselves: one sparse memfd of which somebody else
 * has a descriptor. It says which device it is of, whose bytes each chunk has, and has room for
 * what is taken to host memory (cuda_spare.h).
 *
 * Owner: the device. Thread: the worker's; the GPU writes `cleared`.
 */
#ifndef DAEMON_DEVICE_CUDA_MEMORY_CUDA_LASTING_H
#define DAEMON_DEVICE_CUDA_MEMORY_CUDA_LASTING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/device.h"

/* Room for so many granules of host memory a chunk: sparse, what is not used costs numbers. */
#define LASTING_SPARES_A_CHUNK 15u
/* The part that the GPU has to reach. */
#define LASTING_HEAD_BYTES 4096u

/* Of a chunk's bytes, instead of the number of the clear that they wait for. */
#define LASTING_OWN 0ull           /* they are those of who has it */
#define LASTING_FOREIGN UINT64_MAX /* they are somebody's who had it before */

/* Shared. */
struct lasting_head {
    uint64_t magic, granule, memory_bytes;
    uint64_t asked_bytes; /* dev_config.memory_bytes */
    uint8_t uuid[16];
    uint64_t window;          /* where the worker saw the chunks */
    _Atomic uint64_t cleared; /* the number of a clear that is complete, as all before it */
};

struct lasting {
    int fd;
    bool old; /* an earlier process made it */
    struct lasting_head *head;
    _Atomic uint64_t *bytes_of; /* of each chunk: LASTING_*, or the number of a clear: until it is
                                   complete they are to become zeros, and then its own */
    uint64_t chunk_count, spare_count;
    unsigned char *spares; /* granules */
    uint64_t mapped_bytes;
};

/* An earlier one's, by config->memory_fd, where that is of this device, and then info->memory_bytes
 * is what it was; else a new one. 0, -EINVAL or -errno; closed in any case. */
int cuda_lasting_open(struct lasting *l, const struct dev_config *config, struct dev_info *info);
/* Also of one that is zeroed. */
void cuda_lasting_close(struct lasting *l);

#endif
