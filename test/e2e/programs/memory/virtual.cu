/* SPDX-License-Identifier: Apache-2.0
 * Virtual memory management: reserves addresses, creates memory and maps it there. A program may
 * rely on this: adjacent mappings act as one, memory is visible wherever it is mapped, new memory
 * is zero, errors are CUDA's. Grows and shrinks a range like allocators with expandable segments.
 *   virtual [ROUNDS | touch]      touch: a kernel writes to inaccessible mapped memory */
#include <cuda.h>

#include "common.h"

#define PIECES 8

static size_t granule;
static const CUmemAccessDesc readwrite = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                          CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
static const CUmemAccessDesc nothing = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                        CU_MEM_ACCESS_FLAGS_PROT_NONE};

static void expect(CUresult got, CUresult want, const char *what, int line) {
    REQUIRE(got == want, "line %d: %s gave %d, expected %d", line, what, (int)got, (int)want);
}

#define GIVES(want, call) expect(call, want, #call, __LINE__)
#define WORKS(call) GIVES(CUDA_SUCCESS, call)
#define INVALID(call) GIVES(CUDA_ERROR_INVALID_VALUE, call)

__global__ void fill(uint32_t *p, size_t n, uint32_t seed) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        p[i] = (uint32_t)i * 2654435761u + seed;
}

__global__ void count_other(const uint32_t *p, size_t n, uint32_t seed, bool zeros,
                            unsigned *other) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        if (p[i] != (zeros ? 0 : (uint32_t)i * 2654435761u + seed)) atomicAdd(other, 1u);
}

static unsigned *others;

static void holds(CUdeviceptr at, size_t bytes, uint32_t seed, bool zeros, int line) {
    CHECK(cudaMemset(others, 0, sizeof(*others)));
    count_other<<<16, 128>>>((const uint32_t *)at, bytes / 4, seed, zeros, others);
    unsigned n;
    CHECK(cudaMemcpy(&n, others, sizeof(n), cudaMemcpyDefault));
    REQUIRE(n == 0, "line %d: %u words at %llx differ", line, n, (unsigned long long)at);
}

#define HOLDS(at, bytes, seed) holds(at, bytes, seed, false, __LINE__)
#define IS_ZERO(at, bytes) holds(at, bytes, 0, true, __LINE__)

static CUmemAllocationProp device_prop(void) {
    CUmemAllocationProp prop = {};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    return prop;
}

static CUmemGenericAllocationHandle make(size_t bytes) {
    CUmemAllocationProp prop = device_prop();
    CUmemGenericAllocationHandle h;
    WORKS(cuMemCreate(&h, bytes, &prop, 0));
    return h;
}

/* Maps as allocators do: releases the handle at once, and the mapping keeps the memory. */
static void back(CUdeviceptr at, size_t bytes) {
    CUmemGenericAllocationHandle h = make(bytes);
    WORKS(cuMemMap(at, bytes, 0, h, 0));
    WORKS(cuMemSetAccess(at, bytes, &readwrite, 1));
    WORKS(cuMemRelease(h));
}

/* ---- permitted uses -------------------------------------------------------------------------- */

static void one_range_of_several_pieces(void) {
    size_t bytes = 3 * granule;
    CUdeviceptr at, base;
    size_t size;
    WORKS(cuMemAddressReserve(&at, 4 * granule, 0, 0, 0));
    back(at, granule);
    back(at + granule, 2 * granule);
    IS_ZERO(at, bytes);
    fill<<<16, 128>>>((uint32_t *)at, bytes / 4, 7);
    HOLDS(at, bytes, 7);
    /* Copies and memsets across the border, to the host and back. */
    static uint32_t line[4096];
    CUdeviceptr seam = at + granule - sizeof(line) / 2;
    CHECK(cudaMemcpy(line, (void *)seam, sizeof(line), cudaMemcpyDefault));
    for (size_t i = 0; i < 4096; i++) {
        uint32_t want = (uint32_t)((seam - at) / 4 + i) * 2654435761u + 7;
        REQUIRE(line[i] == want, "word %zu across the seam", i);
    }
    CHECK(cudaMemset((void *)seam, 0, sizeof(line)));
    CHECK(cudaMemcpy((void *)seam, line, sizeof(line), cudaMemcpyDefault));
    HOLDS(at, bytes, 7);
    REQUIRE(cudaMemcpy(line, (void *)(at + bytes - 4), 8, cudaMemcpyDefault) ==
                cudaErrorInvalidValue,
            "a copy beyond what is mapped");
    cudaGetLastError();
    WORKS(cuMemGetAddressRange(&base, &size, at + granule + 12345));
    REQUIRE(base == at + granule && size == 2 * granule, "the range of a mapping");
    struct cudaPointerAttributes attr;
    CHECK(cudaPointerGetAttributes(&attr, (void *)(at + 4096)));
    REQUIRE(attr.type == cudaMemoryTypeDevice && attr.device == 0, "type %d", (int)attr.type);
    INVALID(cuMemUnmap(at, granule / 2));
    INVALID(cuMemUnmap(at + 2 * granule, granule)); /* half of a mapping */
    INVALID(cuMemAddressFree(at, 4 * granule));     /* while something is mapped */
    WORKS(cuMemUnmap(at, bytes));                   /* both at once */
    INVALID(cuMemUnmap(at, bytes));
    INVALID(cuMemAddressFree(at, bytes));
    WORKS(cuMemAddressFree(at, 4 * granule));
    INVALID(cuMemAddressFree(at, 4 * granule));
}

static void one_piece_in_two_places(void) {
    CUdeviceptr at;
    CUmemGenericAllocationHandle h = make(2 * granule), again;
    unsigned long long flags = 99;
    WORKS(cuMemAddressReserve(&at, 8 * granule, 8 * granule, 0, 0));
    REQUIRE(at % (8 * granule) == 0, "the alignment asked for");
    WORKS(cuMemMap(at, 2 * granule, 0, h, 0));
    WORKS(cuMemMap(at + 4 * granule, granule, 0, h, 0));
    WORKS(cuMemGetAccess(&flags, &readwrite.location, at));
    REQUIRE(flags == CU_MEM_ACCESS_FLAGS_PROT_NONE, "access %llu at first", flags);
    REQUIRE(cudaMemset((void *)at, 0, 4) == cudaErrorInvalidValue, "no access, no memset");
    cudaGetLastError();
    WORKS(cuMemSetAccess(at, 2 * granule, &readwrite, 1));
    WORKS(cuMemSetAccess(at + 4 * granule, granule, &readwrite, 1));
    WORKS(cuMemGetAccess(&flags, &readwrite.location, at + granule));
    REQUIRE(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE, "access %llu", flags);
    fill<<<16, 128>>>((uint32_t *)at, 2 * granule / 4, 3);
    HOLDS(at + 4 * granule, granule, 3);
    WORKS(cuMemSetAccess(at, 2 * granule, &nothing, 1));
    fill<<<16, 128>>>((uint32_t *)(at + 4 * granule), granule / 4, 5);
    WORKS(cuMemSetAccess(at, 2 * granule, &readwrite, 1));
    HOLDS(at, granule, 5);
    WORKS(cuMemRetainAllocationHandle(&again, (void *)(at + granule + 5)));
    REQUIRE(again == h, "another handle");
    WORKS(cuMemRelease(h));
    WORKS(cuMemUnmap(at, 2 * granule));
    HOLDS(at + 4 * granule, granule, 5);
    WORKS(cuMemMap(at + granule, 2 * granule, 0, again, 0));
    WORKS(cuMemRelease(again));
    INVALID(cuMemMap(at + 6 * granule, granule, 0, again, 0)); /* no handle is left */
    WORKS(cuMemSetAccess(at + granule, 2 * granule, &readwrite, 1));
    HOLDS(at + granule, granule, 5);
    WORKS(cuMemRetainAllocationHandle(&again, (void *)(at + 4 * granule)));
    WORKS(cuMemRelease(again));
    WORKS(cuMemUnmap(at + granule, 2 * granule));
    WORKS(cuMemUnmap(at + 4 * granule, granule));
    WORKS(cuMemAddressFree(at, 8 * granule));
}

static void errors_are_cudas(void) {
    CUdeviceptr at;
    CUmemAllocationProp prop = device_prop();
    CUmemGenericAllocationHandle h = make(granule), none;
    size_t n, free_before, free_after, total;
    unsigned long long flags;
    WORKS(cuMemGetAllocationGranularity(&n, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    INVALID(cuMemGetAllocationGranularity(&n, NULL, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    INVALID(cuMemAddressReserve(&at, 0, 0, 0, 0));
    INVALID(cuMemAddressReserve(&at, 100, 0, 0, 0));
    INVALID(cuMemAddressReserve(&at, granule, 3 * granule, 0, 0));
    INVALID(cuMemAddressReserve(&at, granule, 0, 0, 1));
    GIVES(CUDA_ERROR_OUT_OF_MEMORY, cuMemAddressReserve(&at, (size_t)1 << 45, 0, 0, 0));
    INVALID(cuMemCreate(&none, granule - 4096, &prop, 0));
    INVALID(cuMemCreate(&none, 0, &prop, 0));
    INVALID(cuMemCreate(&none, granule, NULL, 0));
    INVALID(cuMemCreate(&none, granule, &prop, 1));
    GIVES(CUDA_ERROR_OUT_OF_MEMORY, cuMemCreate(&none, (size_t)1 << 40, &prop, 0));
    prop.location.id = 1;
    GIVES(CUDA_ERROR_INVALID_DEVICE, cuMemCreate(&none, granule, &prop, 0));
    prop.type = CU_MEM_ALLOCATION_TYPE_INVALID;
    INVALID(cuMemCreate(&none, granule, &prop, 0));
    WORKS(cuMemGetAllocationPropertiesFromHandle(&prop, h));
    REQUIRE(prop.type == CU_MEM_ALLOCATION_TYPE_PINNED && prop.location.id == 0, "properties");
    WORKS(cuMemAddressReserve(&at, 2 * granule, 0, 0, 0));
    INVALID(cuMemMap(at, granule, granule, h, 0)); /* the offset must be zero */
    INVALID(cuMemMap(at, granule, 0, h, 1));
    INVALID(cuMemMap(at, 2 * granule, 0, h, 0)); /* longer than the memory */
    INVALID(cuMemMap(at + 4096, granule, 0, h, 0));
    INVALID(cuMemMap(at + 2 * granule, granule, 0, h, 0)); /* not reserved */
    INVALID(cuMemMap(at, granule, 0, h + 1, 0));
    INVALID(cuMemSetAccess(at, granule, &readwrite, 1));
    INVALID(cuMemGetAccess(&flags, &readwrite.location, at));
    INVALID(cuMemRetainAllocationHandle(&none, (void *)at));
    WORKS(cuMemMap(at, granule, 0, h, 0));
    INVALID(cuMemMap(at, granule, 0, h, 0)); /* something is mapped there */
    INVALID(cuMemSetAccess(at, 2 * granule, &readwrite, 1));
    INVALID(cuMemExportToShareableHandle(&n, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    WORKS(cuMemUnmap(at, granule));
    WORKS(cuMemAddressFree(at, 2 * granule));
    WORKS(cuMemGetInfo(&free_before, &total));
    WORKS(cuMemRelease(h));
    INVALID(cuMemRelease(h));
    WORKS(cuMemGetInfo(&free_after, &total));
    REQUIRE(free_after == free_before + granule, "what was given back is free");
}

/* Grows by a piece, shrinks by some from anywhere, moves as needed: the sum is that of a model on
 * the host. */
static uint64_t expands(int rounds) {
    uint32_t random = 1, seeds[PIECES] = {0};
    bool backed[PIECES] = {false};
    uint64_t sum = CHECKSUM_START;
    CUdeviceptr at;
    WORKS(cuMemAddressReserve(&at, PIECES * granule, 0, 0, 0));
    for (int i = 0; i < rounds; i++) {
        mark();
        uint32_t piece = random_next(&random) % PIECES;
        CUdeviceptr p = at + piece * granule;
        if (backed[piece] && random_next(&random) % 2) {
            HOLDS(p, granule, seeds[piece]);
            WORKS(cuMemUnmap(p, granule)); /* while the kernel above may still run */
            backed[piece] = false;
            continue;
        }
        if (!backed[piece]) {
            back(p, granule);
            IS_ZERO(p, granule);
        }
        backed[piece] = true;
        seeds[piece] = random_next(&random);
        fill<<<16, 128>>>((uint32_t *)p, granule / 4, seeds[piece]);
        if (piece && backed[piece - 1]) HOLDS(p - granule, granule, seeds[piece - 1]);
    }
    for (uint32_t piece = 0; piece < PIECES; piece++) {
        if (!backed[piece]) continue;
        static uint32_t words[1024];
        HOLDS(at + piece * granule, granule, seeds[piece]);
        CHECK(cudaMemcpy(words, (void *)(at + piece * granule), sizeof(words), cudaMemcpyDefault));
        sum = checksum_add(sum, words, sizeof(words));
        WORKS(cuMemUnmap(at + piece * granule, granule));
    }
    WORKS(cuMemAddressFree(at, PIECES * granule));
    return sum;
}

static int touch(void) {
    CUdeviceptr at;
    CUmemGenericAllocationHandle h = make(granule);
    WORKS(cuMemAddressReserve(&at, granule, 0, 0, 0));
    WORKS(cuMemMap(at, granule, 0, h, 0));
    fill<<<1, 1>>>((uint32_t *)at, 1, 1);
    return cudaDeviceSynchronize() == cudaErrorIllegalAddress ? 0 : 1;
}

int main(int argc, char **argv) {
    CUmemAllocationProp prop = device_prop();
    int supported = 0;
    CHECK(cudaMalloc(&others, sizeof(*others)));
    WORKS(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED,
                               0));
    REQUIRE(supported, "virtual memory management is not supported");
    WORKS(cuMemGetAllocationGranularity(&granule, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    if (argc > 1 && strcmp(argv[1], "touch") == 0) return touch();
    one_range_of_several_pieces();
    one_piece_in_two_places();
    errors_are_cudas();
    checksum_print("virtual", expands(rounds_arg(argc, argv, 60)));
    return 0;
}
