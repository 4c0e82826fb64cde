/* SPDX-License-Identifier: Apache-2.0
 * A client's windows have the same addresses in the client, the worker and every later worker.
 * Checks whether CUDA, which calls the requested address a hint, grants it. */
#include <errno.h>
#include <inttypes.h>
#include <sys/mman.h>

#include "scripts/device-probes/probe.h"

#define GIB ((size_t)1 << 30)
static const CUdeviceptr asked[] = {0x200000000000, 0x200040000000, 0x300000000000,
                                    0x100000000000, 0x400000000000, 0x700000000000};
enum { ASKED = sizeof(asked) / sizeof(asked[0]) };
static size_t window = 16 * GIB;

static bool honoured(CUdeviceptr hint, size_t bytes, CUdeviceptr *got) {
    return cu.cuMemAddressReserve(got, bytes, 0, hint, 0) == CUDA_SUCCESS && *got == hint;
}

/* Copies the line of /proc/self/maps that covers the address; "" when there is none. */
static void mapping_of(CUdeviceptr at, char *line, size_t room) {
    FILE *f = fopen("/proc/self/maps", "r");
    uint64_t low, high;
    line[0] = 0;
    while (f && fgets(line, room, f))
        if (sscanf(line, "%" SCNx64 "-%" SCNx64, &low, &high) == 2 && low <= at && at < high) {
            line[strcspn(line, "\n")] = 0;
            fclose(f);
            return;
        }
    if (f) fclose(f);
    line[0] = 0;
}

static bool free_for_mmap(CUdeviceptr at) {
    void *p =
        mmap((void *)at, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (p != MAP_FAILED) munmap(p, 4096);
    return p == (void *)at;
}

/* Another process that has reserved the first window until the parent ends it. */
static void holder(int peer, void *arg) {
    CUdeviceptr got = 0;
    probe_driver_open();
    probe_tell(peer, honoured(asked[0], window, &got));
    probe_tell(peer, got);
    if (arg) {
        CUmemGenericAllocationHandle chunk = probe_chunk(probe_granule());
        probe_map(got, probe_granule(), chunk);
    }
    probe_hear(peer);
}

static void in_own_space(CUdeviceptr at) {
    char line[256];
    mapping_of(at, line, sizeof(line));
    probe_fact("proc_self_maps", "%s", line[0] ? line : "no mapping there");
    probe_fact("mmap_at_a_reserved_address", "%s", free_for_mmap(at) ? "succeeds" : "is refused");
}

/* Reserves a range that the process has mapped already: is it refused, and does the mapping
 * survive? */
static void over_mmap(void) {
    CUdeviceptr got = 0, at = 0x500000000000;
    void *p = mmap((void *)at, GIB, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (p == MAP_FAILED) {
        probe_fact("reserving_where_the_process_has_a_mapping", "no mapping there: %s",
                   strerror(errno));
        return;
    }
    CUresult r = cu.cuMemAddressReserve(&got, GIB, 0, at, 0);
    probe_fact("reserving_where_the_process_has_a_mapping", "%s%s",
               r           ? probe_error(r)
               : got == at ? "the same address"
                           : "another address",
               free_for_mmap(at) ? ", and the mapping is gone" : "");
    if (r == CUDA_SUCCESS) cu.cuMemAddressFree(got, GIB);
    munmap(p, GIB);
}

static int count_honoured(void) {
    CUdeviceptr got[ASKED] = {0};
    int n = 0;
    for (int i = 0; i < ASKED; i++) {
        bool same = honoured(asked[i], window, &got[i]);
        char name[64];
        snprintf(name, sizeof(name), "asked_for_%llx", asked[i]);
        probe_fact(name, "%llx", got[i]);
        n += same;
    }
    in_own_space(got[0]);
    for (int i = 0; i < ASKED; i++)
        if (got[i]) TRY(cu.cuMemAddressFree(got[i], window));
    return n;
}

static void largest(void) {
    for (size_t bytes = GIB << 16; bytes >= GIB; bytes /= 4) {
        CUdeviceptr got;
        uint64_t begin = probe_now_ns();
        if (cu.cuMemAddressReserve(&got, bytes, 0, 0, 0) != CUDA_SUCCESS) continue;
        probe_figure((probe_now_ns() - begin) / 1e3, "us", "reserving_the_largest");
        probe_figure(bytes / (double)GIB, "GiB", "largest_reservation");
        TRY(cu.cuMemAddressFree(got, bytes));
        return;
    }
}

int main(void) {
    probe_begin("reserved_addresses", "Is an address range to be had where one asks for it, also "
                                      "while and after another process has it?");
    if (probe_small()) window = GIB / 16;
    struct probe_child before = probe_fork(holder, &window); /* reserves the range and exits */
    uint64_t first = probe_hear(before.peer), got = probe_hear(before.peer);
    probe_tell(before.peer, 0);
    probe_join(&before, 30);
    struct probe_child beside = probe_fork(holder, NULL); /* still has the range */
    uint64_t second = probe_hear(beside.peer);
    got = probe_hear(beside.peer);
    probe_fact("another_process_got", "%" PRIx64, got);
    probe_driver_open();
    int n = count_honoured();
    probe_tell(beside.peer, 0);
    probe_join(&beside, 30);
    over_mmap();
    largest();
    probe_figure(n, "of 6", "honoured");
    return probe_end(true, "%d of %d as asked for; %s two processes at once", n, (int)ASKED,
                     first && second && n == ASKED ? "the same in" : "not always in");
}
