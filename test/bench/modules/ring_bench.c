/* SPDX-License-Identifier: Apache-2.0
 *
 * The cost of the ring: a launch on the client's side, an operation on the worker's side, and a
 * round trip. The worker polls all the time, so no wake-up is measured.
 *
 * A launch costs its client little when the worker is busy with earlier ones, because then no other
 * CPU reads the slot ("behind": each operation takes the worker 2.3 us, as long as a driver's
 * launch). It costs a transfer of cache lines when the worker already polls that very slot ("at the
 * tip": launches a microsecond apart). Both are shown.
 *
 *   ring_bench [samples]
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/atomics.h"
#include "common/fdutil.h"
#include "proto/wire/record.h"
#include "proto/wire/ring.h"
#include "shim/lock.h"
#include "test/bench/lib/floor.h"

#define BURST 256
#define BURSTS 15
#define SERVICE_NS 2300
#define CLIENTS_MAX 1000
#define LINE __attribute__((aligned(128)))

/* The memory that a client and the worker share. */
struct shared {
    _Atomic uint32_t sleeping LINE;
    _Atomic uint64_t credit LINE;
    _Atomic uint64_t completed LINE; /* operations the worker has finished */
    struct wire_reply reply LINE;
    struct ring_memory ring __attribute__((aligned(4096)));
};

/* In production the two sides are two processes, so their cursors never share a cache line. */
struct client {
    struct ring_tx tx LINE;
    struct ring_rx rx LINE;
    struct shared *shared LINE;
};

static struct client clients[CLIENTS_MAX];
static _Atomic uint32_t stop LINE;

static double median(double *values, int count) {
    for (int i = 1; i < count; i++) { /* insertion sort, because there are few values */
        double v = values[i];
        int j = i;
        for (; j > 0 && values[j - 1] > v; j--)
            values[j] = values[j - 1];
        values[j] = v;
    }
    return values[count / 2];
}

static void spin_ns(uint64_t ns) {
    for (uint64_t end = fdutil_now_ns() + ns; fdutil_now_ns() < end;)
        atom_pause();
}

/* ---- the worker, on the peer's CPU ----------------------------------------------------------- */

#define QUEUE 1024
static unsigned char queue[QUEUE][256]; /* a stream's private queue, as far as the bench needs it */
static uint64_t queued;
static unsigned char record[RING_RECORD_MAX] __attribute__((aligned(64)));

/* Pops and validates a record and passes it to the client's stream. Returns whether there was
 * one. */
static bool worker_step(struct client *c) {
    char why[128];
    int bytes = ring_pop(&c->rx, record, sizeof(record));
    if (bytes == 0) return false;
    if (bytes < 0 || record_check(record, (uint32_t)bytes, why, sizeof(why))) abort();
    const struct wire_record *r = (const struct wire_record *)record;
    memcpy(queue[queued++ % QUEUE], record, (size_t)bytes < 256 ? (size_t)bytes : 256);
    if (r->ticket) atom_store_release(&c->shared->reply.ticket, r->ticket);
    return true;
}

static uint64_t service_ns;

static void worker_loop(void *arg) {
    struct client *c = arg;
    uint64_t done = atom_load_relaxed(&c->shared->completed);
    while (!atom_load_relaxed(&stop)) {
        if (!worker_step(c)) continue;
        if (service_ns) spin_ns(service_ns);
        atom_store_release(&c->shared->completed, ++done);
    }
}

static void worker_begin(struct client *c, uint64_t service) {
    service_ns = service;
    atom_store_relaxed(&stop, 0);
    floor_peer_run(worker_loop, c);
}

static void worker_end(void) {
    atom_store_relaxed(&stop, 1);
    floor_peer_wait();
}

/* ---- the client ------------------------------------------------------------------------------ */

static void wake(void *arg) {
    fprintf(stderr, "ring_bench: the worker slept\n");
    abort();
}
static const struct doorbell_ops doorbell = {.wake = wake};

struct launch_plan {
    uint32_t param_bytes;
    bool locked;         /* takes the lock, as the shim does */
    uint64_t service_ns; /* time of an operation in the worker */
    uint64_t think_ns;   /* time between launches */
};

static struct lock lock;
static _Atomic uint64_t last_seq;

/* The part of cuLaunchKernel after the arguments have been gathered. */
static __attribute__((noinline)) void launch(struct client *c, struct wire_launch *l,
                                             const void *params, bool locked) {
    if (locked) lock_take(&lock);
    l->rec.seq = atom_load_relaxed(&last_seq) + 1;
    while (ring_push(&c->tx, l, sizeof(*l), params, l->param_bytes))
        atom_pause();
    atom_store_relaxed(&last_seq, l->rec.seq);
    if (locked) lock_drop(&lock);
    doorbell_ring(&c->shared->sleeping, &doorbell, NULL);
}

/* A think time that reads no clock: `turns` iterations of a loop that the compiler must keep. */
static void think(uint64_t turns) {
    for (uint64_t i = 0; i < turns; i++)
        __asm__ volatile("");
}

static double turns_per_ns;

static void calibrate(void) {
    uint64_t start = fdutil_now_ns();
    think(20000000);
    turns_per_ns = 20000000.0 / (double)(fdutil_now_ns() - start);
}

static double burst_ns(struct client *c, const struct launch_plan *p, bool push) {
    static unsigned char params[256];
    struct wire_launch l = {.rec = {.op = WIRE_LAUNCH},
                            .grid = {128, 1, 1},
                            .block = {256, 1, 1},
                            .param_bytes = p->param_bytes};
    uint64_t turns = (uint64_t)((double)p->think_ns * turns_per_ns);
    uint64_t start = fdutil_now_ns();
    for (unsigned i = 0; i < BURST; i++) {
        if (push) launch(c, &l, params, p->locked);
        if (turns) think(turns);
    }
    return (double)(fdutil_now_ns() - start) / BURST;
}

/* One sample: the median of bursts, each begun with an empty ring, minus the think time. */
static double measure_launch(void *arg) {
    const struct launch_plan *p = arg;
    struct client *c = &clients[0];
    double ns[BURSTS], idle[BURSTS];
    worker_begin(c, p->service_ns);
    for (int b = 0; b < BURSTS; b++) {
        uint64_t sent = atom_load_relaxed(&c->shared->completed) + BURST;
        ns[b] = burst_ns(c, p, true);
        while (atom_load_acquire(&c->shared->completed) != sent)
            atom_pause();
        idle[b] = p->think_ns ? burst_ns(c, p, false) : 0;
    }
    worker_end();
    return median(ns, BURSTS) - (p->think_ns ? median(idle, BURSTS) : 0);
}

/* ---- round trip ------------------------------------------------------------------------------ */

static double measure_round_trip(void *arg) {
    struct client *c = &clients[0];
    static uint64_t ticket;
    struct wire_ping ping = {.rec = {.op = WIRE_PING}};
    double ns[BURSTS];
    worker_begin(c, 0);
    for (int b = 0; b < BURSTS; b++) {
        uint64_t start = fdutil_now_ns();
        for (int i = 0; i < BURST; i++) {
            ping.rec.ticket = ++ticket;
            while (ring_push(&c->tx, &ping, sizeof(ping), NULL, 0))
                atom_pause();
            doorbell_ring(&c->shared->sleeping, &doorbell, NULL);
            while (atom_load_acquire(&c->shared->reply.ticket) != ticket) {
            }
        }
        ns[b] = (double)(fdutil_now_ns() - start) / BURST;
    }
    worker_end();
    return median(ns, BURSTS);
}

/* ---- the worker's cost ----------------------------------------------------------------------- */

struct drain {
    int clients, each;
    double ns;
};

/* Sweeps until every ring is empty, as the worker does: a share of each ring at a time. */
static void drain(void *arg) {
    struct drain *d = arg;
    uint64_t ops = 0, found, start = fdutil_now_ns();
    do {
        found = 0;
        for (int i = 0; i < d->clients; i++) {
            for (int share = 64; share > 0 && worker_step(&clients[i]); share--)
                found++;
        }
        ops += found;
    } while (found);
    uint64_t ns = fdutil_now_ns() - start;
    if (ops != (uint64_t)d->clients * (uint64_t)d->each) abort();
    d->ns = (double)ns / (double)ops;
}

static double measure_drain(void *arg) {
    struct drain *d = arg;
    unsigned char params[40] = {0};
    struct wire_launch l = {.rec = {.op = WIRE_LAUNCH},
                            .grid = {128, 1, 1},
                            .block = {256, 1, 1},
                            .param_bytes = sizeof(params)};
    double ns[5];
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < d->clients; i++) {
            for (int n = 0; n < d->each; n++)
                launch(&clients[i], &l, params, false);
        }
        floor_peer_run(drain, d);
        floor_peer_wait();
        ns[round] = d->ns;
    }
    return median(ns, 5);
}

static double swept_ns;

static void sweep_idle(void *arg) {
    int count = *(const int *)arg, rounds = 200000 / count + 1;
    uint64_t start = fdutil_now_ns();
    for (int r = 0; r < rounds; r++) {
        for (int i = 0; i < count; i++) {
            if (worker_step(&clients[i])) abort();
        }
    }
    swept_ns = (double)(fdutil_now_ns() - start) / ((double)rounds * count);
}

static double measure_idle(void *arg) {
    floor_peer_run(sweep_idle, arg);
    floor_peer_wait();
    return swept_ns;
}

/* ---- the whole bench ------------------------------------------------------------------------- */

static pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;

/* The client's second thread: waits, as in most CUDA programs. */
static void *second_thread(void *arg) {
    pthread_mutex_lock(&idle_lock);
    pthread_mutex_unlock(&idle_lock);
    return arg;
}

static bool make_clients(void) {
    size_t bytes = sizeof(struct shared) * CLIENTS_MAX;
    struct shared *all =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (all == MAP_FAILED) return false;
    for (int i = 0; i < CLIENTS_MAX; i++) {
        clients[i].shared = &all[i];
        ring_tx_init(&clients[i].tx, &all[i].ring, &all[i].credit);
        ring_rx_init(&clients[i].rx, &all[i].ring, &all[i].credit);
    }
    return true;
}

int main(int argc, char **argv) {
    int samples = argc > 1 ? atoi(argv[1]) : 25;
    if (samples < 1 || samples > FLOOR_SAMPLES) return 2;
    if (!make_clients()) return perror("ring_bench"), 2;
    if (!floor_start()) return printf("ring_bench: needs two CPUs: no verdict\n"), 0;
    pthread_t second;
    pthread_mutex_lock(&idle_lock);
    if (pthread_create(&second, NULL, second_thread, NULL)) return 2;
    calibrate();

    static struct launch_plan plans[] = {{40, false, SERVICE_NS, 0},
                                         {40, true, SERVICE_NS, 0},
                                         {64, true, SERVICE_NS, 0},
                                         {40, true, 0, 1000},
                                         {40, true, 0, 0}};
    static struct drain drains[] = {{1, 700, 0}, {100, 10, 0}, {1000, 1, 0}};
    static int idle[] = {100, 1000};
    static struct {
        struct floor_series series;
        double (*measure)(void *);
        void *arg;
    } rows[] = {
        {{.name = "launch, 104 B, worker behind", .goal = 0.15}, measure_launch, &plans[0]},
        {{.name = "the same under the shim's lock", .goal = 0.15}, measure_launch, &plans[1]},
        {{.name = "the same, 128 B (two slots)"}, measure_launch, &plans[2]},
        {{.name = "launch, 104 B, lock, worker at the tip"}, measure_launch, &plans[3]},
        {{.name = "launch, 104 B, lock, flat out"}, measure_launch, &plans[4]},
        {{.name = "round trip, spinning", .goal = 1.25}, measure_round_trip, NULL},
        {{.name = "worker, an operation, 1 client", .goal = 115, .goal_is_ns = true},
         measure_drain,
         &drains[0]},
        {{.name = "worker, an operation, 100 clients", .goal = 115, .goal_is_ns = true},
         measure_drain,
         &drains[1]},
        {{.name = "worker, an operation, 1000 clients"}, measure_drain, &drains[2]},
        {{.name = "worker, a look at an idle ring, 100"}, measure_idle, &idle[0]},
        {{.name = "worker, a look at an idle ring, 1000"}, measure_idle, &idle[1]},
    };
    const int count = sizeof(rows) / sizeof(rows[0]);
    for (int s = 0; s < samples; s++) {
        for (int i = 0; i < count; i++)
            floor_sample(&rows[i].series, rows[i].measure, rows[i].arg);
    }
    floor_print_head("ring");
    for (int i = 0; i < count; i++)
        floor_print(&rows[i].series);
    for (int i = 0; i < count; i++)
        floor_print_json("ring", &rows[i].series);
    floor_stop();
    pthread_mutex_unlock(&idle_lock);
    pthread_join(second, NULL);
    return 0;
}
