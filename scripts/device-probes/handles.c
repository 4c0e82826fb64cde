/* SPDX-License-Identifier: Apache-2.0
 * Counts the exported chunks, the streams and the events that one process can hold. The broker
 * holds one descriptor per chunk. */
#include <errno.h>
#include <sys/resource.h>

#include "scripts/device-probes/probe.h"

static rlim_t descriptors(void) {
    struct rlimit r;
    getrlimit(RLIMIT_NOFILE, &r);
    r.rlim_cur = r.rlim_max;
    setrlimit(RLIMIT_NOFILE, &r);
    getrlimit(RLIMIT_NOFILE, &r);
    return r.rlim_cur;
}

/* Exports chunks of the smallest size until a call fails. */
static int chunks(int most, size_t bytes) {
    CUmemAllocationProp prop = {0};
    CUmemGenericAllocationHandle chunk;
    CUresult r = CUDA_SUCCESS;
    int n = 0, fd;
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    uint64_t begin = probe_now_ns();
    for (; n < most; n++) {
        if ((r = cu.cuMemCreate(&chunk, bytes, &prop, 0)) != CUDA_SUCCESS) {
            probe_fact("chunks_end_with", "cuMemCreate: %s", probe_error(r));
            break;
        }
        r = cu.cuMemExportToShareableHandle(&fd, chunk, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                            0);
        if (r != CUDA_SUCCESS) {
            probe_fact("chunks_end_with", "cuMemExportToShareableHandle: %s", probe_error(r));
            break;
        }
    }
    probe_figure((probe_now_ns() - begin) / 1e3 / (n ? n : 1), "us", "creating_and_exporting_one");
    return n;
}

static int streams(int most) {
    CUstream s;
    int n = 0;
    while (n < most && cu.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS)
        n++;
    return n;
}

static int events(int most) {
    CUevent e;
    int n = 0;
    while (n < most && cu.cuEventCreate(&e, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS)
        n++;
    return n;
}

int main(void) {
    size_t free_bytes, all_bytes;
    probe_begin("handles",
                "How many chunks with descriptors, streams and events can one process hold?");
    rlim_t limit = descriptors();
    probe_driver_open();
    TRY(cu.cuMemGetInfo_v2(&free_bytes, &all_bytes));
    size_t bytes = probe_granule(), fit = free_bytes / bytes * 9 / 10;
    int most = probe_small() ? 16 : 30000;
    if ((size_t)most > fit) most = (int)fit;
    probe_figure((double)limit, "descriptors", "limit_of_the_process");
    probe_figure(most, "chunks", "tried");
    int n = chunks(most, bytes), s = streams(probe_small() ? 16 : 2048),
        e = events(probe_small() ? 16 : 65536);
    probe_figure(n, "chunks", "held");
    probe_figure(s, "streams", "streams_held");
    probe_figure(e, "events", "events_held");
    return probe_end(n > 0, "%d chunks%s, %d streams, %d events", n, n == most ? " and no end" : "",
                     s, e);
}
