/* SPDX-License-Identifier: Apache-2.0
 *
 * The free device memory that the program is told: what it can allocate next to the other jobs and
 * within its user's limit. The number is steady. While the program holds memory, it falls when
 * other jobs allocate, and does not grow when they free: programs that measure by two calls (vLLM)
 * do not see their neighbours. It follows the device again when the program holds no memory, was
 * refused some, or has more than it was told (docs/adr/0030-what-a-job-can-have.md). Any thread.
 */
#ifndef SHIM_MEMORY_HEADROOM_H
#define SHIM_MEMORY_HEADROOM_H

#include <stdint.h>

#include "proto/cuda/cuda_abi.h"

/* Returns 0 with the number of bytes, or the sticky error. Waits while the job waits for admission,
 * because the number is unknown before. */
CUresult headroom_look(uint64_t *free_bytes);

#endif
