/* SPDX-License-Identifier: Apache-2.0
 *
 * Computes values derived from jobs and kernels, and frees a workload.
 */
#include "daemon/sim/workload/workload.h"

#include <stdlib.h>

/* Computes the profile of a right-sized kernel: with fewer SMs it takes proportionally longer. For
 * the scheduler, a kernel that needs no more SMs than the device has is one wave, as long as its
 * tail. The tail is therefore set to the length of the real waves. */
static void fit(const struct workload *w, struct workload_kernel *k) {
    uint32_t sms = workload_fit_sms(w, k);
    k->fit = k->profile;
    if (sms == k->sms) return;
    k->fit.mean_ns = k->duration_ns * k->full / sms;
    k->fit.tail_ns = k->fit.mean_ns * sms / k->sms;
    k->fit.sms = sms;
}

void workload_profile(struct workload *w) {
    for (uint32_t i = 0; i < w->kernels_count; i++) {
        struct workload_kernel *k = &w->kernels[i];
        k->profile = (struct sched_kernel){.mean_ns = k->duration_ns,
                                           .tail_ns = k->duration_ns,
                                           .sms = k->sms,
                                           .class = k->copy ? SCHED_CLASS_COPY : k->class};
        if (k->compute_milli != WORKLOAD_BY_CLASS) k->profile.compute_milli = k->compute_milli;
        if (k->memory_milli != WORKLOAD_BY_CLASS) k->profile.memory_milli = k->memory_milli;
        fit(w, k);
    }
    for (uint32_t n = 0; n < w->sequences_count; n++) {
        struct workload_sequence *q = &w->sequences[n];
        q->total_ns = q->busy_ns = 0;
        for (uint32_t i = 0; i < q->count; i++) {
            q->total_ns += w->kernels[q->first + i].duration_ns;
            q->busy_ns += workload_kernel_busy_ns(w, &w->kernels[q->first + i]);
        }
    }
}

void workload_finish(struct workload *w) {
    arena_destroy(w->arena);
    free(w->jobs);
    free(w->kernels);
    free(w->sequences);
    free(w->gap_ns);
    free(w->gaps);
    *w = (struct workload){0};
}
