/* SPDX-License-Identifier: Apache-2.0
 *
 * The round trip without any work of a call: a ping through the shim's reply path to the worker,
 * which answers when it reads it. Linked with the shim's objects, because no driver call does only
 * this. CPUs and the floor's peer are as in shim_bench.
 *
 *   reply_bench [samples]
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/atomics.h"
#include "common/fdutil.h"
#include "shim/connection/reply.h"
#include "test/bench/lib/floor.h"
#include "test/bench/lib/gpu.h"

#define TRIPS 200
#define ROUNDS 15
#define PARK_NS 3000000l

static _Atomic uint32_t peer_in, peer_out;

/* Sleeps in short intervals, checking in between: this costs next to nothing on the worker's
 * CPU. */
static void peer_sleep(void *arg) {
    const struct timespec nap = {.tv_nsec = 500000};
    atom_store_release(&peer_in, 1);
    while (!atom_load_acquire(&peer_out))
        nanosleep(&nap, NULL);
}

static void ping(void) {
    struct wire_ping p = {.rec = {.op = WIRE_PING}};
    GPU(reply_call(&p, sizeof(p), NULL, 0, NULL));
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double measure(void *arg) {
    const struct timespec park = {.tv_nsec = PARK_NS};
    double ns[ROUNDS];
    atom_store_relaxed(&peer_in, 0);
    atom_store_relaxed(&peer_out, 0);
    floor_peer_run(peer_sleep, NULL);
    while (!atom_load_acquire(&peer_in))
        atom_pause();
    for (int i = 0; i < TRIPS; i++)
        ping(); /* wakes all threads */
    for (int b = 0; b < ROUNDS; b++) {
        uint64_t start = fdutil_now_ns();
        for (int i = 0; i < TRIPS; i++)
            ping();
        ns[b] = (double)(fdutil_now_ns() - start) / TRIPS;
    }
    nanosleep(&park, NULL);
    atom_store_release(&peer_out, 1);
    floor_peer_wait();
    qsort(ns, ROUNDS, sizeof(ns[0]), by_value);
    return ns[ROUNDS / 2];
}

int main(int argc, char **argv) {
    static struct floor_series series = {.name = "round trip through the shim's reply path",
                                         .goal = 1.25};
    int samples = argc > 1 ? atoi(argv[1]) : 15;
    if (samples < 1 || samples > FLOOR_SAMPLES) return 2;
    GPU(cuInit(0));
    if (!floor_start()) return printf("reply_bench: needs two CPUs: no verdict\n"), 0;
    for (int s = 0; s < samples; s++)
        floor_sample(&series, measure, NULL);
    floor_print_json("shim", &series);
    floor_stop();
    return 0;
}
