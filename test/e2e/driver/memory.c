/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory as a worker keeps it: chunks of a granule each, all with descriptors, mapped in address
 * ranges that are reserved once, by several threads of one context.
 */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test/e2e/driver/driver.h"

#define CHUNKS 600
#define RANGES 8
#define RANGE_BYTES (8ull << 30)
#define THREADS 4
#define EACH 32 /* granules per thread */

struct chunk {
    CUmemGenericAllocationHandle handle;
    int fd;
};

static size_t granule;
static struct chunk chunks[CHUNKS];
static CUdeviceptr ranges[RANGES];

static const CUmemAllocationProp device_memory = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                  .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                                  .requestedHandleTypes =
                                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR};
static const CUmemAccessDesc readwrite = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                          CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

static void make_chunks(void) {
    unsigned long long begin = driver_now();
    for (int i = 0; i < CHUNKS; i++)
        WORKS(cu.MemCreate(&chunks[i].handle, granule, &device_memory, 0));
    driver_took("cuMemCreate", CHUNKS, begin);
    begin = driver_now();
    for (int i = 0; i < CHUNKS; i++)
        WORKS(cu.MemExportToShareableHandle(&chunks[i].fd, chunks[i].handle,
                                            CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    driver_took("cuMemExportToShareableHandle", CHUNKS, begin);
}

/* The descriptor keeps the memory after the handle that made it is released. */
static void import_again(void) {
    unsigned long long begin = driver_now();
    for (int i = 0; i < CHUNKS; i++) {
        CUmemGenericAllocationHandle again;
        WORKS(cu.MemImportFromShareableHandle(&again, (void *)(intptr_t)chunks[i].fd,
                                              CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
        WORKS(cu.MemRelease(chunks[i].handle));
        chunks[i].handle = again;
    }
    driver_took("import and release", CHUNKS, begin);
}

/* Reserves each range directly after the one before, as requested. */
static void reserve(void) {
    CUdeviceptr want = 0, taken;
    for (int i = 0; i < RANGES; i++) {
        WORKS(cu.MemAddressReserve(&ranges[i], RANGE_BYTES, granule, want, 0));
        if (want) REQUIRE(ranges[i] == want);
        if (!want) {
            /* The driver places the first; the rest go where there is room for all of them. */
            WORKS(cu.MemAddressFree(ranges[0], RANGE_BYTES));
            want = ranges[0] - (RANGES - 1) * RANGE_BYTES;
            WORKS(cu.MemAddressReserve(&ranges[0], RANGE_BYTES, granule, want, 0));
            REQUIRE(ranges[0] == want);
        }
        want = ranges[i] + RANGE_BYTES;
    }
    /* The driver takes a used address only for a hint. */
    WORKS(cu.MemAddressReserve(&taken, granule, 0, ranges[1], 0));
    REQUIRE(taken != ranges[1]);
    WORKS(cu.MemAddressFree(taken, granule));
}

/* Returns places spread over the ranges. */
static CUdeviceptr place(unsigned i) {
    return ranges[i % RANGES] + (i * 37 % (RANGE_BYTES / granule)) * granule;
}

static void show(CUdeviceptr at, int chunk) {
    WORKS(cu.MemMap(at, granule, 0, chunks[chunk].handle, 0));
    WORKS(cu.MemSetAccess(at, granule, &readwrite, 1));
}

static void map_each(void) {
    unsigned long long begin = driver_now();
    for (unsigned i = 0; i < CHUNKS; i++)
        WORKS(cu.MemMap(place(i), granule, 0, chunks[i].handle, 0));
    driver_took("cuMemMap", CHUNKS, begin);
    begin = driver_now();
    for (unsigned i = 0; i < CHUNKS; i++)
        WORKS(cu.MemSetAccess(place(i), granule, &readwrite, 1));
    WORKS(cu.CtxSynchronize());
    driver_took("cuMemSetAccess", CHUNKS, begin);
    for (unsigned i = 0; i < CHUNKS; i++)
        driver_fill_words(place(i), 512, i, CU_STREAM_LEGACY);
    for (unsigned i = 0; i < CHUNKS; i += 13)
        driver_check_words(place(i), 512, i, "a chunk at its place");
}

static void unmap_each(void) {
    unsigned long long begin = driver_now();
    for (unsigned i = 0; i < CHUNKS; i++)
        WORKS(cu.MemUnmap(place(i), granule));
    WORKS(cu.CtxSynchronize());
    driver_took("cuMemUnmap", CHUNKS, begin);
}

/* One chunk at three addresses: kernels and copies see the same memory through each. */
static void alias(void) {
    const unsigned words = 4096;
    CUdeviceptr a = ranges[0], b = ranges[3] + 5 * granule, c = ranges[7] + 100 * granule;
    CUdeviceptr other = ranges[2];
    show(a, 0);
    show(b, 0);
    show(c, 0);
    show(other, 1);
    driver_fill_words(a, words, 11, CU_STREAM_LEGACY);
    driver_check_words(b, words, 11, "by its second address");
    driver_fill_words(other, words, 12, CU_STREAM_LEGACY);
    WORKS(cu.MemcpyDtoDAsync(b, other, words * 4, CU_STREAM_LEGACY));
    driver_check_words(c, words, 12, "by its third");
    WORKS(cu.MemUnmap(b, granule));
    driver_check_words(a, words, 12, "by what is left");
    WORKS(cu.MemUnmap(a, granule));
    WORKS(cu.MemUnmap(c, granule));
    WORKS(cu.MemUnmap(other, granule));
    show(ranges[4], 0);
    driver_check_words(ranges[4], words, 12, "where it is shown again");
    WORKS(cu.MemUnmap(ranges[4], granule));
}

/* ---- fills and copies ------------------------------------------------------------------------ */

#define ROW 256u
#define ROWS 64u
#define PITCH 1024u
#define SLICES 4u

static unsigned char *pinned;

static void fills(CUdeviceptr at) {
    CUstream s = CU_STREAM_LEGACY;
    WORKS(cu.MemsetD8Async(at, 0x5a, 3, s));
    WORKS(cu.MemsetD16Async(at + 4, 0x1234, 2, s));
    WORKS(cu.MemsetD32Async(at + 8, 0xdeadbeef, 2, s));
    WORKS(cu.MemsetD2D32Async(at + 64, 64, 7, 3, 2, s));
    WORKS(cu.MemcpyDtoHAsync(pinned, at, 256, s));
    WORKS(cu.StreamSynchronize(s));
    const unsigned *w = (const unsigned *)pinned;
    REQUIRE(pinned[0] == 0x5a && pinned[2] == 0x5a && w[1] == 0x12341234);
    REQUIRE(w[2] == 0xdeadbeef && w[3] == 0xdeadbeef);
    REQUIRE(w[16] == 7 && w[18] == 7 && w[32] == 7 && w[34] == 7);
}

static void copy_plane(CUdeviceptr at) {
    CUDA_MEMCPY2D in = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = pinned,
                        .srcPitch = ROW,
                        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                        .dstDevice = at,
                        .dstXInBytes = 16,
                        .dstY = 2,
                        .dstPitch = PITCH,
                        .WidthInBytes = ROW,
                        .Height = ROWS};
    CUDA_MEMCPY2D out = {.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                         .srcDevice = at + 2 * PITCH + 16,
                         .srcPitch = PITCH,
                         .dstMemoryType = CU_MEMORYTYPE_HOST,
                         .dstHost = pinned + ROW * ROWS,
                         .dstPitch = ROW,
                         .WidthInBytes = ROW,
                         .Height = ROWS};
    WORKS(cu.Memcpy2DAsync(&in, CU_STREAM_LEGACY));
    WORKS(cu.Memcpy2DAsync(&out, CU_STREAM_LEGACY));
    WORKS(cu.StreamSynchronize(CU_STREAM_LEGACY));
    REQUIRE(memcmp(pinned, pinned + ROW * ROWS, ROW * ROWS) == 0);
}

static void copy_box(CUdeviceptr at) {
    CUDA_MEMCPY3D in = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = pinned,
                        .srcPitch = ROW,
                        .srcHeight = ROWS / SLICES,
                        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                        .dstDevice = at,
                        .dstPitch = PITCH,
                        .dstHeight = 2 * ROWS,
                        .WidthInBytes = ROW,
                        .Height = ROWS / SLICES,
                        .Depth = SLICES};
    CUDA_MEMCPY3D out = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                         .srcDevice = at,
                         .srcPitch = PITCH,
                         .srcHeight = 2 * ROWS,
                         .dstMemoryType = CU_MEMORYTYPE_HOST,
                         .dstHost = pinned + ROW * ROWS,
                         .dstPitch = ROW,
                         .dstHeight = ROWS / SLICES,
                         .WidthInBytes = ROW,
                         .Height = ROWS / SLICES,
                         .Depth = SLICES};
    memset(pinned + ROW * ROWS, 0, ROW * ROWS);
    WORKS(cu.Memcpy3DAsync(&in, CU_STREAM_LEGACY));
    WORKS(cu.Memcpy3DAsync(&out, CU_STREAM_LEGACY));
    WORKS(cu.StreamSynchronize(CU_STREAM_LEGACY));
    REQUIRE(memcmp(pinned, pinned + ROW * ROWS, ROW * ROWS) == 0);
}

/* Registered memory of the program: copies by its own address and by the device's. */
static void registered_copies(CUdeviceptr at) {
    const size_t bytes = 1 << 20;
    CUdeviceptr device;
    pinned = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(pinned != MAP_FAILED);
    WORKS(cu.MemHostRegister(pinned, bytes, CU_MEMHOSTREGISTER_DEVICEMAP));
    WORKS(cu.MemHostGetDevicePointer(&device, pinned, 0));
    for (unsigned i = 0; i < ROW * ROWS; i++)
        pinned[i] = (unsigned char)(i * 7);
    copy_plane(at);
    copy_box(at);
    driver_fill_words(device, 1024, 3, CU_STREAM_LEGACY);
    WORKS(cu.StreamSynchronize(CU_STREAM_LEGACY));
    REQUIRE(((unsigned *)pinned)[5] == 5 * 2654435761u + 3);
    fills(at);
    WORKS(cu.MemHostUnregister(pinned));
    munmap(pinned, bytes);
}

static void copies(void) {
    show(ranges[5], 2);
    registered_copies(ranges[5]);
    WORKS(cu.MemUnmap(ranges[5], granule));
}

/* ---- threads --------------------------------------------------------------------------------- */

/* Each thread has chunks and places of its own, all in one context. */
static void *churn(void *arg) {
    int self = (int)(intptr_t)arg;
    CUstream s;
    WORKS(cu.CtxSetCurrent(driver_context));
    WORKS(cu.StreamCreate(&s, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < EACH; i++) {
        CUdeviceptr at = ranges[self] + (CUdeviceptr)i * granule;
        show(at, self * EACH + i);
        driver_fill_words(at, 1024, (unsigned)(self * EACH + i), s);
        WORKS(cu.StreamSynchronize(s));
    }
    for (int i = 0; i < EACH; i++)
        WORKS(cu.MemUnmap(ranges[self] + (CUdeviceptr)i * granule, granule));
    WORKS(cu.StreamDestroy(s));
    return NULL;
}

static void threads(void) {
    pthread_t t[THREADS];
    for (intptr_t i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&t[i], NULL, churn, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < THREADS * EACH; i++) {
        show(ranges[6], i);
        driver_check_words(ranges[6], 1024, (unsigned)i, "what a thread wrote");
        WORKS(cu.MemUnmap(ranges[6], granule));
    }
}

void topic_memory(void) {
    size_t free_before, free_after, total;
    WORKS(
        cu.MemGetAllocationGranularity(&granule, &device_memory, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    WORKS(cu.MemGetInfo(&free_before, &total));
    make_chunks();
    import_again();
    reserve();
    copies(); /* while no other thread runs, so that the device sees registered memory */
    map_each();
    unmap_each();
    alias();
    threads();
    for (int i = 0; i < RANGES; i++)
        WORKS(cu.MemAddressFree(ranges[i], RANGE_BYTES));
    for (int i = 0; i < CHUNKS; i++) {
        WORKS(cu.MemRelease(chunks[i].handle));
        close(chunks[i].fd);
    }
    WORKS(cu.MemGetInfo(&free_after, &total));
    REQUIRE(free_after + granule >= free_before);
}
