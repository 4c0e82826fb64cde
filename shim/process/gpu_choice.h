/* SPDX-License-Identifier: Apache-2.0
 *
 * Chooses one of salusd's GPUs for this process, by its environment. SALUS_GPU has a number; else
 * the first GPU of CUDA_VISIBLE_DEVICES's list is taken, since a process has one. A list that hides
 * every GPU hides that of SALUS_GPU too. Has no state; any thread.
 */
#ifndef SHIM_PROCESS_GPU_CHOICE_H
#define SHIM_PROCESS_GPU_CHOICE_H

#include <stdint.h>

#include "shim/process/visible.h"

#define GPU_CHOICE_WHY_BYTES 256

struct gpu_choice {
    uint32_t gpu; /* as in wire_hello: the number plus 1; 0: salusd chooses */
    /* The GPUs in the order in which CUDA_VISIBLE_DEVICES numbers them, up to the chosen one: each
     * entry is salusd's number plus 1. Without a list, and with SALUS_GPU, `count` is 1 and the
     * entry 0. */
    uint32_t count, order[VISIBLE_MAX];
};

/* Makes the choice, asking salusd as far as needed. 0; -EINVAL: SALUS_GPU is no number; -ENODEV: no
 * GPU is visible. Both have the reason in `why`, which is empty when the list hides all GPUs on
 * purpose or Slurm assigned none. Other -errno or ERR_*: salusd cannot be asked. *out is valid
 * after errors too: the GPU of SALUS_GPU, else 0. */
int gpu_choice_make(struct gpu_choice *out, char why[GPU_CHOICE_WHY_BYTES]);

#endif
