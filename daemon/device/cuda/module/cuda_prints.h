/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether kernels of an image may print, or an assertion of theirs fail: what does is a call of
 * vprintf or __assertfail, which machine code and PTX name. Reads hostile bytes, keeps nothing of
 * them. Any thread.
 */
#ifndef DAEMON_DEVICE_CUDA_MODULE_CUDA_PRINTS_H
#define DAEMON_DEVICE_CUDA_MODULE_CUDA_PRINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `capability`: the GPU's, 90 for 9.0. What cannot be read, or is still to be linked, may do
 * both. */
bool cuda_prints(const void *image, size_t bytes, uint32_t capability, bool *asserts);

#endif
