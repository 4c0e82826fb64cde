// SPDX-License-Identifier: Apache-2.0
// Half precision and packed types.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__global__ void half_math(const __half2 *a, __half2 *b, __nv_bfloat16 *c, float *f) {
    int i = threadIdx.x;
    __half2 x = __hfma2(a[i], b[i], a[i + 1]);
    b[i] = __hmax2(x, __float2half2_rn(f[i]));
    c[i] = __float2bfloat16(f[i]) * c[i + 1];
    f[i] = __low2float(x) + __bfloat162float(c[i]);
    atomicAdd(b + 1, x);
}
