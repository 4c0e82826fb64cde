/* SPDX-License-Identifier: Apache-2.0
 * Measures when the output of a kernel's printf appears on standard output of the context's
 * process. */
#include <fcntl.h>

#include "scripts/device-probes/probe.h"

static int real_stdout, pipe_out;

/* Reads the pending output. Returns true when "said N" was in it. */
static bool heard(unsigned n) {
    static char all[65536];
    char want[32];
    size_t used = strlen(all);
    fflush(stdout);
    ssize_t got = read(pipe_out, all + used, sizeof(all) - 1 - used);
    if (got > 0) all[used + got] = 0;
    snprintf(want, sizeof(want), "said %u\n", n);
    return strstr(all, want) != NULL;
}

static void redirect(void) {
    int ends[2];
    fflush(stdout);
    if (pipe(ends) != 0) exit(probe_end(false, "cannot be asked: no pipe"));
    real_stdout = dup(1);
    dup2(ends[1], 1);
    pipe_out = ends[0];
    fcntl(pipe_out, F_SETFL, O_NONBLOCK);
}

enum when { LATER, QUERY, EVENT_SYNC, STREAM_SYNC, CONTEXT_SYNC, FREE, WHENS };
static const char *const whens[WHENS] = {"after_100_ms",        "stream_query",
                                         "event_synchronize",   "stream_synchronize",
                                         "context_synchronize", "mem_free"};

static void wait_by(enum when when, CUstream s, CUevent e, CUdeviceptr *p) {
    switch (when) {
    case LATER: probe_sleep_ms(100); break;
    case QUERY:
        while (cu.cuStreamQuery(s) == CUDA_ERROR_NOT_READY)
            probe_sleep_ms(1);
        break;
    case EVENT_SYNC: TRY(cu.cuEventSynchronize(e)); break;
    case STREAM_SYNC: TRY(cu.cuStreamSynchronize(s)); break;
    case CONTEXT_SYNC: TRY(cu.cuCtxSynchronize()); break;
    default: TRY(cu.cuMemFree_v2(*p)); break;
    }
}

int main(void) {
    CUstream s;
    CUevent e;
    CUdeviceptr p;
    bool came[WHENS];
    probe_begin("kernel_printf", "At which calls does the output of a kernel's printf appear?");
    probe_driver_open();
    CUfunction say = probe_function(probe_module(), "say");
    TRY(cu.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    TRY(cu.cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    redirect();
    for (int when = 0; when < WHENS; when++) {
        TRY(cu.cuMemAlloc_v2(&p, 4096));
        LAUNCH(say, 1, 1, s, 100 + when);
        TRY(cu.cuEventRecord(e, s));
        wait_by(when, s, e, &p);
        came[when] = heard(100 + when);
        TRY(cu.cuCtxSynchronize());
    }
    bool end = heard(100 + WHENS - 1);
    fflush(stdout);
    dup2(real_stdout, 1);
    for (int when = 0; when < WHENS; when++)
        probe_fact(whens[when], "%s", came[when] ? "appears" : "does not");
    return probe_end(end, "stream_synchronize: %s; context_synchronize: %s; without waiting: %s",
                     came[STREAM_SYNC] ? "yes" : "no", came[CONTEXT_SYNC] ? "yes" : "no",
                     came[LATER] ? "yes" : "no");
}
