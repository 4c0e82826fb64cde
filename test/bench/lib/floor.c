/* SPDX-License-Identifier: Apache-2.0
 *
 * The peer thread, the ping-pong, and the statistics of samples.
 */
#include "test/bench/lib/floor.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/atomics.h"
#include "common/fdutil.h"

#define BATCHES 15
#define BATCH_TRIPS 200
#define LINE __attribute__((aligned(128)))

static struct {
    _Atomic uint64_t jobs LINE; /* jobs given to the peer */
    _Atomic uint64_t done LINE; /* jobs finished by it */
    _Atomic uint64_t ping LINE;
    _Atomic uint64_t pong LINE;
    void (*fn)(void *) LINE;
    void *arg;
    pthread_t thread;
} peer;

static void *peer_main(void *arg) {
    for (uint64_t job = 1;; job++) {
        while (atom_load_acquire(&peer.jobs) < job)
            atom_pause();
        if (!peer.fn) return arg;
        peer.fn(peer.arg);
        atom_store_release(&peer.done, job);
    }
}

bool floor_start(void) {
    cpu_set_t allowed, one;
    int cpus[2], found = 0;
    sched_getaffinity(0, sizeof(allowed), &allowed);
    for (int cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++) {
        if (CPU_ISSET(cpu, &allowed)) cpus[found++] = cpu;
    }
    if (found < 2) return false;
    if (pthread_create(&peer.thread, NULL, peer_main, NULL)) return false;
    CPU_ZERO(&one);
    CPU_SET(cpus[1], &one);
    pthread_setaffinity_np(peer.thread, sizeof(one), &one);
    CPU_ZERO(&one);
    CPU_SET(cpus[0], &one);
    sched_setaffinity(0, sizeof(one), &one);
    return true;
}

void floor_peer_run(void (*fn)(void *), void *arg) {
    peer.fn = fn;
    peer.arg = arg;
    atom_store_release(&peer.jobs, atom_load_relaxed(&peer.jobs) + 1);
}

void floor_peer_wait(void) {
    while (atom_load_acquire(&peer.done) != atom_load_relaxed(&peer.jobs))
        atom_pause();
}

void floor_stop(void) {
    floor_peer_run(NULL, NULL);
    pthread_join(peer.thread, NULL);
}

/* Neither loop pauses: the floor is the best that the hardware can do. */
static void echo(void *arg) {
    uint64_t trips = *(const uint64_t *)arg;
    for (uint64_t i = 1; i <= trips; i++) {
        while (atom_load_acquire(&peer.ping) != i) {
        }
        atom_store_release(&peer.pong, i);
    }
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double floor_ns(void) {
    uint64_t trips = BATCHES * BATCH_TRIPS, trip = 1;
    double batch[BATCHES];
    atom_store_relaxed(&peer.ping, 0);
    atom_store_relaxed(&peer.pong, 0);
    floor_peer_run(echo, &trips);
    for (int b = 0; b < BATCHES; b++) {
        uint64_t start = fdutil_now_ns();
        for (int i = 0; i < BATCH_TRIPS; i++, trip++) {
            atom_store_release(&peer.ping, trip);
            while (atom_load_acquire(&peer.pong) != trip) {
            }
        }
        batch[b] = (double)(fdutil_now_ns() - start) / BATCH_TRIPS;
    }
    floor_peer_wait();
    qsort(batch, BATCHES, sizeof(batch[0]), by_value);
    return batch[BATCHES / 2];
}

static void take(struct floor_series *s, double (*measure)(void *), void *arg) {
    double before = floor_ns();
    double ns = measure(arg);
    double after = floor_ns();
    double low = before < after ? before : after, high = before < after ? after : before;
    if (high > FLOOR_STEADY * low || s->count == FLOOR_SAMPLES) {
        s->dropped++;
        return;
    }
    s->ns[s->count] = ns;
    s->floor[s->count++] = (before + after) / 2;
}

/* A caller that asks for a single sample, such as the benches' own test, gets it on a busy
 * machine too. */
void floor_sample(struct floor_series *s, double (*measure)(void *), void *arg) {
    do
        take(s, measure, arg);
    while (s->count == 0 && s->dropped < FLOOR_FIRST);
}

/* ---- statistics of one mode ------------------------------------------------------------------ */

struct summary {
    int count;
    double ns, floor, ratio; /* medians */
    double ratio_p10, ratio_p90, floor_p10, floor_p90;
    const char *verdict;
};

static double at(const double *sorted, int count, double quantile) {
    return sorted[(int)(quantile * (count - 1) + 0.5)];
}

static const char *judge(const struct floor_series *s, const struct summary *m) {
    if (m->floor_p90 > FLOOR_STEADY * m->floor_p10) return "no verdict: the floor moved";
    if (m->count < FLOOR_ENOUGH) return "no verdict: too few samples";
    if (s->goal == 0) return "-";
    return (s->goal_is_ns ? m->ns : m->ratio) <= s->goal ? "met" : "missed";
}

static struct summary summarise(const struct floor_series *s, bool far) {
    double ns[FLOOR_SAMPLES], floor[FLOOR_SAMPLES], ratio[FLOOR_SAMPLES];
    struct summary m = {0};
    for (int i = 0; i < s->count; i++) {
        if ((s->floor[i] >= FLOOR_FAR_NS) != far) continue;
        ns[m.count] = s->ns[i];
        floor[m.count] = s->floor[i];
        ratio[m.count++] = s->ns[i] / s->floor[i];
    }
    if (m.count == 0) return m;
    qsort(ns, (size_t)m.count, sizeof(ns[0]), by_value);
    qsort(floor, (size_t)m.count, sizeof(floor[0]), by_value);
    qsort(ratio, (size_t)m.count, sizeof(ratio[0]), by_value);
    m.ns = at(ns, m.count, 0.5);
    m.floor = at(floor, m.count, 0.5);
    m.floor_p10 = at(floor, m.count, 0.1);
    m.floor_p90 = at(floor, m.count, 0.9);
    m.ratio = at(ratio, m.count, 0.5);
    m.ratio_p10 = at(ratio, m.count, 0.1);
    m.ratio_p90 = at(ratio, m.count, 0.9);
    m.verdict = judge(s, &m);
    return m;
}

/* ---- output ---------------------------------------------------------------------------------- */

void floor_print_head(const char *bench) {
    printf("%-44s %-4s %4s %8s %9s %7s %-15s %-9s %s\n", bench, "mode", "n", "floor ns", "ns",
           "x floor", "   p10..p90", "goal", "verdict");
}

static void put_goal(const struct floor_series *s, char *text, size_t cap) {
    if (s->goal == 0)
        snprintf(text, cap, "-");
    else if (s->goal_is_ns)
        snprintf(text, cap, "<=%.0f ns", s->goal);
    else
        snprintf(text, cap, "<=%.2fx", s->goal);
}

int floor_print(const struct floor_series *s) {
    int missed = 0, shown = 0;
    char goal[32];
    put_goal(s, goal, sizeof(goal));
    for (int far = 0; far < 2; far++) {
        struct summary m = summarise(s, far);
        if (m.count == 0) continue;
        printf("%-44s %-4s %4d %8.1f %9.1f %7.3f %6.3f..%-6.3f  %-9s %s\n", s->name,
               far ? "FAR" : "NEAR", m.count, m.floor, m.ns, m.ratio, m.ratio_p10, m.ratio_p90,
               goal, m.verdict);
        missed += m.verdict[0] == 'm' && m.verdict[1] == 'i';
        shown++;
    }
    if (!shown) printf("%-44s no verdict: the floor moved in every sample\n", s->name);
    return missed;
}

void floor_print_json(const char *bench, const struct floor_series *s) {
    for (int far = 0; far < 2; far++) {
        struct summary m = summarise(s, far);
        if (m.count == 0) continue;
        printf("{\"bench\":\"%s\",\"what\":\"%s\",\"mode\":\"%s\",\"samples\":%d,\"dropped\":%d,"
               "\"floor_ns\":%.2f,\"ns\":%.2f,\"ratio\":%.4f,\"ratio_p10\":%.4f,"
               "\"ratio_p90\":%.4f,\"goal\":%g,\"goal_unit\":\"%s\",\"verdict\":\"%s\"}\n",
               bench, s->name, far ? "far" : "near", m.count, s->dropped, m.floor, m.ns, m.ratio,
               m.ratio_p10, m.ratio_p90, s->goal, s->goal_is_ns ? "ns" : "floor", m.verdict);
    }
}
