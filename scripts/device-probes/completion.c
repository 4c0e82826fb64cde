/* SPDX-License-Identifier: Apache-2.0
 * Compares three ways to learn that a stream has reached a point: a word that the stream writes
 * into registered shared memory, an event that is queried, and a host function. Measures the
 * cost of queueing each and the delay until it is seen. */
#include <pthread.h>
#include <sys/mman.h>

#include "scripts/device-probes/probe.h"

enum { PAGE = 1 << 16 };
static CUfunction nothing;
static CUstream stream;
static volatile uint64_t *word; /* in a memfd, registered with the driver where possible */
static bool registered;
static CUdeviceptr word_dev;
static CUevent event;
static volatile uint64_t called;

static void host_function(void *arg) {
    called = (uint64_t)(uintptr_t)arg;
}

enum way { WRITE_64, EVENT, HOST_FUNCTION, KERNEL_STORE, WAYS };
static const char *const ways[WAYS] = {"write_value", "event_query", "host_function",
                                       "kernel_store"};
static CUfunction bump;

static void signal_by(enum way way, uint64_t n) {
    switch (way) {
    case WRITE_64: TRY(cu.cuStreamWriteValue64_v2(stream, word_dev, n, 0)); break;
    case EVENT: TRY(cu.cuEventRecord(event, stream)); break;
    case HOST_FUNCTION:
        TRY(cu.cuLaunchHostFunc(stream, host_function, (void *)(uintptr_t)n));
        break;
    default: LAUNCH(bump, 1, 1, stream, word_dev); break;
    }
}

static bool seen(enum way way, uint64_t n) {
    CUresult r;
    switch (way) {
    case WRITE_64: return *word == n;
    case KERNEL_STORE: return (uint32_t)*word == (uint32_t)n;
    case HOST_FUNCTION: return called == n;
    default:
        r = cu.cuEventQuery(event);
        if (r != CUDA_ERROR_NOT_READY) TRY(r);
        return r == CUDA_SUCCESS;
    }
}

/* Measures the microseconds from before an empty kernel's launch until its end is seen. */
static bool latency(enum way way, double *us, int rounds) {
    TRY(cu.cuStreamSynchronize(stream));
    *word = 0;
    called = 0;
    for (int i = 0; i < rounds; i++) {
        uint64_t begin = probe_now_ns();
        LAUNCH(nothing, 1, 32, stream);
        signal_by(way, i + 1);
        while (!seen(way, i + 1))
            if (probe_now_ns() - begin > 10000000000ull) return false;
        us[i] = (probe_now_ns() - begin) / 1e3;
    }
    return true;
}

/* Measures the nanoseconds to queue one, and the nanoseconds per one until all were done. */
static void cost(enum way way, int count) {
    TRY(cu.cuStreamSynchronize(stream));
    uint64_t begin = probe_now_ns();
    for (int i = 0; i < count; i++)
        signal_by(way, i + 1);
    uint64_t queued = probe_now_ns() - begin;
    TRY(cu.cuStreamSynchronize(stream));
    probe_figure(queued / (double)count, "ns", "%s_to_queue", ways[way]);
    probe_figure((probe_now_ns() - begin) / (double)count, "ns", "%s_until_done", ways[way]);
}

static void shared_word(void) {
    void *p;
    int fd = memfd_create("completion", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, PAGE) != 0 ||
        (p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) == MAP_FAILED)
        exit(probe_end(false, "cannot be asked: no memfd"));
    memset(p, 0, PAGE);
    CUresult r = cu.cuMemHostRegister_v2(
        p, PAGE, CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_PORTABLE);
    if (r == CUDA_SUCCESS) r = cu.cuMemHostGetDevicePointer_v2(&word_dev, p, 0);
    registered = r == CUDA_SUCCESS;
    if (!registered) { /* the other ways are still worth measuring */
        probe_fact("registered_memfd", "%s: the word is in pinned memory instead", probe_error(r));
        TRY(cu.cuMemHostAlloc(&p, PAGE, CU_MEMHOSTALLOC_DEVICEMAP));
        TRY(cu.cuMemHostGetDevicePointer_v2(&word_dev, p, 0));
    }
    word = p;
    probe_fact("device_pointer_is", "%s", word_dev == (CUdeviceptr)p ? "the host's" : "another");
}

int main(void) {
    int rounds = probe_small() ? 50 : 2000, answered = 0;
    double *us = calloc(rounds, sizeof(*us)), best = 1e30;
    const char *fastest = "none";
    probe_begin("completion",
                "How is it learnt soonest, and at what cost, that a stream has come so far?");
    probe_driver_open();
    shared_word();
    CUmodule m = probe_module();
    nothing = probe_function(m, "nothing");
    bump = probe_function(m, "bump");
    TRY(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    TRY(cu.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    for (int way = 0; way < WAYS; way++) {
        char name[40];
        if (!latency(way, us, rounds)) {
            probe_fact(ways[way], "was never seen");
            continue;
        }
        snprintf(name, sizeof(name), "%s_seen_after", ways[way]);
        probe_spread(us, rounds, "us", name);
        if (us[rounds / 2] < best) {
            best = us[rounds / 2];
            fastest = ways[way];
        }
        cost(way, probe_small() ? 200 : 20000);
        answered++;
    }
    free(us);
    return probe_end(answered == WAYS,
                     "soonest by %s: %.1f us from launch to sight in the median%s", fastest, best,
                     registered ? "" : "; the word is not in shared memory");
}
