/* SPDX-License-Identifier: Apache-2.0
 *
 * Decides whether another process can load code again without the job noticing. State that code has
 * for itself ends with the context: writable variables, memory that kernels take with malloc, and
 * functions whose address a kernel may have stored. Data that is never written is the same again if
 * it lies at its old address: constants, and data that compilers make (strings, tables of sine and
 * cosine). In doubt the code cannot be loaded again.
 *
 * Reads hostile bytes, stores none of them. Any thread.
 */
#ifndef DAEMON_DEVICE_CUDA_MODULE_CUDA_AGAIN_H
#define DAEMON_DEVICE_CUDA_MODULE_CUDA_AGAIN_H

#include <stddef.h>
#include <stdint.h>

struct cuda_again {
    char **names; /* variables that must lie at their old addresses */
    uint32_t count;
    char lacks[160]; /* why it is impossible, for people; "": it is possible */
};

/* `capability`: the GPU's, 90 for 9.0. 0 or -ENOMEM; call cuda_again_finish in any case. */
int cuda_again_read(struct cuda_again *a, const void *image, size_t bytes, uint32_t capability);
void cuda_again_finish(struct cuda_again *a);

#endif
