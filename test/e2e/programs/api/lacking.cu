/* SPDX-License-Identifier: Apache-2.0
 * Makes unsupported calls, each twice: an entry point through the runtime, and a slot of a
 * private table. Every call returns "not supported", and the program continues. */
#include "common.h"

#define SLOT 11

typedef cudaError_t (*export_table)(void ***table, const unsigned char *uuid);

static const unsigned char uuid[16] = {0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
                                       0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9};

__global__ void seven(int *p) {
    *p = 7;
}

static void expect(int got, const char *what) {
    REQUIRE(got == cudaErrorNotSupported, "%s gave %d", what, got);
}

int main(void) {
    void *entry;
    void **table;
    cudaExternalMemoryHandleDesc memory_desc = {};
    cudaExternalMemory_t memory;
    cudaExternalSemaphoreHandleDesc semaphore_desc = {};
    cudaExternalSemaphore_t semaphore;
    cudaDriverEntryPointQueryResult found;
    int *p, v = 0;
    memory_desc.type = cudaExternalMemoryHandleTypeOpaqueFd;
    memory_desc.size = 4096;
    semaphore_desc.type = cudaExternalSemaphoreHandleTypeOpaqueFd;
    CHECK(cudaMalloc(&p, sizeof(*p)));
    CHECK(cudaGetDriverEntryPointByVersion("cuGetExportTable", &entry, 13000, cudaEnableDefault,
                                           &found));
    REQUIRE(((export_table)entry)(&table, uuid) == 0, "the table is not there");
    for (int i = 0; i < 2; i++) {
        expect(cudaImportExternalMemory(&memory, &memory_desc), "external memory");
        expect(cudaImportExternalSemaphore(&semaphore, &semaphore_desc), "an external semaphore");
        expect(((int (*)(void))table[SLOT])(), "the slot");
        (void)cudaGetLastError();
    }
    seven<<<1, 1>>>(p);
    CHECK(cudaMemcpy(&v, p, sizeof(v), cudaMemcpyDeviceToHost));
    REQUIRE(v == 7, "%d, expected 7", v);
    printf("lives\n");
    return 0;
}
