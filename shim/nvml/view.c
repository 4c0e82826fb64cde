/* SPDX-License-Identifier: Apache-2.0
 *
 * A list in CUDA_VISIBLE_DEVICES that hides every GPU changes nothing, because NVML ignores it.
 */
#include "shim/nvml/view.h"

#include <errno.h>

#include "common/err.h"
#include "shim/process/gpu_choice.h"
#include "shim/process/question.h"

static nvml_result result_of(int err) {
    switch (err) {
    case 0: return NVML_SUCCESS;
    case -ENOENT:
    case -ENOTDIR:
    case -ECONNREFUSED:
    case ERR_BROKER_LOST: return NVML_ERROR_DRIVER_NOT_LOADED;
    case -ENODEV: return NVML_ERROR_NOT_FOUND; /* SALUS_GPU names no GPU */
    case ERR_WORKER_LOST: return NVML_ERROR_GPU_IS_LOST;
    case ERR_VERSION: return NVML_ERROR_LIB_RM_VERSION_MISMATCH;
    case -EACCES:
    case -EPERM: return NVML_ERROR_NO_PERMISSION;
    case -EAGAIN:
    case -ETIMEDOUT: return NVML_ERROR_TIMEOUT;
    case -ENOMEM: return NVML_ERROR_MEMORY;
    case -EMFILE:
    case -ENFILE:
    case -EBUSY: return NVML_ERROR_INSUFFICIENT_RESOURCES;
    default: return NVML_ERROR_UNKNOWN;
    }
}

/* Returns the GPU at this index in the form of a query; 0: the GPU of this process's job, else the
 * first. */
static int find_gpu(unsigned int index, uint32_t *gpu) {
    char why[GPU_CHOICE_WHY_BYTES];
    struct gpu_choice choice;
    int err = gpu_choice_make(&choice, why);

    *gpu = index < choice.count ? choice.order[index] : index + 1;
    if (index == choice.count - 1) *gpu = choice.gpu;
    return err == -EINVAL ? -ENODEV : 0;
}

nvml_result view_ask(unsigned int index, struct wire_view *out) {
    uint32_t gpu;
    int err = find_gpu(index, &gpu);

    return result_of(err ? err : question_ask(gpu, out));
}

unsigned int view_count(void) {
    char why[GPU_CHOICE_WHY_BYTES];
    struct gpu_choice choice;

    gpu_choice_make(&choice, why);
    return choice.count;
}
