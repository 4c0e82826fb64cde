/* SPDX-License-Identifier: Apache-2.0
 * Launches an empty kernel with 8 parameters from 1 to 4 threads with one stream each in one
 * context. Shows the cost of a launch, and what a worker could gain by several threads. */
#include <pthread.h>

#include "scripts/device-probes/probe.h"

enum { THREADS = 4, ROUNDS = 7 };
static CUcontext context;
static CUfunction nothing;
static int launches;
static pthread_barrier_t begin_all;

struct lane {
    pthread_t thread;
    CUstream stream;
    double ns; /* per launch */
};

static void *launcher(void *arg) {
    struct lane *l = arg;
    TRY(cu.cuCtxSetCurrent(context));
    pthread_barrier_wait(&begin_all);
    uint64_t begin = probe_now_ns();
    for (int i = 0; i < launches; i++) {
        LAUNCH(nothing, 1, 32, l->stream, i);
        if (i % 512 == 511)
            TRY(cu.cuStreamSynchronize(l->stream)); /* keeps the queue from
                                                     * filling up */
    }
    l->ns = (probe_now_ns() - begin) / (double)launches;
    TRY(cu.cuStreamSynchronize(l->stream));
    return NULL;
}

/* Returns the wall time in nanoseconds per launch, over all threads together. */
static double round_of(struct lane *lanes, int threads) {
    double sum = 0;
    pthread_barrier_init(&begin_all, NULL, threads);
    for (int i = 0; i < threads; i++)
        pthread_create(&lanes[i].thread, NULL, launcher, &lanes[i]);
    for (int i = 0; i < threads; i++) {
        pthread_join(lanes[i].thread, NULL);
        sum += 1 / lanes[i].ns;
    }
    pthread_barrier_destroy(&begin_all);
    return 1 / sum;
}

static void waited_for(CUstream s) {
    enum { N = 200 };
    static double us[N];
    for (int i = 0; i < N; i++) {
        uint64_t begin = probe_now_ns();
        LAUNCH(nothing, 1, 32, s, i);
        TRY(cu.cuStreamSynchronize(s));
        us[i] = (probe_now_ns() - begin) / 1e3;
    }
    probe_spread(us, N, "us", "launch_and_wait");
}

int main(void) {
    struct lane lanes[THREADS];
    double ns[THREADS][ROUNDS], least[THREADS];
    probe_begin("launch_threads",
                "What does a launch cost, from 1 to 4 threads on streams of their own?");
    probe_driver_open();
    TRY(cu.cuCtxGetCurrent(&context));
    nothing = probe_function(probe_module(), "nothing");
    launches = probe_small() ? 1000 : 50000;
    for (int i = 0; i < THREADS; i++)
        TRY(cu.cuStreamCreate(&lanes[i].stream, CU_STREAM_NON_BLOCKING));
    round_of(lanes, 1);
    for (int r = 0; r < ROUNDS; r++) /* by turns, so that a drift of the machine affects all
                                      * alike */
        for (int t = 0; t < THREADS; t++)
            ns[t][r] = round_of(lanes, t + 1);
    for (int t = 0; t < THREADS; t++) {
        char name[32];
        snprintf(name, sizeof(name), "by_%d_threads", t + 1);
        probe_spread(ns[t], ROUNDS, "ns/launch", name);
        least[t] = ns[t][0];
    }
    waited_for(lanes[0].stream);
    return probe_end(true, "%.0f ns a launch by one thread, %.0f by four together", least[0],
                     least[THREADS - 1]);
}
