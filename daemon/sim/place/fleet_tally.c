/* SPDX-License-Identifier: Apache-2.0
 *
 * Statistics: over time, per ended job, and in total.
 */
#include "daemon/sim/place/fleet_tally.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NS 1e9
#define DAY_NS 86400000000000ll
#define RATIO 5.0 /* GPUColo, section VIII */

/* ---- time ------------------------------------------------------------------------------------ */

static int day_room(struct fleet_result *r, uint32_t day) {
    if (day < r->day_count) return 0;
    struct fleet_day *grown = realloc(r->days, (day + 1) * sizeof(*grown));
    if (!grown) return -ENOMEM;
    memset(&grown[r->day_count], 0, (day + 1 - r->day_count) * sizeof(*grown));
    r->days = grown;
    r->day_count = day + 1;
    return 0;
}

/* GPUs if services and trainings had separate ones in the given ratio. */
static double separate(const struct fleet *f) {
    double ratio = f->rules->separate_ratio > 0 ? f->rules->separate_ratio : RATIO;
    uint32_t trainings = f->used - f->used_services;
    return (1 + ratio) * fmax(trainings, f->used_services / ratio);
}

int fleet_tally_pass(struct fleet *f, int64_t to_ns) {
    struct fleet_result *r = f->result;
    double apart = separate(f);
    r->busiest_gpus = fmax(r->busiest_gpus, f->used);
    while (f->now_ns < to_ns) {
        uint32_t day = (uint32_t)((f->now_ns - f->begin_ns) / DAY_NS);
        int64_t day_end_ns = f->begin_ns + (day + 1) * DAY_NS;
        int64_t until_ns = to_ns < day_end_ns ? to_ns : day_end_ns;
        double s = (double)(until_ns - f->now_ns) / NS;
        if (day_room(r, day)) return -ENOMEM;
        r->days[day].used_gpus += f->used * s;
        r->days[day].separate_gpus += apart * s;
        r->used_gpus += f->used * s;
        r->separate_gpus += apart * s;
        r->util += f->util * s;
        f->now_ns = until_ns;
    }
    return 0;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static double jct_s(const struct fleet *f, uint32_t job) {
    return (double)(f->jobs[job].end_ns - f->jobs[job].first_ns) / NS;
}

static bool violates(const struct fleet *f, uint32_t job) {
    const struct jobset_job *j = &f->set->jobs[job];
    double most = (j->length_s + (double)f->rules->begin_ns / NS) * j->slo;
    return jct_s(f, job) > most * (1 + f->rules->tolerance) + 1e-6;
}

void fleet_tally_job(struct fleet *f, uint32_t job) {
    const struct jobset_job *j = &f->set->jobs[job];
    struct fleet_result *r = f->result;
    r->ended++;
    r->work_gpu_s += j->length_s * j->tasks * j->gpus;
    f->last_end_ns = f->now_ns;
    if (!j->service) return;
    uint32_t day = (uint32_t)(((int64_t)(j->arrival_s * NS) - f->begin_ns) / DAY_NS);
    bool bad = violates(f, job);
    r->services++;
    r->hopeless += j->is.util > j->slo * (1 + f->rules->tolerance);
    r->violations += bad;
    if (day >= r->day_count) return;
    r->days[day].services++;
    r->days[day].violations += bad;
}

/* ---- totals ---------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void spread(struct fleet_spread *out, double *x, uint32_t count) {
    double sum = 0, squares = 0;
    *out = (struct fleet_spread){0};
    if (!count) return;
    for (uint32_t i = 0; i < count; i++)
        sum += x[i];
    out->mean = sum / count;
    for (uint32_t i = 0; i < count; i++)
        squares += (x[i] - out->mean) * (x[i] - out->mean);
    out->deviation = count > 1 ? sqrt(squares / (count - 1)) : 0;
    qsort(x, count, sizeof(*x), by_value);
    out->median = (x[(count - 1) / 2] + x[count / 2]) / 2;
}

static double waited_s(const struct fleet *f, uint32_t job) {
    return (double)f->jobs[job].waited_ns / NS;
}

static double first_s(const struct fleet *f, uint32_t job) {
    return (double)(f->jobs[job].first_ns - (int64_t)(f->set->jobs[job].arrival_s * NS)) / NS;
}

static double slowdown(const struct fleet *f, uint32_t job) {
    return jct_s(f, job) / f->set->jobs[job].length_s;
}

static void over_jobs(const struct fleet *f, struct fleet_spread *out, double *room,
                      double (*of)(const struct fleet *f, uint32_t job)) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < f->set->job_count; i++)
        if (f->jobs[i].state == FLEET_ENDED) room[count++] = of(f, i);
    spread(out, room, count);
}

static void mean_days(struct fleet *f) {
    struct fleet_result *r = f->result;
    for (uint32_t i = 0; i < r->day_count; i++) {
        double left_s = (double)(f->last_end_ns - f->begin_ns) / NS - i * FLEET_DAY_S;
        double s = left_s > 0 && left_s < FLEET_DAY_S ? left_s : FLEET_DAY_S;
        r->days[i].used_gpus /= s;
        r->days[i].separate_gpus /= s;
    }
}

int fleet_tally_all(struct fleet *f) {
    struct fleet_result *r = f->result;
    double *room = malloc((f->set->job_count + 1u) * sizeof(*room));
    if (!room) return -ENOMEM;
    over_jobs(f, &r->wait_s, room, waited_s);
    over_jobs(f, &r->first_s, room, first_s);
    over_jobs(f, &r->jct_s, room, jct_s);
    over_jobs(f, &r->slowdown, room, slowdown);
    free(room);
    r->makespan_s = (double)(f->last_end_ns - f->begin_ns) / NS;
    mean_days(f);
    if (r->makespan_s <= 0) return 0;
    r->used_gpus /= r->makespan_s;
    r->separate_gpus /= r->makespan_s;
    r->util /= r->makespan_s * f->set->gpu_count;
    return 0;
}
