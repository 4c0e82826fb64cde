/* SPDX-License-Identifier: Apache-2.0
 * Measures the cost of each call that maps physical memory, for chunks of several sizes: as a
 * worker makes them, and as its successor does. */
#include "scripts/device-probes/probe.h"

enum { SIZES = 5, MAX_CHUNKS = 512 };
static const size_t sizes[SIZES] = {2, 16, 32, 64, 256}; /* MiB */

enum step { CREATE, EXPORT, MAP, ACCESS, UNMAP, IMPORT, MAP_AGAIN, ACCESS_ALL, RELEASE, STEPS };
static const char *const steps[STEPS] = {
    "create", "export", "map",          "set_access",
    "unmap",  "import", "map_imported", "set_access_whole_range",
    "release"};

static CUmemGenericAllocationHandle chunks[MAX_CHUNKS], imported[MAX_CHUNKS];
static int fds[MAX_CHUNKS];
static uint64_t took[STEPS];

static CUmemAccessDesc access_to_all(void) {
    CUmemAccessDesc a = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    return a;
}

#define TIMED(step, call)                      \
    do {                                       \
        uint64_t begin_ = probe_now_ns();      \
        TRY(call);                             \
        took[step] += probe_now_ns() - begin_; \
    } while (0)

/* Creates and maps chunk by chunk, with each call timed. */
static void make(CUdeviceptr at, size_t bytes, int n) {
    CUmemAccessDesc all = access_to_all();
    CUmemAllocationProp prop = {0};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    for (int i = 0; i < n; i++) {
        TIMED(CREATE, cu.cuMemCreate(&chunks[i], bytes, &prop, 0));
        TIMED(EXPORT, cu.cuMemExportToShareableHandle(&fds[i], chunks[i],
                                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
        TIMED(MAP, cu.cuMemMap(at + i * bytes, bytes, 0, chunks[i], 0));
        TIMED(ACCESS, cu.cuMemSetAccess(at + i * bytes, bytes, &all, 1));
    }
    TRY(cu.cuMemsetD32_v2(at, 5, n * bytes / 4));
    TRY(cu.cuCtxSynchronize());
    for (int i = 0; i < n; i++)
        TIMED(UNMAP, cu.cuMemUnmap(at + i * bytes, bytes));
}

/* Imports and maps the chunks at the same address and sets access once. Returns false when the
 * contents differ. */
static bool make_again(CUdeviceptr at, size_t bytes, int n) {
    CUmemAccessDesc all = access_to_all();
    uint32_t first = 0, last = 0;
    for (int i = 0; i < n; i++)
        TIMED(IMPORT, cu.cuMemImportFromShareableHandle(&imported[i], (void *)(intptr_t)fds[i],
                                                        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    for (int i = 0; i < n; i++)
        TIMED(MAP_AGAIN, cu.cuMemMap(at + i * bytes, bytes, 0, imported[i], 0));
    TIMED(ACCESS_ALL, cu.cuMemSetAccess(at, n * bytes, &all, 1));
    TRY(cu.cuMemcpyDtoH_v2(&first, at, 4));
    TRY(cu.cuMemcpyDtoH_v2(&last, at + n * bytes - 4, 4));
    for (int i = 0; i < n; i++) {
        TRY(cu.cuMemUnmap(at + i * bytes, bytes));
        TRY(cu.cuMemRelease(imported[i]));
        TIMED(RELEASE, cu.cuMemRelease(chunks[i]));
        close(fds[i]);
    }
    return first == 5 && last == 5;
}

/* Returns the ms per GiB to map everything again; below 0: the contents differ. */
static double one_size(size_t mib, size_t total) {
    size_t bytes = mib << 20;
    int n = total / bytes > MAX_CHUNKS ? MAX_CHUNKS : (int)(total / bytes);
    double gib = n * bytes / 1073741824.0;
    CUdeviceptr at;
    memset(took, 0, sizeof(took));
    TRY(cu.cuMemAddressReserve(&at, n * bytes, 0, 0, 0));
    make(at, bytes, n);
    bool same = make_again(at, bytes, n);
    TRY(cu.cuMemAddressFree(at, n * bytes));
    for (int s = 0; s < STEPS; s++)
        probe_figure(took[s] / 1e3 / (s == ACCESS_ALL ? 1 : n), "us/call", "%s_%zuMiB", steps[s],
                     mib);
    double back = (took[IMPORT] + took[MAP_AGAIN] + took[ACCESS_ALL]) / 1e6 / gib;
    probe_figure((took[CREATE] + took[EXPORT] + took[MAP] + took[ACCESS]) / 1e6 / gib, "ms/GiB",
                 "new_%zuMiB", mib);
    probe_figure(back, "ms/GiB", "mapped_again_%zuMiB", mib);
    return same ? back : -1;
}

/* Checks the rules that a plan of fixed chunks relies on: only whole chunks can be mapped and
 * unmapped. */
static void rules(size_t granule) {
    CUmemGenericAllocationHandle chunk = probe_chunk(2 * granule);
    CUmemAccessDesc all = access_to_all();
    CUdeviceptr at;
    TRY(cu.cuMemAddressReserve(&at, 4 * granule, 0, 0, 0));
    CUresult r = cu.cuMemMap(at, granule, granule, chunk, 0);
    probe_fact("mapping_the_second_half_of_a_chunk", "%s", r ? probe_error(r) : "works");
    if (r == CUDA_SUCCESS) TRY(cu.cuMemUnmap(at, granule));
    r = cu.cuMemMap(at, granule, 0, chunk, 0);
    probe_fact("mapping_the_first_half_of_a_chunk", "%s", r ? probe_error(r) : "works");
    if (r == CUDA_SUCCESS) TRY(cu.cuMemUnmap(at, granule));
    TRY(cu.cuMemMap(at, 2 * granule, 0, chunk, 0));
    r = cu.cuMemMap(at + 2 * granule, 2 * granule, 0, chunk, 0);
    probe_fact("mapping_a_chunk_twice", "%s", r ? probe_error(r) : "works");
    r = cu.cuMemSetAccess(at, granule, &all, 1);
    probe_fact("access_to_half_a_chunk", "%s", r ? probe_error(r) : "works");
    r = cu.cuMemUnmap(at, granule);
    probe_fact("unmapping_half_a_chunk", "%s", r ? probe_error(r) : "works");
}

int main(void) {
    double best = 1e30;
    size_t best_mib = 0, free_bytes, all_bytes;
    probe_begin(
        "map_cost",
        "What do creating, exporting, importing, mapping and unmapping cost, by size of chunk?");
    probe_driver_open();
    TRY(cu.cuMemGetInfo_v2(&free_bytes, &all_bytes));
    size_t total = probe_small() ? 16u << 20 : (size_t)4 << 30;
    if (total > free_bytes / 2) total = free_bytes / 2;
    probe_figure(probe_granule() / 1048576.0, "MiB", "granularity");
    for (int i = 0; i < SIZES; i++) {
        if (sizes[i] << 20 > total) continue;
        double back = one_size(sizes[i], total);
        if (back < 0)
            return probe_end(false, "memory mapped again held something else (%zu MiB)", sizes[i]);
        if (back < best) {
            best = back;
            best_mib = sizes[i];
        }
    }
    rules(probe_granule());
    return probe_end(best_mib > 0, "mapped again in %.3g ms/GiB at best, in chunks of %zu MiB",
                     best, best_mib);
}
