/* SPDX-License-Identifier: Apache-2.0
 *
 * A launch that goes to the driver in parts of one wave each: as many blocks as the multiprocessors
 * of its queue hold at a time. Between two parts its kernel can be suspended (queue_still).
 *
 * Owner: the operation. Thread: the worker's.
 */
#ifndef DAEMON_DEVICE_CUDA_QUEUE_CUDA_SUBGRID_H
#define DAEMON_DEVICE_CUDA_QUEUE_CUDA_SUBGRID_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/cuda/driver/context.h"
#include "daemon/device/device.h"
#include "daemon/device/subgrid/subgrid_slab.h"

/* How launches are split; from dev_config. */
struct cuda_subgrids {
    bool on;
    uint32_t waves; /* size of a part, in thousandths of a wave */
};

struct cuda_parts {
    bool cut; /* false: it goes as a whole */
    struct subgrid_slabs slabs;
};

/* Splits the launch, if it has more than one part on `sms` multiprocessors. */
void cuda_subgrid_begin(struct cuda_parts *p, const struct cuda_subgrids *how,
                        const struct dev_launch *l, uint32_t sms);
/* True when another part is left. */
bool cuda_subgrid_more(const struct cuda_parts *p);
/* Puts the next part into the stream, which has `sms` multiprocessors; 0: all remaining parts. 0,
 * -errno or ERR_*. */
int cuda_subgrid_next(struct cuda_parts *p, const struct cuda_subgrids *how, CUstream stream,
                      const struct dev_launch *l, uint32_t sms);

#endif
