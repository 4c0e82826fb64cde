/* SPDX-License-Identifier: Apache-2.0
 *
 * What the scheduler measured of targets, and what it took from whom for them: looked at after each
 * step that ended a control period. What a job has of its last period, the run does not say.
 */
#include "daemon/sim/run/sim_slo.h"
#include "daemon/sched/core/view.h"

#include <math.h>

/* A period with requests ended: true, and it is in the books. */
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

/* What it had until now; and what it has from now on. */
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
