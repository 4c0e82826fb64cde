/* SPDX-License-Identifier: Apache-2.0
 *
 * A launch that goes to the driver in parts, of one wave each: as many blocks as the
 * multiprocessors of its queue hold at a time. Between two of them its kernel can stand still
 * (queue_still).
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

/* How launches are cut; as dev_config has it. */
struct cuda_subgrids {
    bool on;
    uint32_t waves; /* thousandths of a wave that a part has */
};

struct cuda_parts {
    bool cut; /* false: it goes as a whole */
    struct subgrid_slabs slabs;
};

/* Cut, if on so many multiprocessors it has more than one part. */
void cuda_subgrid_begin(struct cuda_parts *p, const struct cuda_subgrids *how,
                        const struct dev_launch *l, uint32_t sms);
/* There is another part of it. */
bool cuda_subgrid_more(const struct cuda_parts *p);
/* Puts the next part into the stream, which has so many multiprocessors; 0: all that is left. 0,
 * -errno or ERR_*. */
int cuda_subgrid_next(struct cuda_parts *p, const struct cuda_subgrids *how, CUstream stream,
                      const struct dev_launch *l, uint32_t sms);

#endif
