/* SPDX-License-Identifier: Apache-2.0
 *
 * The cost of driver calls in a program under a running daemon, compared with the floor (see
 * floor.h): a launch with eight parameters, and the shortest synchronous calls. This thread is on
 * the first CPU; the caller of this program has put the worker on the second. While the bench
 * measures, the floor's peer sleeps; while the floor is measured, the worker sleeps: it parks after
 * a millisecond.
 *
 * Launches come in bursts shorter than the ring, begun with the worker awake and its queues empty.
 * There are three situations: kernels execute meanwhile (the worker has work, so it is behind); the
 * stream is held (the worker only accepts records, as fast as they come); a launch every 5 us of
 * the program's own work (the worker waits for each).
 *
 *   shim_bench [samples]
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/atomics.h"
#include "common/fdutil.h"
#include "test/bench/lib/floor.h"
#include "test/bench/lib/gpu.h"

#define BURST 256
#define BURSTS 15
#define TRIPS 200
#define STEP 200           /* launches in a step */
#define THINK_NS 5000      /* between its launches */
#define DRIVER_NS 2300     /* the cost of a launch in a native driver */
#define PARK_NS 3000000ull /* time after which the worker sleeps */

static struct gpu gpu;
static CUstream stream, holder;
static CUevent held, mark;
static CUdeviceptr cell;

/* ---- the floor's peer sleeps while the bench measures ---------------------------------------- */

static pthread_mutex_t peer_gate = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint32_t peer_in;

static void peer_sleep(void *arg) {
    atom_store_release(&peer_in, 1);
    pthread_mutex_lock(&peer_gate);
    pthread_mutex_unlock(&peer_gate);
}

static void sleep_ns(uint64_t ns) {
    struct timespec t = {.tv_nsec = (long)ns};
    nanosleep(&t, NULL);
}

static void begin(void) {
    atom_store_relaxed(&peer_in, 0);
    pthread_mutex_lock(&peer_gate);
    floor_peer_run(peer_sleep, NULL);
    while (!atom_load_acquire(&peer_in))
        atom_pause();
    sleep_ns(50000); /* now it sleeps */
}

static void end(void) {
    sleep_ns(PARK_NS);
    pthread_mutex_unlock(&peer_gate);
    floor_peer_wait();
}

/* ---- launches -------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof(values[0]), by_value);
    return values[count / 2];
}

static void spin_ns(uint64_t ns) {
    for (uint64_t until = fdutil_now_ns() + ns; fdutil_now_ns() < until;) {
    }
}

static void launch(void) {
    GPU(cuLaunchKernel(gpu.null8, 1, 1, 1, 32, 1, 1, 0, stream, gpu_null8_params, NULL));
}

/* Blocks the stream until the gate opens. */
static pthread_mutex_t stream_gate = PTHREAD_MUTEX_INITIALIZER;

static void wait_at_gate(void *arg) {
    pthread_mutex_lock(&stream_gate);
    pthread_mutex_unlock(&stream_gate);
}

static void hold_stream(void) {
    pthread_mutex_lock(&stream_gate);
    GPU(cuLaunchHostFunc(holder, wait_at_gate, NULL));
    GPU(cuEventRecord(held, holder));
    GPU(cuStreamWaitEvent(stream, held, 0));
}

enum situation { EXECUTING, HELD };

static double measure_launch(void *arg) {
    enum situation how = *(const enum situation *)arg;
    double ns[BURSTS];
    begin();
    for (int b = 0; b < BURSTS; b++) {
        unsigned int back;
        if (how == HELD) hold_stream();
        GPU(cuMemcpyDtoH_v2(&back, cell, sizeof(back))); /* the worker is awake */
        if (how == EXECUTING)
            for (int i = 0; i < 8; i++)
                launch();
        uint64_t start = fdutil_now_ns();
        for (int i = 0; i < BURST; i++)
            launch();
        ns[b] = (double)(fdutil_now_ns() - start) / BURST;
        if (how == HELD) pthread_mutex_unlock(&stream_gate);
        GPU(cuStreamSynchronize(stream));
    }
    end();
    return median(ns, BURSTS);
}

/* ---- a launch-bound step --------------------------------------------------------------------- */

/* Measures the step as a ratio to the same step where each launch costs as much as with a native
 * driver. */
static double measure_step(void *arg) {
    double ours[5], native[5];
    begin();
    for (int round = 0; round < 5; round++) {
        uint64_t t0 = fdutil_now_ns();
        for (int i = 0; i < STEP; i++) {
            spin_ns(THINK_NS);
            launch();
        }
        GPU(cuStreamSynchronize(stream));
        uint64_t t1 = fdutil_now_ns();
        for (int i = 0; i < STEP; i++)
            spin_ns(THINK_NS + DRIVER_NS);
        ours[round] = (double)(t1 - t0) / STEP;
        native[round] = (double)(fdutil_now_ns() - t1) / STEP;
    }
    end();
    *(double *)arg = median(native, 5);
    return median(ours, 5);
}

static void report_step(int samples) {
    static double ours[FLOOR_SAMPLES], ratio[FLOOR_SAMPLES];
    for (int s = 0; s < samples; s++) {
        double native;
        ours[s] = measure_step(&native);
        ratio[s] = ours[s] / native;
    }
    double ns = median(ours, samples), middle = median(ratio, samples);
    printf("{\"bench\":\"shim\",\"what\":\"launch-bound step, 5 us of work a launch, against a "
           "native driver's 2.3 us\",\"samples\":%d,\"value\":%.0f,\"unit\":\"ns a launch\","
           "\"ratio\":%.4f,\"ratio_p10\":%.4f,\"ratio_p90\":%.4f,\"goal\":0.75,"
           "\"goal_unit\":\"native\",\"verdict\":\"%s\"}\n",
           samples, ns, middle, ratio[samples / 10], ratio[samples * 9 / 10],
           middle <= 0.75 ? "met" : "missed");
}

/* ---- synchronous calls ----------------------------------------------------------------------- */

static void trip_copy(void) {
    unsigned int back = 0;
    GPU(cuMemcpyDtoH_v2(&back, cell, sizeof(back)));
    if (back != 0x5a1e5a1e) gpu_check(CUDA_ERROR_UNKNOWN, "wrong value copied back");
}

static void trip_record(void) {
    GPU(cuEventRecord(mark, stream));
    GPU(cuStreamSynchronize(stream));
}

static void trip_launch(void) {
    launch();
    GPU(cuStreamSynchronize(stream));
}

static double measure_trips(void *arg) {
    void (*const *trip)(void) = arg;
    double ns[BURSTS];
    begin();
    for (int i = 0; i < TRIPS; i++)
        (*trip)(); /* wakes all threads */
    for (int b = 0; b < BURSTS; b++) {
        uint64_t start = fdutil_now_ns();
        for (int i = 0; i < TRIPS; i++)
            (*trip)();
        ns[b] = (double)(fdutil_now_ns() - start) / TRIPS;
    }
    end();
    return median(ns, BURSTS);
}

/* ---- the whole bench ------------------------------------------------------------------------- */

static pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;

static void *second_thread(void *arg) {
    GPU(cuCtxSetCurrent(gpu.context));
    pthread_mutex_lock(&idle_lock);
    pthread_mutex_unlock(&idle_lock);
    return arg;
}

static void prepare(void) {
    unsigned int value = 0x5a1e5a1e;
    gpu_start(&gpu);
    GPU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    GPU(cuStreamCreate(&holder, CU_STREAM_NON_BLOCKING));
    GPU(cuEventCreate(&held, CU_EVENT_DISABLE_TIMING));
    GPU(cuEventCreate(
        &mark, CU_EVENT_DEFAULT)); /* the library alone never answers for an event with timing */
    GPU(cuMemAlloc_v2(&cell, 4096));
    GPU(cuMemcpyHtoD_v2(cell, &value, sizeof(value)));
}

int main(int argc, char **argv) {
    int samples = argc > 1 ? atoi(argv[1]) : 15;
    if (samples < 1 || samples > FLOOR_SAMPLES) return 2;
    prepare();
    if (!floor_start()) return printf("shim_bench: needs two CPUs: no verdict\n"), 0;
    pthread_t second;
    pthread_mutex_lock(&idle_lock);
    if (pthread_create(&second, NULL, second_thread, NULL)) return 2;

    static enum situation executing = EXECUTING, held_up = HELD;
    static void (*copy)(void) = trip_copy, (*record)(void) = trip_record,
                (*sync)(void) = trip_launch;
    static struct {
        struct floor_series series;
        double (*measure)(void *);
        void *arg;
    } rows[] = {
        {{.name = "cuLaunchKernel, kernels executing", .goal = 0.15}, measure_launch, &executing},
        {{.name = "cuLaunchKernel, stream held"}, measure_launch, &held_up},
        {{.name = "cuMemcpyDtoH of 4 bytes"}, measure_trips, &copy},
        {{.name = "cuEventRecord, cuStreamSynchronize"}, measure_trips, &record},
        {{.name = "cuLaunchKernel, cuStreamSynchronize"}, measure_trips, &sync},
    };
    const int count = sizeof(rows) / sizeof(rows[0]);
    for (int s = 0; s < samples; s++)
        for (int i = 0; i < count; i++)
            floor_sample(&rows[i].series, rows[i].measure, rows[i].arg);
    for (int i = 0; i < count; i++)
        floor_print_json("shim", &rows[i].series);
    report_step(samples);
    floor_stop();
    pthread_mutex_unlock(&idle_lock);
    pthread_join(second, NULL);
    return 0;
}
