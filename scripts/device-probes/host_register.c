/* SPDX-License-Identifier: Apache-2.0
 * The worker can register a client's shared memory, which pins it without a copy. Measures the
 * cost, whether parts can be registered, and whether a process that writes meanwhile matters. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "scripts/device-probes/probe.h"

static size_t total, part;
static int memfd;

static uint32_t *map_all(int prot) {
    void *p = mmap(NULL, total, prot, MAP_SHARED, memfd, 0);
    if (p == MAP_FAILED) exit(probe_end(false, "cannot be asked: mmap: %s", strerror(errno)));
    return p;
}

/* Another process, which keeps writing the second half until the parent ends it. */
static void writer(int peer, void *arg) {
    uint32_t *p = map_all(PROT_READ | PROT_WRITE), n = 0;
    uint64_t word;
    probe_tell(peer, 1);
    while (!probe_hear_within(peer, &word, 0))
        for (size_t i = total / 8; i < total / 4; i += 1024)
            p[i] = ++n;
}

/* Returns ms/GiB; below 0: refused. */
static double registering(void *p, size_t bytes, unsigned flags, const char *what) {
    uint64_t begin = probe_now_ns();
    CUresult r = cu.cuMemHostRegister_v2(p, bytes, flags);
    double ms = (probe_now_ns() - begin) / 1e6 / (bytes / 1073741824.0);
    if (r != CUDA_SUCCESS) {
        probe_fact(what, "%s", probe_error(r));
        return -1;
    }
    probe_figure(ms, "ms/GiB", "%s", what);
    return ms;
}

static void unregistering(void *p, size_t bytes, const char *what) {
    uint64_t begin = probe_now_ns();
    TRY(cu.cuMemHostUnregister(p));
    probe_figure((probe_now_ns() - begin) / 1e6 / (bytes / 1073741824.0), "ms/GiB", "%s", what);
}

/* Checks that what a kernel writes through the device's pointer shows in the other mapping of the
 * memfd. */
static bool one_memory(uint32_t *p, uint32_t *other, CUfunction fill) {
    CUdeviceptr dev;
    CUresult r = cu.cuMemHostGetDevicePointer_v2(&dev, p, 0);
    probe_fact("its_device_pointer", "%s", r ? probe_error(r) : "there is one");
    if (r) return false;
    LAUNCH(fill, 8, 256, NULL, dev, 4096, 99);
    TRY(cu.cuCtxSynchronize());
    for (uint32_t i = 0; i < 4096; i++)
        if (other[i] != i * 2654435761u + 99) return false;
    return true;
}

static double copy_rate(void *p, size_t bytes, CUdeviceptr dev) {
    double best = 0;
    for (int i = 0; i < 5; i++) {
        uint64_t begin = probe_now_ns();
        TRY(cu.cuMemcpyHtoDAsync_v2(dev, p, bytes, NULL));
        TRY(cu.cuStreamSynchronize(NULL));
        double rate = bytes / (double)(probe_now_ns() - begin);
        if (rate > best) best = rate;
    }
    return best;
}

/* Registers parts at adjacent addresses, then copies across the border of two. */
static void parts(uint32_t *p, CUdeviceptr dev) {
    int n = 0;
    uint64_t begin = probe_now_ns();
    while (n < 8 && cu.cuMemHostRegister_v2((char *)p + n * part, part,
                                            CU_MEMHOSTREGISTER_DEVICEMAP) == CUDA_SUCCESS)
        n++;
    probe_figure(n, "of 8", "parts_registered");
    probe_figure((probe_now_ns() - begin) / 1e3 / (n ? n : 1), "us", "registering_a_part");
    if (n >= 2) {
        CUresult r = cu.cuMemcpyHtoDAsync_v2(dev, (char *)p + part / 2, part, NULL);
        if (r == CUDA_SUCCESS) r = cu.cuCtxSynchronize();
        probe_fact("a_copy_across_two_parts", "%s", r ? probe_error(r) : "works");
    }
    while (n-- > 0)
        TRY(cu.cuMemHostUnregister((char *)p + n * part));
}

static void kinds(uint32_t *p) {
    void *anonymous = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(anonymous, 1, total);
    if (registering(anonymous, total, CU_MEMHOSTREGISTER_DEVICEMAP, "anonymous_memory") >= 0)
        unregistering(anonymous, total, "unregistering_anonymous_memory");
    munmap(anonymous, total);
    void *reading = map_all(PROT_READ);
    if (registering(reading, total, CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY,
                    "read_only_mapping") >= 0)
        TRY(cu.cuMemHostUnregister(reading));
    munmap(reading, total);
    if (registering((char *)p + 4096, 8192, CU_MEMHOSTREGISTER_DEVICEMAP, "two_pages_inside") >= 0)
        TRY(cu.cuMemHostUnregister((char *)p + 4096));
    if (registering((char *)p + 100, 1000, CU_MEMHOSTREGISTER_DEVICEMAP, "an_unaligned_piece") >= 0)
        TRY(cu.cuMemHostUnregister((char *)p + 100));
    int sealed = fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    if (sealed != 0) probe_fact("sealing", "%s", strerror(errno));
    if (registering(p, total, CU_MEMHOSTREGISTER_DEVICEMAP, "sealed_memfd") >= 0)
        unregistering(p, total, "unregistering_a_memfd");
}

int main(void) {
    CUdeviceptr dev;
    probe_begin("host_register",
                "Can shared memory of another process be registered, and what does that cost?");
    total = probe_small() ? 8u << 20 : (size_t)1 << 30;
    part = total / 8;
    memfd = memfd_create("window", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (memfd < 0 || ftruncate(memfd, total) != 0)
        return probe_end(false, "cannot be asked: no memfd: %s", strerror(errno));
    struct probe_child other = probe_fork(writer, NULL);
    probe_hear(other.peer);
    probe_driver_open();
    CUfunction fill = probe_function(probe_module(), "fill");
    TRY(cu.cuMemAlloc_v2(&dev, total));
    uint32_t *p = map_all(PROT_READ | PROT_WRITE), *second = map_all(PROT_READ | PROT_WRITE);
    double cost = registering(p, total, CU_MEMHOSTREGISTER_DEVICEMAP,
                              "memfd_first_touch_while_another_writes");
    bool same = cost >= 0 && one_memory(p, second, fill);
    if (cost >= 0) {
        probe_figure(copy_rate(p, total, dev), "GB/s", "copies_from_it");
        unregistering(p, total, "unregistering_while_another_writes");
    }
    probe_tell(other.peer, 0);
    probe_join(&other, 10);
    parts(p, dev);
    kinds(p);
    probe_fact("the_device_and_the_other_process_see", "%s",
               same ? "the same memory" : "not the same memory");
    return probe_end(cost >= 0, "registered in %.3g ms/GiB; %s", cost,
                     same ? "the device and other processes share it"
                          : "the device does not share it");
}
