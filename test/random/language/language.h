/* SPDX-License-Identifier: Apache-2.0
 *
 * The language of generated programs: CUDA C++ for nvcc, and the same text as plain C++ for the
 * host's compiler, whose results are the reference. Nothing in it may have undefined behaviour.
 */
#ifndef TEST_RANDOM_LANGUAGE_H
#define TEST_RANDOM_LANGUAGE_H

typedef unsigned char u8;
typedef signed char i8;
typedef unsigned short u16;
typedef short i16;
typedef unsigned int u32;
typedef int i32;
typedef unsigned long long u64;
typedef long long i64;
typedef float f32;
typedef double f64;

/* The architecture: 90 for compute_90. Device and host must agree on the instructions that it
 * lacks. The host gets it by -DTARGET. */
#ifdef __CUDACC__
#define TARGET (__CUDA_ARCH__ / 10)
#elif !defined(TARGET)
#define TARGET 90
#endif

#ifdef __CUDACC__
#define EITHER(device, host) (device)
#define HD __host__ __device__
#define NOINLINE __noinline__
#define FORCEINLINE __forceinline__
#define TABLE static __device__ const
#define CONSTANT static __constant__ const
#define SHARED __shared__
#define KERNEL extern "C" __global__ void
extern __shared__ u64 dynamic_shared[];
#else
#define EITHER(device, host) (host)
#define HD
#define NOINLINE __attribute__((noinline))
#define FORCEINLINE inline __attribute__((always_inline))
#define TABLE static const
#define CONSTANT static const
#define SHARED static /* blocks run one after the other */
#define KERNEL static void
#include "test/random/language/model.h"
#endif

/* An argument by value of every kernel, with scalars of other sizes. */
struct mixed {
    u8 a;
    i16 b;
    u32 c;
};

#define PARAMETERS const u32 *in, u64 *out, u64 *acc, u8 pb, u16 ph, mixed pm, u64 salt
#define INPUT_MASK 1023u /* number of input words minus 1 */

#include "test/random/language/intrinsics.h"
#include "test/random/language/memory.h"

/* Included after the definitions that they use. */
#include "test/random/language/arrivals.h"
#include "test/random/language/collectives.h"
#include "test/random/language/matrices.h"

/* Names that every kernel defines: its thread indices, and the lanes of its warp. */
#define IDENTITY                                                                              \
    const u32 threads = blockDim.x * blockDim.y * blockDim.z;                                 \
    const u32 t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);        \
    const u32 blk = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);           \
    const u32 g = blk * threads + t;                                                          \
    const u32 lane = t & 31u;                                                                 \
    const u32 full = threads - (t - lane) >= 32u ? ~0u : (1u << (threads - (t - lane))) - 1u; \
    (void)g, (void)lane, (void)full

#endif
