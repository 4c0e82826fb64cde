// SPDX-License-Identifier: Apache-2.0
// Variables: constants, initialisers of many types, addresses, managed memory, arrays of arrays.
struct Row {
    char tag;
    short small[3];
    double value;
    const int *where;
};

__constant__ float weights[2][3] = {{1.0f, 2.0f, 3.5f}, {-1.0f, 0.0f, 1e-30f}};
__device__ int counter = -7;
__device__ double pi = 3.141592653589793;
__device__ Row rows[2] = {{'a', {1, 2, -3}, 0.5, &counter}, {'b', {4, 5, 6}, 0.25, nullptr}};
__device__ const char *texts[2] = {"one", "two"};
__device__ float4 quad = {1, 2, 3, 4};
__managed__ unsigned shared_with_host = 0xdeadbeef;
__device__ unsigned char zeros[1000];

__global__ void read(double *out, int i) {
    __shared__ int scratch[4][8];
    float local[16];
    for (int k = 0; k < 16; k++)
        local[k] = weights[i & 1][k % 3];
    scratch[i & 3][i & 7] = counter;
    __syncthreads();
    out[0] = pi + rows[i & 1].value + texts[i & 1][0] + quad.y + local[i & 15];
    out[1] = *rows[0].where + shared_with_host + zeros[i] + scratch[0][i & 7];
}
