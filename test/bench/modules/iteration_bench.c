/* SPDX-License-Identifier: Apache-2.0
 *
 * The iteration detector's cost for a launch: while it searches, while it follows a period, and in
 * the worst case, when it is misled. There is no goal; an operation may cost the worker 115 ns.
 *
 *   iteration_bench [samples]
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/fdutil.h"
#include "daemon/worker/iteration/iteration.h"

#define LAUNCHES 400000u
#define SAMPLES_MAX 99

struct step {
    uint64_t fingerprint, live;
};

static uint32_t random_state = 1;

static uint32_t next_random(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state;
}

static struct step training(uint32_t i, uint32_t period) {
    uint32_t at = i % period, depth = at < period / 2 ? at : period - 1 - at;
    return (struct step){.fingerprint = (at + 1) * 0x9e3779b97f4a7c15ull,
                         .live = depth * 100000ull};
}

static struct step follow_short(uint32_t i) {
    return training(i, 100);
}

static struct step follow_long(uint32_t i) {
    return training(i, 8000);
}

static struct step random_kernels(uint32_t i) {
    return (struct step){.fingerprint = next_random() % 20,
                         .live = next_random() % 1000 * 10000ull};
}

static struct step new_kernels(uint32_t i) {
    return (struct step){.fingerprint = i};
}

/* A period that memory calls contradict: it is dropped all the time, and the whole window is
 * searched. */
static struct step refused(uint32_t i) {
    return (struct step){.fingerprint = i % 340, .live = (1ull << 40) - i * 100000ull};
}

/* The distance changes all the time, and each repeats for a while. */
static struct step misleading(uint32_t i) {
    uint32_t stretch = i / 3000;
    return (struct step){.fingerprint = i % (100 + stretch % 50) % 90, .live = i % 7 * 1000};
}

static const struct {
    const char *what;
    struct step (*step)(uint32_t i);
} cases[] = {
    {"follows a period of 100", follow_short}, {"finds and follows one of 8000", follow_long},
    {"random kernels", random_kernels},        {"ever new kernels", new_kernels},
    {"a period that memory refuses", refused}, {"periods that change", misleading},
};

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double measure(const struct step *steps) {
    struct iteration *it;
    if (iteration_create(&it)) abort();
    uint64_t begin = fdutil_now_ns();
    for (uint32_t i = 0; i < LAUNCHES; i++)
        iteration_launch(it, steps[i].fingerprint, steps[i].live, i * 1000ull);
    double ns = (double)(fdutil_now_ns() - begin) / LAUNCHES;
    iteration_destroy(it);
    return ns;
}

int main(int argc, char **argv) {
    int samples = argc > 1 ? atoi(argv[1]) : 9;
    double ns[SAMPLES_MAX];
    struct step *steps = malloc(LAUNCHES * sizeof(*steps));
    if (!steps) return 1;
    if (samples < 1 || samples > SAMPLES_MAX) samples = 9;
    printf("iteration: what a launch costs the detector\n");
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        for (uint32_t i = 0; i < LAUNCHES; i++)
            steps[i] = cases[k].step(i);
        for (int i = 0; i < samples; i++)
            ns[i] = measure(steps);
        qsort(ns, (size_t)samples, sizeof(ns[0]), by_value);
        printf("  %-32s %6.1f ns (best %.1f)\n", cases[k].what, ns[samples / 2], ns[0]);
        printf("{\"bench\":\"iteration\",\"what\":\"iteration: %s\",\"value\":%.1f,"
               "\"unit\":\"ns\",\"verdict\":\"-\"}\n",
               cases[k].what, ns[samples / 2]);
    }
    free(steps);
    return 0;
}
