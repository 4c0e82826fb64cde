/* SPDX-License-Identifier: Apache-2.0
 *
 * A ring of latencies, and statistics over a part of it.
 */
#include "daemon/sched/control/service.h"

#include <stdlib.h>
#include <string.h>

void service_begin(struct service *v, uint32_t job) {
    *v = (struct service){.job = job, .next_free = SERVICE_NONE};
}

void service_served(struct service *v, uint64_t latency_ns) {
    v->latency_ns[v->at] = latency_ns;
    v->at = (v->at + 1) % SERVICE_WINDOW;
    if (v->count < SERVICE_WINDOW) v->count++;
    if (v->fresh < UINT32_MAX) v->fresh++;
}

/* Enough for two requests above the quantile; for the 99th percentile the window holds only one. */
uint32_t service_enough(uint32_t percent) {
    if (percent == 0) return 1;
    uint32_t enough = 2 * 100 / (100 - percent);
    return enough < SERVICE_WINDOW ? enough : SERVICE_WINDOW;
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Computes the mean of quotients and remainders, because a plain sum could overflow. */
static uint64_t mean_of(const uint64_t *values, uint32_t count) {
    uint64_t mean = 0, rest = 0;
    for (uint32_t i = 0; i < count; i++) {
        mean += values[i] / count;
        rest += values[i] % count;
    }
    return mean + rest / count;
}

uint64_t service_measure(const struct service *v, uint32_t percent) {
    uint64_t latest[SERVICE_WINDOW];
    uint32_t enough = service_enough(percent), n = v->fresh > enough ? v->fresh : enough;
    if (v->fresh == 0) return 0;
    if (n > v->count) n = v->count;
    for (uint32_t i = 0; i < n; i++)
        latest[i] = v->latency_ns[(v->at + SERVICE_WINDOW - n + i) % SERVICE_WINDOW];
    if (percent == 0) return mean_of(latest, n);
    qsort(latest, n, sizeof(*latest), by_value);
    return latest[(n * percent + 99) / 100 - 1];
}

void service_measured(struct service *v, uint64_t measured_ns, bool violated, bool stuck) {
    v->fresh = 0;
    if (measured_ns == 0) return;
    v->measured_ns = measured_ns;
    v->periods++;
    v->violations += violated;
    v->stuck += stuck;
    v->is_stuck = stuck;
}
