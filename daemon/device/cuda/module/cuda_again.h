/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether code can be loaded again, by another process, without the job's noticing. What it has for
 * itself ends with the context: variables that somebody may write, what kernels take with malloc,
 * and functions whose address one of them may have kept. What is never written is the same again if
 * it lies where it lay: constants, and what compilers make (strings, tables of sine and cosine).
 * In doubt it cannot be loaded again.
 *
 * Reads hostile bytes, keeps nothing of them. Any thread.
 */
#ifndef DAEMON_DEVICE_CUDA_MODULE_CUDA_AGAIN_H
#define DAEMON_DEVICE_CUDA_MODULE_CUDA_AGAIN_H

#include <stddef.h>
#include <stdint.h>

struct cuda_again {
    char **names; /* of variables that have to lie where they lay */
    uint32_t count;
    char lacks[160]; /* why it cannot be, for people; "": it can */
};

/* `capability`: the GPU's, 90 for 9.0. 0 or -ENOMEM; cuda_again_finish follows in any case. */
int cuda_again_read(struct cuda_again *a, const void *image, size_t bytes, uint32_t capability);
void cuda_again_finish(struct cuda_again *a);

#endif
