/* SPDX-License-Identifier: Apache-2.0
 * Managed variables: host and device read and write the same memory, by name. */
#include "common.h"

__managed__ int value = 5;
__managed__ float table[1000];

__global__ void change(int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) table[i] = table[i] * 2 + value;
    if (i == 0) atomicAdd(&value, 1);
}

int main(void) {
    REQUIRE(value == 5, "initial value %d", value);
    for (int i = 0; i < 1000; i++)
        table[i] = i;
    value += 10;
    change<<<1, 1>>>(0); /* writes value 16 before the others read it */
    CHECK(cudaDeviceSynchronize());
    change<<<4, 256>>>(1000);
    CHECK(cudaDeviceSynchronize());
    REQUIRE(value == 17, "value %d", value);
    uint64_t sum = checksum_add(CHECKSUM_START, table, sizeof table);
    for (int i = 32; i < 1000; i++) /* the first warp may have read the value after the addition */
        REQUIRE(table[i] == i * 2 + 16 || table[i] == i * 2 + 17, "table[%d] = %g", i, table[i]);
    checksum_print("managed", checksum_add(CHECKSUM_START, &value, sizeof value));
    return sum == CHECKSUM_START;
}
