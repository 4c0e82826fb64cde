/* SPDX-License-Identifier: Apache-2.0
 * Tiles of matrices by tensor maps: a transposition through swizzled shared memory with tiles that
 * extend beyond the matrix, sums that are added to existing values, refused maps; and a convolution
 * of images with a border, whose columns are copied (im2col).
 */
#include <cuda.h>
#include <cuda/barrier>
#include <cuda/ptx>

#include "common.h"

namespace ptx = cuda::ptx;

#define TILE 32
#define ROWS 100
#define COLS 72

typedef CUresult encode_fn(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *,
                           const cuuint64_t *, const cuuint64_t *, const cuuint32_t *,
                           const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
                           CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

static encode_fn *encode;

static CUresult map_of(CUtensorMap *map, float *matrix, int rows, int cols, int pitch,
                       CUtensorMapSwizzle swizzle, int width) {
    cuuint64_t size[2] = {(cuuint64_t)cols, (cuuint64_t)rows}, stride[1] = {pitch * sizeof(float)};
    cuuint32_t box[2] = {(cuuint32_t)width, TILE}, step[2] = {1, 1};
    return encode(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, matrix, size, stride, box, step,
                  CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

/* Returns column c of row r in a tile of 128 bytes per row: swizzling permutes the 16-byte chunks
 * of a row, depending on r. */
static __device__ float *swizzled(float *tile, int r, int c) {
    return tile + r * TILE + ((c / 4 ^ r % 8) * 4 + c % 4);
}

__global__ void transpose(const __grid_constant__ CUtensorMap from,
                          const __grid_constant__ CUtensorMap to, bool add) {
    __shared__ alignas(1024) float in[TILE * TILE];
    __shared__ alignas(128) float out[TILE * TILE];
    __shared__ uint64_t bar;
    const int x = blockIdx.x * TILE, y = blockIdx.y * TILE;
    if (!threadIdx.x) {
        ptx::mbarrier_init(&bar, 1);
        const int32_t at[2] = {x, y};
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, in, &from, at, &bar);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar,
                                       sizeof in);
    }
    __syncthreads();
    while (!ptx::mbarrier_try_wait_parity(&bar, 0))
        continue;
    for (int k = threadIdx.x; k < TILE * TILE; k += blockDim.x)
        out[k] = *swizzled(in, k % TILE, k / TILE);
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x) return;
    const int32_t at[2] = {y, x};
    if (add)
        ptx::cp_reduce_async_bulk_tensor(ptx::space_global, ptx::space_shared, ptx::op_add, &to, at,
                                         out);
    else
        ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &to, at, out);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
}

/* Rows are some columns longer than the map declares. */
#define PITCH(cols) ((cols) + 8)

static uint64_t try_transpose(uint64_t sum) {
    static float a[ROWS * PITCH(COLS)], b[COLS * PITCH(ROWS)];
    uint32_t seed = 7;
    float *from, *to;
    CUtensorMap map[2];
    for (size_t k = 0; k < ROWS * PITCH(COLS); k++)
        a[k] = random_unit(&seed);
    CHECK(cudaMalloc(&from, sizeof a));
    CHECK(cudaMalloc(&to, sizeof b));
    CHECK(cudaMemcpy(from, a, sizeof a, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(to, 0, sizeof b));
    REQUIRE(!map_of(&map[0], from, ROWS, COLS, PITCH(COLS), CU_TENSOR_MAP_SWIZZLE_128B, TILE) &&
                !map_of(&map[1], to, COLS, ROWS, PITCH(ROWS), CU_TENSOR_MAP_SWIZZLE_NONE, TILE),
            "no map");
    dim3 grid((COLS + TILE - 1) / TILE, (ROWS + TILE - 1) / TILE);
    for (int add = 0; add < 2; add++)
        transpose<<<grid, 64>>>(map[0], map[1], add);
    CHECK(cudaMemcpy(b, to, sizeof b, cudaMemcpyDeviceToHost));
    for (int r = 0; r < COLS; r++)
        for (int c = 0; c < PITCH(ROWS); c++) {
            float want = c < ROWS ? 2 * a[c * PITCH(COLS) + r] : 0;
            REQUIRE(b[r * PITCH(ROWS) + c] == want, "%d, %d: %g, not %g", r, c,
                    b[r * PITCH(ROWS) + c], want);
        }
    CHECK(cudaFree(from));
    CHECK(cudaFree(to));
    return checksum_add(sum, b, sizeof b);
}

/* ---- columns ----------------------------------------------------------------------------------
 */

#define IMAGES 2
#define HIGH 6
#define WIDE 7
#define CHANNELS 16
#define PIXELS 32 /* pixels of all images */
#define ALL (IMAGES * HIGH * WIDE)

typedef CUresult encode_columns_fn(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *,
                                   const cuuint64_t *, const cuuint64_t *, const int *, const int *,
                                   cuuint32_t, cuuint32_t, const cuuint32_t *,
                                   CUtensorMapInterleave, CUtensorMapSwizzle,
                                   CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

/* Adds the pixels under one place of the 3 by 3 filter after the other; the first is the upper
 * left. */
__global__ void convolve(const __grid_constant__ CUtensorMap images, const float *filter,
                         float *out) {
    __shared__ alignas(128) float columns[PIXELS * CHANNELS];
    __shared__ uint64_t bar;
    const int first = blockIdx.x * PIXELS, x = first % WIDE - 1, y = first / WIDE % HIGH - 1;
    float sum = 0;
    if (!threadIdx.x) ptx::mbarrier_init(&bar, 1);
    __syncthreads();
    for (int tap = 0; tap < 9; tap++) {
        if (!threadIdx.x) {
            asm volatile(
                "cp.async.bulk.tensor.4d.shared::cluster.global.im2col"
                ".mbarrier::complete_tx::bytes [%0],[%1,{%2,%3,%4,%5}],[%6],{%7,%8};" ::"r"(
                    (unsigned)__cvta_generic_to_shared(columns)),
                "l"(&images), "r"(0), "r"(x), "r"(y), "r"(first / (WIDE * HIGH)),
                "r"((unsigned)__cvta_generic_to_shared(&bar)), "h"((short)(tap % 3)),
                "h"((short)(tap / 3))
                : "memory");
            ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared,
                                           &bar, sizeof columns);
        }
        while (!ptx::mbarrier_try_wait_parity(&bar, tap & 1))
            continue;
        for (int c = 0; c < CHANNELS; c++)
            sum += filter[tap * CHANNELS + c] * columns[threadIdx.x * CHANNELS + c];
        __syncthreads();
    }
    out[first + threadIdx.x] = sum;
}

static CUresult columns_of(CUtensorMap *map, float *images, cuuint32_t pixels) {
    cudaDriverEntryPointQueryResult found;
    encode_columns_fn *encode_columns;
    CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeIm2col", (void **)&encode_columns,
                                           12000, cudaEnableDefault, &found));
    REQUIRE(found == cudaDriverEntryPointSuccess, "no entry point");
    cuuint64_t size[4] = {CHANNELS, WIDE, HIGH, IMAGES};
    cuuint64_t stride[3] = {CHANNELS * 4, CHANNELS * 4 * WIDE, CHANNELS * 4 * WIDE * HIGH};
    int lower[2] = {-1, -1}, upper[2] = {-1, -1};
    cuuint32_t step[4] = {1, 1, 1, 1};
    return encode_columns(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, images, size, stride, lower,
                          upper, CHANNELS, pixels, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
                          CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                          CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

static float pixel_of(const float *images, const float *filter, int image, int y, int x) {
    float sum = 0;
    for (int tap = 0; tap < 9; tap++) {
        int v = y + tap / 3 - 1, u = x + tap % 3 - 1;
        for (int c = 0; v >= 0 && v < HIGH && u >= 0 && u < WIDE && c < CHANNELS; c++)
            sum +=
                filter[tap * CHANNELS + c] * images[((image * HIGH + v) * WIDE + u) * CHANNELS + c];
    }
    return sum;
}

/* All numbers are small integers, so that the sums are exact. */
static uint64_t try_convolution(uint64_t sum) {
    const int blocks = (ALL + PIXELS - 1) / PIXELS;
    static float images[ALL * CHANNELS], filter[9 * CHANNELS], out[ALL + PIXELS];
    uint32_t seed = 11;
    float *from, *by, *to;
    CUtensorMap map;
    for (float &v : images)
        v = (float)(random_next(&seed) % 9) - 4;
    for (float &v : filter)
        v = (float)(random_next(&seed) % 9) - 4;
    CHECK(cudaMalloc(&from, sizeof images));
    CHECK(cudaMalloc(&by, sizeof filter));
    CHECK(cudaMalloc(&to, sizeof out));
    CHECK(cudaMemcpy(from, images, sizeof images, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(by, filter, sizeof filter, cudaMemcpyHostToDevice));
    REQUIRE(columns_of(&map, from, 0) == CUDA_ERROR_INVALID_VALUE, "columns of no pixels");
    REQUIRE(columns_of(&map, from, PIXELS) == CUDA_SUCCESS, "no map of columns");
    convolve<<<blocks, PIXELS>>>(map, by, to);
    CHECK(cudaMemcpy(out, to, blocks * PIXELS * sizeof(float), cudaMemcpyDeviceToHost));
    for (int k = 0; k < blocks * PIXELS; k++) {
        float want = k < ALL
                         ? pixel_of(images, filter, k / (WIDE * HIGH), k / WIDE % HIGH, k % WIDE)
                         : 0; /* after the last image */
        REQUIRE(out[k] == want, "pixel %d: %g, not %g", k, out[k], want);
    }
    CHECK(cudaFree(from));
    CHECK(cudaFree(by));
    CHECK(cudaFree(to));
    return checksum_add(sum, out, ALL * sizeof(float));
}

/* ---- refused maps
 * ----------------------------------------------------------------------------- */

static void try_refused(void) {
    alignas(64) static char room[sizeof(CUtensorMap) + 64];
    float *p = (float *)room;
    CUtensorMap map;
    REQUIRE(map_of(&map, p, 8, 8, 8, CU_TENSOR_MAP_SWIZZLE_NONE, 8) == CUDA_SUCCESS, "a map");
    REQUIRE(map_of((CUtensorMap *)(room + 32), p, 8, 8, 8, CU_TENSOR_MAP_SWIZZLE_NONE, 8) ==
                CUDA_ERROR_INVALID_VALUE,
            "a map at 32");
    REQUIRE(map_of(&map, p + 1, 8, 8, 8, CU_TENSOR_MAP_SWIZZLE_NONE, 8) == CUDA_ERROR_INVALID_VALUE,
            "an address");
    REQUIRE(map_of(&map, p, 8, 8, 9, CU_TENSOR_MAP_SWIZZLE_NONE, 8) == CUDA_ERROR_INVALID_VALUE,
            "a stride");
    REQUIRE(map_of(&map, p, 8, 0, 8, CU_TENSOR_MAP_SWIZZLE_NONE, 8) == CUDA_ERROR_INVALID_VALUE,
            "no columns");
    REQUIRE(map_of(&map, p, 8, 8, 8, CU_TENSOR_MAP_SWIZZLE_NONE, 257) == CUDA_ERROR_INVALID_VALUE,
            "a large box");
    REQUIRE(map_of(&map, p, 8, 8, 8, CU_TENSOR_MAP_SWIZZLE_32B, 16) == CUDA_ERROR_INVALID_VALUE,
            "a box wider than its swizzle");
    REQUIRE(map_of(&map, p, 8, 8, 8, CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B, 8) ==
                CUDA_ERROR_NOT_SUPPORTED,
            "a swizzle of 64 bytes");
}

int main(void) {
    cudaDriverEntryPointQueryResult found;
    int supported = 0;
    CHECK(cudaFree(0));
    CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", (void **)&encode, 12000,
                                           cudaEnableDefault, &found));
    REQUIRE(found == cudaDriverEntryPointSuccess, "no entry point");
    CHECK(cudaDeviceGetAttribute(
        &supported, (cudaDeviceAttr)CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED, 0));
    REQUIRE(supported == 1, "not supported");
    uint64_t sum = try_convolution(try_transpose(CHECKSUM_START));
    try_refused();
    checksum_print("tiles", sum);
    CHECK(cudaDeviceReset());
    return 0;
}
