/* SPDX-License-Identifier: Apache-2.0
 *
 * The cost of a lane switch. It begins when the device reports the completion of the last operation
 * of one job's iteration. It ends when the device gets the first operation of the other job's next
 * iteration. The same time between iterations of a job that is alone in its lane is subtracted.
 *
 * Two clients share one lane on a device that does nothing; iterations use the lane's memory and
 * are marked, and the next one is always queued already. A switch must move no byte and map nothing
 * (Salus, section 3.3.1).
 *
 *   switch_bench [repetitions]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/atomics.h"
#include "common/fdutil.h"
#include "daemon/worker/loop.h"
#include "test/lib/worker/fakedev.h"
#include "test/lib/worker/wireclient.h"

#define GOAL_NS 1000.0
#define BURST 64 /* iterations of each client before the worker looks */
#define ROUNDS 64
#define WARM_ROUNDS 8
#define SAMPLES_MAX 256
#define PAGE FAKEDEV_GRANULARITY
/* Device time reported for each operation. It far exceeds what a job is charged for an idle turn,
 * so fair switches jobs even when this process is descheduled for a while. */
#define BUSY_NS 100000000

/* A device that completes at once, and records when it reported that. */
static struct dev_op *done_first, **done_last = &done_first;
static uint64_t done_ns;
static const struct dev_queue *done_queue;
static uint64_t gaps_ns[2 * BURST * ROUNDS];
static uint32_t gaps, switched; /* since the last check */

static int null_launch(struct dev_queue *queue, const struct dev_launch *launch,
                       struct dev_op *op) {
    if (done_ns) gaps_ns[gaps++] = fdutil_now_ns() - done_ns;
    switched += done_ns && queue != done_queue;
    done_queue = queue;
    op->result = 0;
    op->busy_ns = BUSY_NS;
    op->next = NULL;
    *done_last = op;
    done_last = &op->next;
    return 0;
}

static struct dev_op *null_poll(struct dev *dev) {
    struct dev_op *list = done_first;
    done_first = NULL;
    done_last = &done_first;
    if (list) done_ns = fdutil_now_ns();
    return list;
}

static int by_number(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void iterate(struct wireclient *c) {
    wireclient_mem_silent(c, WIRE_MEM_USE, WIRECLIENT_EPHEMERAL, 4096);
    wireclient_launch(c, 0, 0, 1);
    wireclient_mem_silent(c, WIRE_MEM_DROP, WIRECLIENT_EPHEMERAL, 4096);
    wireclient_say(c, WIRE_ITERATION);
}

/* Averages the samples in the middle half. The clock may count in tens of nanoseconds, which a
 * median would show unchanged. */
static double midmean(uint64_t *ns, uint32_t count) {
    const uint32_t begin = count / 4, end = count - count / 4;
    uint64_t sum = 0;
    qsort(ns, count, sizeof(ns[0]), by_number);
    for (uint32_t i = begin; i < end; i++)
        sum += ns[i];
    return (double)sum / (end - begin);
}

/* The mean time from completion to launch, with `count` clients at work; `share`: the part of
 * the launches that followed another job's. */
static double measure(struct wirebench *b, struct wireclient **clients, int count, double *share) {
    gaps = switched = 0;
    for (int round = 0; round < ROUNDS; round++) {
        if (round == WARM_ROUNDS) gaps = switched = 0;
        for (int i = 0; i < BURST; i++)
            for (int c = 0; c < count; c++)
                iterate(clients[c]);
        done_ns = 0; /* the first operation of a round follows none */
        while (loop_once(b->worker))
            continue;
    }
    *share = (double)switched / gaps;
    return midmean(gaps_ns, gaps);
}

static struct wireclient *join(struct wirebench *b) {
    struct wire_job job = {.flags = WIRE_JOB_RESERVED, .ephemeral_bytes = PAGE};
    struct wireclient *c = wireclient_attach_as(b, &job, 0);
    wireclient_kernels(c, "kern");
    uint64_t ticket = wireclient_mem(c, WIRE_MEM_BACK, WIRECLIENT_EPHEMERAL, PAGE);
    if (wireclient_result(c, ticket)) {
        fprintf(stderr, "switch_bench: the lane has no memory\n");
        exit(1);
    }
    return c;
}

struct result {
    double alone_ns, both_ns, switch_ns;
};

static struct result report(struct wirebench *b, struct wireclient **clients, int repetitions) {
    double alone[SAMPLES_MAX], both[SAMPLES_MAX], beyond[SAMPLES_MAX], share;
    for (int i = 0; i < repetitions; i++) {
        /* Each client runs alone for as long as the other: otherwise FAIR would first compensate
         * the difference. */
        alone[i] = measure(b, clients, 1, &share) / 2;
        alone[i] += measure(b, clients + 1, 1, &share) / 2;
        both[i] = measure(b, clients, 2, &share);
        if (share < 0.95) {
            fprintf(stderr, "switch_bench: only %.0f %% of the turns went to the other\n",
                    share * 100);
            exit(1);
        }
        beyond[i] = both[i] - alone[i];
    }
    qsort(alone, (size_t)repetitions, sizeof(alone[0]), by_value);
    qsort(both, (size_t)repetitions, sizeof(both[0]), by_value);
    qsort(beyond, (size_t)repetitions, sizeof(beyond[0]), by_value);
    return (struct result){alone[repetitions / 2], both[repetitions / 2], beyond[repetitions / 2]};
}

int main(int argc, char **argv) {
    int repetitions = argc > 1 ? atoi(argv[1]) : 9;
    if (repetitions < 1 || repetitions > SAMPLES_MAX) repetitions = 9;
    struct dev_ops ops = fakedev;
    ops.launch = null_launch;
    ops.poll = null_poll;
    ops.driver = NULL;
    struct worker_config config = {
        .ops = &ops, .policy = {.lane = "fair", .exclusive = -1, .swap = -1, .max_lanes = 1}};
    struct wirebench *b = wirebench_start_as(&config);
    struct wireclient *clients[] = {join(b), join(b)};
    struct dev *dev = b->worker->dev;
    uint32_t maps = fakedev_maps(dev);

    struct result r = report(b, clients, repetitions);
    maps = fakedev_maps(dev) - maps;
    uint32_t moves = fakedev_moves(dev);
    uint64_t switches = atom_load_relaxed(&clients[0]->com->stats.switches);
    bool met = r.switch_ns <= GOAL_NS && !maps && !moves;
    printf(
        "switch: from the end of an iteration to the next one in its lane, on a device that does "
        "nothing\n"
        "  of the same job %.0f ns, of the other %.0f ns: a switch %.0f ns   goal %.0f: %s\n"
        "  %" PRIu64 " switches to the first job: %u copies, %u mappings\n",
        r.alone_ns, r.both_ns, r.switch_ns, GOAL_NS, met ? "met" : "MISSED", switches, moves, maps);
    printf("{\"bench\":\"switch\",\"what\":\"switch: to another job of the lane, beyond the same "
           "job's next iteration\","
           "\"ns\":%.1f,\"alone_ns\":%.1f,\"both_ns\":%.1f,\"copies\":%u,\"mappings\":%u,"
           "\"goal\":%.0f,\"goal_unit\":\"ns\",\"verdict\":\"%s\"}\n",
           r.switch_ns, r.alone_ns, r.both_ns, moves, maps, GOAL_NS, met ? "met" : "missed");
    for (int c = 0; c < 2; c++) {
        wireclient_detach(clients[c]);
        wireclient_free(clients[c]);
    }
    wirebench_stop(b);
    return maps || moves ? 1 : 0;
}
