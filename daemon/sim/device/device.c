/* SPDX-License-Identifier: Apache-2.0
 *
 * Delegates to the model of the workload's grain. Iterations that are not ready wait here.
 */
#include "daemon/sim/device/device.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/sched/policy/contention.h"
#include "daemon/sim/base/timers.h"
#include "daemon/sim/device/simdev.h"

struct device {
    struct kdev *kernels; /* NULL: the grain is iterations */
    uint32_t sms;
    struct kdev_work *works;
    struct simdev *iterations;
    struct timers ready; /* start times of iterations that are not ready */
    uint64_t *durations; /* durations of these iterations, indexed by job */
};

static int create_kernels(struct device *d, const struct workload *w, uint32_t depth,
                          struct kdev_contention contention) {
    if (contention.slots <= 0) contention.slots = w->slots_milli / 1000.0;
    if (contention.left <= 0) contention.left = w->left_milli / 1000.0;
    if (contention.slots <= 0) contention.slots = CONTENTION_SLOTS / 1000.0;
    if (contention.left <= 0) contention.left = CONTENTION_LEFT / 1000.0;
    contention.sliced = w->sliced;
    contention.wait_ns = w->wait_ns;
    d->works = malloc((w->kernels_count + 1u) * sizeof(*d->works));
    if (!d->works) return -ENOMEM;
    for (uint32_t i = 0; i < w->kernels_count; i++)
        d->works[i] = kdev_work_of(w, &w->kernels[i]);
    int err = kdev_create(&d->kernels, &contention, w->count, depth);
    if (err) return err;
    kdev_slice(d->kernels, w->slice_ns);
    if (w->subgrids) kdev_subgrids(d->kernels);
    return 0;
}

static int create_iterations(struct device *d, const struct workload *w) {
    d->durations = calloc(w->count + 1u, sizeof(*d->durations));
    if (timers_init(&d->ready, w->count) || !d->durations) return -ENOMEM;
    return simdev_create(&d->iterations, w);
}

int device_create(struct device **out, const struct workload *w, uint32_t depth,
                  struct kdev_contention contention) {
    struct device *d = *out = calloc(1, sizeof(*d));
    if (!d) return -ENOMEM;
    d->sms = w->sms;
    int err =
        workload_of_kernels(w) ? create_kernels(d, w, depth, contention) : create_iterations(d, w);
    if (err) {
        device_destroy(d);
        *out = NULL;
    }
    return err;
}

void device_destroy(struct device *d) {
    if (!d) return;
    kdev_destroy(d->kernels);
    simdev_destroy(d->iterations);
    free(d->works);
    timers_finish(&d->ready);
    free(d->durations);
    free(d);
}

void device_iteration(struct device *d, uint64_t now_ns, uint32_t job, uint64_t ready_ns,
                      uint64_t duration_ns) {
    if (ready_ns <= now_ns) {
        simdev_start(d->iterations, now_ns, job, duration_ns);
        return;
    }
    d->durations[job] = duration_ns;
    timers_add(&d->ready, ready_ns, job);
}

void device_kernel(struct device *d, uint64_t now_ns, uint32_t job, uint64_t ready_ns,
                   uint32_t kernel, uint32_t level) {
    kdev_push(d->kernels, now_ns, job, &d->works[kernel], ready_ns, level);
}

void device_share(struct device *d, uint32_t job, uint32_t sms) {
    if (d->kernels) kdev_share(d->kernels, job, sms ? (double)sms / d->sms : 1);
}

void device_still(struct device *d, uint64_t now_ns, uint32_t job, bool still) {
    if (d->kernels) kdev_still(d->kernels, now_ns, job, still);
}

uint64_t device_next(struct device *d) {
    if (d->kernels) return kdev_next(d->kernels);
    uint64_t next = simdev_next(d->iterations), ready = timers_next(&d->ready);
    return ready < next ? ready : next;
}

uint32_t device_finished(struct device *d, uint64_t now_ns, uint32_t *jobs) {
    if (d->kernels) return kdev_finished(d->kernels, now_ns, jobs);
    uint32_t count = simdev_finished(d->iterations, now_ns, jobs);
    while (timers_next(&d->ready) <= now_ns) {
        uint32_t job = timers_take(&d->ready);
        simdev_start(d->iterations, now_ns, job, d->durations[job]);
    }
    return count;
}

double device_active_ns(const struct device *d) {
    return d->kernels ? kdev_active_ns(d->kernels) : simdev_active_ns(d->iterations);
}

double device_running_ns(const struct device *d) {
    return d->kernels ? kdev_running_ns(d->kernels) : simdev_running_ns(d->iterations);
}
