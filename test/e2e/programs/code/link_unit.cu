/* SPDX-License-Identifier: Apache-2.0
 * The function and variable that `link` finds in an object and in an archive. */
__device__ int offset = 5;

extern "C" __device__ int twice(int v) {
    return 2 * v + offset;
}
