/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of salusd's GPUs this process is to have, by its environment: SALUS_GPU says a number;
 * else CUDA_VISIBLE_DEVICES has a list, of which the first GPU is taken, since a process has one.
 * A list that hides every GPU hides that of SALUS_GPU too. Keeps nothing; any thread.
 */
#ifndef SHIM_PROCESS_GPU_CHOICE_H
#define SHIM_PROCESS_GPU_CHOICE_H

#include <stdint.h>

#include "shim/process/visible.h"

#define GPU_CHOICE_WHY_BYTES 256

struct gpu_choice {
    uint32_t gpu; /* as wire_hello has it: the number plus 1; 0: salusd chooses */
    /* The visible GPUs in the order of CUDA_VISIBLE_DEVICES, up to the chosen one. Each entry is
     * salusd's number of the GPU plus 1; the last entry is `gpu`. */
    uint32_t count, order[VISIBLE_MAX];
};

/* Asks salusd as far as it needs to. 0; -EINVAL: SALUS_GPU is no number; -ENODEV: no GPU is
 * visible; both with the reason in `why`, which is empty where that is intended; else -errno or
 * ERR_*: salusd cannot be asked. *out is valid after errors too: SALUS_GPU's, else salusd chooses.
 */
int gpu_choice_make(struct gpu_choice *out, char why[GPU_CHOICE_WHY_BYTES]);

#endif
