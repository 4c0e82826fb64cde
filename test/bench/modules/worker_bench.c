/* SPDX-License-Identifier: Apache-2.0
 *
 * An operation's cost for the worker: its thread's CPU time from a record in the ring to the
 * published completion (sweep, copy, validation, stream, scheduler, submission, completion), with a
 * device that does nothing. The clients write their records before the clock starts.
 *
 *   worker_bench [repetitions]
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "daemon/worker/loop.h"
#include "test/lib/worker/fakedev.h"
#include "test/lib/worker/wireclient.h"

#define GOAL_NS 115.0 /* 5 % of a native launch */
#define CLIENTS_MAX 100
#define BURST 64  /* launches of one client before the worker looks */
#define OPS 25600 /* operations measured in one sample */
#define WARM_ROUNDS 4
#define SAMPLES_MAX 256

/* A device that completes at once, in order. */
static struct dev_op *done_first, **done_last = &done_first;

static int null_launch(struct dev_queue *queue, const struct dev_launch *launch,
                       struct dev_op *op) {
    op->result = 0;
    op->next = NULL;
    *done_last = op;
    done_last = &op->next;
    return 0;
}

static struct dev_op *null_poll(struct dev *dev) {
    struct dev_op *list = done_first;
    done_first = NULL;
    done_last = &done_first;
    return list;
}

static uint64_t cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Nanoseconds of an operation with this many clients, each with this many streams in use. */
static double measure(struct wirebench *b, struct wireclient **clients, int count,
                      uint32_t streams) {
    uint64_t spent = 0, ops = 0;
    /* otherwise the cost of the clock itself would show */
    uint32_t burst = count == 1 ? 8 * BURST : BURST;
    for (int round = 0; ops < OPS; round++) {
        for (int c = 0; c < count; c++)
            for (uint32_t i = 0; i < burst; i++)
                wireclient_launch(clients[c], i % streams, 0, i);
        uint64_t begin = cpu_ns();
        while (loop_once(b->worker))
            continue;
        if (round < WARM_ROUNDS) continue;
        spent += cpu_ns() - begin;
        ops += (uint64_t)count * burst;
    }
    return (double)spent / (double)ops;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void attach(struct wirebench *b, struct wireclient **clients, int from, int to) {
    for (int c = from; c < to; c++) {
        clients[c] = wireclient_attach(b);
        wireclient_kernels(clients[c], "kern");
        for (uint32_t s = 1; s < 4; s++)
            wireclient_create_stream(clients[c], s, WIRE_STREAM_NONBLOCKING);
        wirebench_run(b);
    }
}

struct result {
    int clients;
    uint32_t streams;
    double ns, best_ns;
};

static struct result report(struct wirebench *b, struct wireclient **clients, int count,
                            uint32_t streams, int repetitions) {
    double ns[SAMPLES_MAX];
    for (int i = 0; i < repetitions; i++)
        ns[i] = measure(b, clients, count, streams);
    qsort(ns, (size_t)repetitions, sizeof(ns[0]), by_value);
    struct result r = {count, streams, ns[repetitions / 2], ns[0]};
    printf("  %3d clients, %u streams each   %6.1f ns an operation (best %.1f)   goal %.0f: %s\n",
           count, streams, r.ns, r.best_ns, GOAL_NS, r.ns <= GOAL_NS ? "met" : "MISSED");
    return r;
}

int main(int argc, char **argv) {
    static const struct {
        int clients;
        uint32_t streams;
    } cases[] = {{1, 1}, {1, 4}, {8, 1}, {CLIENTS_MAX, 1}};
    enum { CASES = sizeof(cases) / sizeof(cases[0]) };
    static struct wireclient *clients[CLIENTS_MAX];
    struct result results[CASES];
    int repetitions = argc > 1 ? atoi(argv[1]) : 9, attached = 0;
    if (repetitions < 1 || repetitions > SAMPLES_MAX) repetitions = 9;
    struct dev_ops ops = fakedev;
    ops.launch = null_launch;
    ops.poll = null_poll;
    ops.driver = NULL;
    struct wirebench *b = wirebench_start(&ops, 0);

    printf("worker: one launch, from the ring to its completion, on a device that does nothing\n");
    for (int i = 0; i < CASES; i++) {
        attach(b, clients, attached, cases[i].clients);
        attached = cases[i].clients;
        results[i] = report(b, clients, cases[i].clients, cases[i].streams, repetitions);
    }
    for (int i = 0; i < CASES; i++)
        printf("{\"bench\":\"worker\",\"clients\":%d,\"streams\":%u,\"ns\":%.1f,\"best_ns\":%.1f,"
               "\"goal_ns\":%.0f,\"met\":%s}\n",
               results[i].clients, results[i].streams, results[i].ns, results[i].best_ns, GOAL_NS,
               results[i].ns <= GOAL_NS ? "true" : "false");
    for (int c = 0; c < attached; c++) {
        wireclient_detach(clients[c]);
        wireclient_free(clients[c]);
    }
    wirebench_stop(b);
    return 0;
}
