/* SPDX-License-Identifier: Apache-2.0
 *
 * Records the measured latencies of targets, and the pauses and shares imposed for them, after each
 * step that ended a control period. The values since a job's last period are not recorded.
 */
#include "daemon/sim/run/sim_slo.h"
#include "daemon/sched/core/view.h"

#include <math.h>

/* Records a period with requests. Returns true if one ended. */
static bool note_period(struct sim *s, uint32_t job) {
    struct sim_slo *slo = &s->r->jobs[job].slo;
    struct sched_job_view view;
    if (!s->w->jobs[job].slo_ns || !sched_job(s->sched, job + 1, &view)) return false;
    if (view.periods == slo->periods) return false;
    slo->periods = view.periods;
    slo->violations = view.violations;
    slo->stuck = view.stuck;
    slo->measured_ns += (double)view.measured_ns;
    slo->error += fabs((double)view.measured_ns - (double)view.slo_ns) / (double)view.slo_ns;
    return true;
}

/* Integrates the job's values up to now, and reads the new values. */
static void note_job(struct sim *s, uint32_t job) {
    struct sim_slo *slo = &s->r->jobs[job].slo;
    struct sched_job_view view;
    if (s->jobs[job].state != SIM_ADMITTED || !sched_job(s->sched, job + 1, &view)) return;
    double dt = slo->noted ? (double)(s->now_ns - slo->noted_ns) : 0;
    slo->seen_ns += dt;
    slo->pause_ns += dt * (double)slo->now_pause_ns;
    slo->sms += dt * slo->now_sms;
    slo->noted = true;
    slo->noted_ns = s->now_ns;
    slo->now_pause_ns = view.pause_ns;
    slo->now_sms = view.sms ? view.sms : s->w->sms;
    for (uint32_t i = 0; i < s->config->watches_count; i++) {
        const struct sim_watch *watch = &s->config->watches[i];
        if (watch->controlled) watch->controlled(watch->self, s->now_ns, job, &view);
    }
}

void sim_note_slos(struct sim *s) {
    bool ended = false;
    for (uint32_t i = 0; s->slos && i < s->w->count; i++)
        ended |= note_period(s, i);
    for (uint32_t i = 0; ended && i < s->w->count; i++)
        note_job(s, i);
}
