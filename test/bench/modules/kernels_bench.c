/* SPDX-License-Identifier: Apache-2.0
 *
 * A launch's cost of its kernel's profile: finding and holding the entry on arrival, a sample and
 * counts on completion; and the cost of a launch with new parameters in a full table.
 *
 *   kernels_bench [samples]
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/fdutil.h"
#include "daemon/worker/kernel/kernels.h"
#include "test/bench/lib/floor.h"

#define BURST 20000u
#define NAME "_ZN2at6native29vectorized_elementwise_kernelILi4E2FnEEviT0_"

static struct kernels *table;
static uint32_t draw = 1;

static struct kernel *intern(uint32_t way) {
    struct kernel_profile_key key = {
        way / 8 * 0x9e3779b97f4a7c15ull, {way + 1, 1, 1}, {256, 1, 1}, 0, 7};
    uint32_t created = 0;

    return kernels_intern(table, &key, NAME, 4, &created);
}

static uint32_t any_of(uint32_t ways) {
    draw = draw * 1664525u + 1013904223u;
    return (draw >> 8) % ways;
}

static double burst(void (*one)(uint32_t ways), uint32_t ways) {
    uint64_t from = fdutil_now_ns();

    for (uint32_t i = 0; i < BURST; i++)
        one(ways);
    return (double)(fdutil_now_ns() - from) / BURST;
}

static void launch(uint32_t ways) {
    kernels_drop(table, intern(any_of(ways)));
}

static void launch_and_learn(uint32_t ways) {
    struct kernel *e = intern(any_of(ways));

    kernels_sample(table, e, 4000 + (draw & 0xfff), true);
    kernels_counts(table, e, 1000000, 200000);
    kernels_drop(table, e);
}

static void launch_anew(uint32_t ways) {
    static uint32_t way = 1u << 24;

    kernels_drop(table, intern(way++));
}

/* Known launch configurations: one burst to warm up, then the measured one. */
static double measure_known(void (*one)(uint32_t ways), uint32_t ways) {
    for (uint32_t i = 0; i < ways; i++)
        kernels_drop(table, intern(i));
    burst(one, ways);
    return burst(one, ways);
}

static double measure_launch(void *ways) {
    return measure_known(launch, *(uint32_t *)ways);
}

static double measure_learn(void *ways) {
    return measure_known(launch_and_learn, *(uint32_t *)ways);
}

static double measure_anew(void *ways) {
    return burst(launch_anew, 0);
}

int main(int argc, char **argv) {
    int samples = argc > 1 ? atoi(argv[1]) : 25;
    struct kernels_config config = {.peak = {14000000000000ull, 900000000000ull}, .seed = 5};
    static uint32_t few = 64, some = 1024, full = KERNELS_MAX;
    static struct {
        struct floor_series series;
        double (*measure)(void *);
        void *arg;
    } rows[] = {
        {{.name = "find, hold, release, 64 ways"}, measure_launch, &few},
        {{.name = "find, hold, release, 1024 ways"}, measure_launch, &some},
        {{.name = "find, hold, release, a full table"}, measure_launch, &full},
        {{.name = "the same with sample and counts, 64"}, measure_learn, &few},
        {{.name = "the same with sample and counts, full"}, measure_learn, &full},
        {{.name = "a new way, a full table"}, measure_anew, &full},
    };
    const int count = sizeof(rows) / sizeof(rows[0]);

    if (samples < 1 || samples > FLOOR_SAMPLES) return 2;
    if (kernels_create(&table, &config) < 0) return perror("kernels_bench"), 2;
    if (!floor_start()) return printf("kernels_bench: needs two CPUs: no verdict\n"), 0;
    for (int s = 0; s < samples; s++)
        for (int i = 0; i < count; i++)
            floor_sample(&rows[i].series, rows[i].measure, rows[i].arg);
    floor_print_head("kernels");
    for (int i = 0; i < count; i++)
        floor_print(&rows[i].series);
    for (int i = 0; i < count; i++)
        floor_print_json("kernels", &rows[i].series);
    floor_stop();
    kernels_destroy(table);
    return 0;
}
