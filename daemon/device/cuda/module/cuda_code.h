/* SPDX-License-Identifier: Apache-2.0
 *
 * The pieces of code in an image among which the driver would choose: machine code for the GPU or,
 * where there is none, all others. Reads hostile bytes, stores none of them. Any thread.
 */
#ifndef DAEMON_DEVICE_CUDA_MODULE_CUDA_CODE_H
#define DAEMON_DEVICE_CUDA_MODULE_CUDA_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Called for each piece, unpacked; NULL: a piece cannot be read, or is not linked yet. True: no
 * further piece is needed. */
typedef bool (*cuda_code_look)(void *arg, const void *code, size_t bytes);

/* `capability`: the GPU's, 90 for 9.0. Returns true if `look` did. */
bool cuda_code_any(const void *image, size_t bytes, uint32_t capability, cuda_code_look look,
                   void *arg);

#endif
