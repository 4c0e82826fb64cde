/* SPDX-License-Identifier: Apache-2.0
 *
 * How much device memory the program is told to be free: what it can have beside the other jobs and
 * within its user's limit. The number is steady. While the program holds memory it falls when
 * others take some, and does not grow when they give some back: programs that take their measure by
 * two looks (vLLM) do not see their neighbours come and go. It follows the device again when the
 * program holds none, when it was refused some, or when it has more than it was told of
 * (docs/adr/0030-what-a-job-can-have.md). Any thread.
 */
#ifndef SHIM_MEMORY_HEADROOM_H
#define SHIM_MEMORY_HEADROOM_H

#include <stdint.h>

#include "proto/cuda/cuda_abi.h"

/* Waits while the job waits for admission: before that nobody knows. */
CUresult headroom_look(uint64_t *free_bytes);

#endif
