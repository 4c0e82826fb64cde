/* SPDX-License-Identifier: Apache-2.0
 *
 * Counters come from the page that the worker writes, so they cost it nothing; each is read once.
 */
#include "daemon/broker/jobs/report_job.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/atomics.h"
#include "common/reason.h"
#include "daemon/broker/config/limits.h"
#include "daemon/broker/jobs/running.h"
#include "daemon/broker/printable.h"

#define GPU_ID 0

static uint64_t nanoseconds(const struct timespec *t) {
    return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
}

/* The CUresult of what failed in the job, 0 while nothing did, and what happened. One that only
 * ended has the word as well, for those who wait for it, but no fault of its own. */
static uint64_t read_fault(const struct wire_completion *com, char *out, size_t cap) {
    const struct wire_fault *f = &com->fault;
    char text[sizeof(f->text) + 1], kernel[sizeof(f->kernel) + 1];
    uint64_t fault = atom_load_acquire(&f->cuda); /* stored last: what follows is complete */

    if (fault == 0 || atom_load_relaxed(&com->stats.faults) == 0) return 0;
    printable_copy(text, f->text, sizeof(f->text));
    printable_copy(kernel, f->kernel, sizeof(f->kernel));
    if (*kernel)
        snprintf(out, cap, "kernel %.120s, launch %" PRIu64 ": %.240s", kernel, f->launch, text);
    else
        snprintf(out, cap, "%.240s", text);
    return fault;
}

static void fill_counters(const struct wire_stats *st, struct ctl_job *r) {
    r->memory_bytes = atom_load_relaxed(&st->memory_bytes);
    r->launches = atom_load_relaxed(&st->launches);
    r->copies = atom_load_relaxed(&st->copies);
    r->copied_bytes = atom_load_relaxed(&st->copied_bytes);
    r->ops = atom_load_relaxed(&st->ops);
    r->queued = atom_load_relaxed(&st->queued);
    r->modules = atom_load_relaxed(&st->modules);
    r->functions = atom_load_relaxed(&st->functions);
    r->faults = atom_load_relaxed(&st->faults);
}

static void fill_running(const struct attachment *a, struct ctl_job *r) {
    struct running_view v;

    running_view(a->completion, &v);
    r->busy_ns = v.busy_ns;
    r->running_ns = v.age_ns;
    if (v.age_ns) snprintf(r->running, sizeof(r->running), "%s", v.what);
}

static void fill_scheduling(const struct wire_stats *st, struct ctl_job *r) {
    r->lane = atom_load_relaxed(&st->lane); /* both have 0 for none */
    r->position = atom_load_relaxed(&st->position);
    r->turn = atom_load_relaxed(&st->turn);
    r->waited_ns = atom_load_relaxed(&st->waited_ns);
    r->persistent_bytes = atom_load_relaxed(&st->persistent_bytes);
    r->ephemeral_bytes = atom_load_relaxed(&st->ephemeral_bytes);
    r->persistent_peak_bytes = atom_load_relaxed(&st->persistent_peak);
    r->ephemeral_peak_bytes = atom_load_relaxed(&st->ephemeral_peak);
    r->iterations = atom_load_relaxed(&st->iterations);
    r->iteration_ns = atom_load_relaxed(&st->iteration_ns);
    r->request_ns = atom_load_relaxed(&st->request_ns);
    r->inflight_cap = atom_load_relaxed(&st->inflight_cap);
    r->demand_milli = atom_load_relaxed(&st->demand_milli);
    r->switches = atom_load_relaxed(&st->switches);
    r->switched_bytes = atom_load_relaxed(&st->switch_bytes);
    r->survivors = atom_load_relaxed(&st->survivors);
    r->survived_bytes = atom_load_relaxed(&st->survivor_bytes);
    r->swaps = atom_load_relaxed(&st->swaps);
    r->swapped_bytes = atom_load_relaxed(&st->swap_bytes);
    r->cleared_bytes = atom_load_relaxed(&st->cleared_bytes);
    snprintf(r->why, sizeof(r->why), "%s", reason_why(atom_load_relaxed(&st->why)));
    snprintf(r->boundaries, sizeof(r->boundaries), "%s",
             reason_source(atom_load_relaxed(&st->source)));
    if (atom_load_relaxed(&st->measured) == 1 && strcmp(r->word, "given") != 0)
        snprintf(r->word, sizeof(r->word), "measured");
}

static const char *state_of(const struct attachment *a, const struct ctl_job *r) {
    if (a->how && strcmp(a->how, "refused") == 0) return "refused";
    if (!a->client) return "ending";
    if (!a->welcomed) return "starting";
    if (r->fault) return "faulted";
    if (a->job.spec.flags & WIRE_JOB_PAUSED) return "paused";
    return r->position > 0 ? "waiting" : "running";
}

void report_job(const struct attachment *a, struct ctl_job *r) {
    memset(r, 0, sizeof(*r));
    r->id = a->job_id;
    r->gpu = GPU_ID;
    snprintf(r->name, sizeof(r->name), "%s", a->job.name);
    snprintf(r->word, sizeof(r->word), "%s", a->job.source ? a->job.source : "");
    snprintf(r->group, sizeof(r->group), "%s", a->job.spec.group);
    r->pid = (uint64_t)a->job.pid;
    r->uid = a->job.uid;
    r->run = a->job.spec.run;
    r->since_ns = nanoseconds(&a->job.since);
    r->weight = a->job.spec.weight;
    r->priority = a->job.spec.priority;
    r->planned_iterations = a->job.spec.iterations;
    r->planned_ns = a->job.spec.duration_ns;
    if (a->completion) {
        fill_counters(&a->completion->stats, r);
        fill_running(a, r);
        fill_scheduling(&a->completion->stats, r);
        r->fault = read_fault(a->completion, r->fault_text, sizeof(r->fault_text));
    }
    if (*a->why) snprintf(r->why, sizeof(r->why), "%s", a->why);
    snprintf(r->state, sizeof(r->state), "%s", state_of(a, r));
}

void report_job_ended(const struct attachment *a, struct ctl_ended *out) {
    struct ctl_job r;

    report_job(a, &r);
    out->id = r.id;
    out->pid = r.pid;
    out->uid = r.uid;
    out->run = r.run;
    out->since_ns = r.since_ns;
    out->waited_ns = r.waited_ns;
    out->weight = r.weight;
    out->priority = r.priority;
    out->persistent_peak_bytes = r.persistent_peak_bytes;
    out->ephemeral_peak_bytes = r.ephemeral_peak_bytes;
    out->iterations = r.iterations;
    out->iteration_ns = r.iteration_ns;
    out->demand_milli = r.demand_milli;
    out->busy_ns = r.busy_ns;
    out->launches = r.launches;
    out->switches = r.switches;
    out->switched_bytes = r.switched_bytes;
    out->survivors = r.survivors;
    out->survived_bytes = r.survived_bytes;
    out->swaps = r.swaps;
    out->swapped_bytes = r.swapped_bytes;
    out->cleared_bytes = r.cleared_bytes;
    out->fault = r.fault;
    memcpy(out->name, r.name, sizeof(out->name));
    snprintf(out->how, sizeof(out->how), "%s", a->how ? a->how : r.fault ? "faulted" : "done");
    memcpy(out->why, *a->why ? r.why : r.fault_text, sizeof(out->why));
}

bool report_readable(uid_t uid, uint64_t owner) {
    return uid == owner || limits_admin(uid);
}

void report_nameless(char *what) {
    if (strncmp(what, "kernel ", 7) == 0) what[6] = '\0';
}

void report_job_hide(uid_t uid, struct ctl_job *r) {
    if (report_readable(uid, r->uid)) return;
    r->fault_text[0] = '\0';
    report_nameless(r->running);
}

void report_ended_hide(uid_t uid, struct ctl_ended *r) {
    if (r->fault && !report_readable(uid, r->uid)) r->why[0] = '\0';
}
