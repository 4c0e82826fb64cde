/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds out whether kernels of an image may print, or have assertions that may fail: they call
 * vprintf or __assertfail, which machine code and PTX name. Reads hostile bytes, stores none of
 * them. Any thread.
 */
#ifndef DAEMON_DEVICE_CUDA_MODULE_CUDA_PRINTS_H
#define DAEMON_DEVICE_CUDA_MODULE_CUDA_PRINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `capability`: the GPU's, 90 for 9.0. Code that cannot be read, or is not linked yet, may do both.
 */
bool cuda_prints(const void *image, size_t bytes, uint32_t capability, bool *asserts);

#endif
