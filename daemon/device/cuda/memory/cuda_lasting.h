/* SPDX-License-Identifier: Apache-2.0
 *
 * Data that outlives the process besides the chunks themselves: one sparse memfd, of which another
 * process has a descriptor. It identifies the device, records whose bytes each chunk has, and has
 * space for memory moved to the host (cuda_spare.h).
 *
 * Owner: the device. Thread: the worker's; the GPU writes `cleared`.
 */
#ifndef DAEMON_DEVICE_CUDA_MEMORY_CUDA_LASTING_H
#define DAEMON_DEVICE_CUDA_MEMORY_CUDA_LASTING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/device.h"

/* Granules of host memory for each chunk: sparse, so unused ones only cost numbers. */
#define LASTING_SPARES_A_CHUNK 15u
/* The part to which the GPU needs access. */
#define LASTING_HEAD_BYTES 4096u

/* States of a chunk's bytes, instead of the number of a clear. */
#define LASTING_OWN 0ull           /* they are those of its present owner */
#define LASTING_FOREIGN UINT64_MAX /* they are those of an earlier owner */

/* Shared with the next process. */
struct lasting_head {
    uint64_t magic, granule, memory_bytes;
    uint64_t asked_bytes; /* dev_config.memory_bytes */
    uint8_t uuid[16];
    uint64_t window;          /* address of the worker's own mappings */
    _Atomic uint64_t cleared; /* this clear and all before it are complete */
};

struct lasting {
    int fd;
    bool old; /* an earlier process made it */
    struct lasting_head *head;
    _Atomic uint64_t *bytes_of; /* for each chunk: LASTING_*, or the number of the clear that makes
                                   it its owner's zeros */
    uint64_t chunk_count, spare_count;
    unsigned char *spares; /* granules */
    uint64_t mapped_bytes;
};

/* Opens an earlier process's file, config->memory_fd, if it belongs to this device;
 * info->memory_bytes becomes its size. Without one it makes a new file. 0, -EINVAL or -errno;
 * cuda_lasting_close follows in any case. */
int cuda_lasting_open(struct lasting *l, const struct dev_config *config, struct dev_info *info);
/* Accepts a struct that is zeroed. */
void cuda_lasting_close(struct lasting *l);

#endif
