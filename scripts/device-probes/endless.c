/* SPDX-License-Identifier: Apache-2.0
 * Kills a process whose kernel never ends. Measures when the process is gone and when other
 * processes can use the device. */
#include <signal.h>

#include "scripts/device-probes/probe.h"

static void endless(int peer, void *arg) {
    CUdeviceptr p;
    probe_driver_open();
    TRY(cu.cuMemAlloc_v2(&p, 8));
    TRY(cu.cuMemsetD32_v2(p, 0, 2));
    LAUNCH(probe_function(probe_module(), "endless"), 512, 256, NULL, p);
    probe_tell(peer, 1);
    cu.cuCtxSynchronize();
    _exit(7); /* not reached: the kernel cannot end */
}

/* Runs a small kernel for each nonzero word from the parent; ends at 0. */
static void other(int peer, void *arg) {
    CUdeviceptr p;
    probe_driver_open();
    TRY(cu.cuMemAlloc_v2(&p, 8));
    CUfunction bump = probe_function(probe_module(), "bump");
    probe_tell(peer, 1);
    while (probe_hear(peer)) {
        LAUNCH(bump, 1, 32, NULL, p);
        TRY(cu.cuCtxSynchronize());
        probe_tell(peer, 1);
    }
}

/* Returns the milliseconds until the other process has run a kernel; below 0: never. */
static double served(int peer, double seconds) {
    uint64_t word, begin = probe_now_ns();
    probe_tell(peer, 1);
    if (!probe_hear_within(peer, &word, seconds)) return -1;
    return (probe_now_ns() - begin) / 1e6;
}

int main(void) {
    probe_begin("endless",
                "Does a kernel without an end end with its process, and when are others served?");
    struct probe_child bad = probe_fork(endless, NULL), good = probe_fork(other, NULL);
    probe_hear(bad.peer);
    probe_hear(good.peer);
    probe_sleep_ms(200);
    double beside = served(good.peer, 20); /* shows whether the device time-slices processes */
    if (beside >= 0)
        probe_figure(beside, "ms", "another_process_beside_it");
    else
        probe_fact("another_process_beside_it", "is not served within 20 s");
    uint64_t begin = probe_now_ns();
    kill(bad.pid, SIGKILL);
    int status = probe_join(&bad, 60);
    probe_figure((probe_now_ns() - begin) / 1e6, "ms", "until_the_process_is_gone");
    uint64_t word;
    double after = beside >= 0                               ? served(good.peer, 60)
                   : probe_hear_within(good.peer, &word, 60) ? 0
                                                             : -1;
    double total = (probe_now_ns() - begin) / 1e6;
    probe_figure(total, "ms", "until_another_is_served");
    if (after >= 0) probe_tell(good.peer, 0);
    probe_join(&good, 10);
    bool ends = status == 128 + SIGKILL && after >= 0;
    return probe_end(ends, "%s; others served %.0f ms after the kill, and %s beside it",
                     ends ? "it ends" : "it does not end", total, beside >= 0 ? "also" : "not");
}
