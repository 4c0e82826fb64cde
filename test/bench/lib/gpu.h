/* SPDX-License-Identifier: Apache-2.0
 *
 * The start of a CUDA program, for the benches that run under a daemon: context, two kernels from
 * PTX, and a check that ends the program with the call's name when a call fails.
 */
#ifndef TEST_BENCH_GPU_H
#define TEST_BENCH_GPU_H

#include "proto/cuda/cuda_abi.h"
#include "proto/gen/prototypes.h"

#define GPU(call) gpu_check((call), #call)
void gpu_check(CUresult result, const char *call);

struct gpu {
    CUcontext context;
    CUfunction null8; /* takes eight parameters (4 pointers, 4 ints: 48 bytes), does nothing */
    /* (uint32 *count, uint32 n): each thread loops n times, then adds 1 to *count */
    CUfunction turns;
};

void gpu_start(struct gpu *g);

/* Eight parameters of null8. */
extern void *gpu_null8_params[8];

#endif
