/* SPDX-License-Identifier: Apache-2.0
 *
 * The code in an image that the driver would choose among: machine code for the GPU or, where there
 * is none, all else. Reads hostile bytes, keeps nothing of them. Any thread.
 */
#ifndef DAEMON_DEVICE_CUDA_MODULE_CUDA_CODE_H
#define DAEMON_DEVICE_CUDA_MODULE_CUDA_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is asked of each piece, unpacked; NULL: there is one that cannot be read, or is still to be
 * linked. True: that is enough. */
typedef bool (*cuda_code_look)(void *arg, const void *code, size_t bytes);

/* `capability`: the GPU's, 90 for 9.0. Whether one was enough. */
bool cuda_code_any(const void *image, size_t bytes, uint32_t capability, cuda_code_look look,
                   void *arg);

#endif
