/* SPDX-License-Identifier: Apache-2.0
 *
 * Small calls that belong to no other file: texts of results, and the profiler's switch.
 */
#include "proto/cuda/cuda_result.h"
#include "proto/gen/prototypes.h"
#include "shim/context/ctx.h"

CUresult cuGetErrorName(CUresult error, const char **pStr) {
    const struct cuda_result *found = cuda_result_find((int)error);
    if (!pStr) return CUDA_ERROR_INVALID_VALUE;
    *pStr = found ? found->name : NULL;
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **pStr) {
    const struct cuda_result *found = cuda_result_find((int)error);
    if (!pStr) return CUDA_ERROR_INVALID_VALUE;
    *pStr = found ? found->text : NULL;
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuProfilerStart(void) {
    return ctx_enter();
}

CUresult cuProfilerStop(void) {
    return ctx_enter();
}
