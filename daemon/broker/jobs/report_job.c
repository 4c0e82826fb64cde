/* SPDX-License-Identifier: Apache-2.0
 *
 * Counters are read from the worker's page, which costs the worker nothing; each is read once.
 */
#include "daemon/broker/jobs/report_job.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/atomics.h"
#include "common/fdutil.h"
#include "common/text/command_line.h"
#include "common/utf8.h"
#include "daemon/broker/config/limits.h"
#include "daemon/broker/jobs/long_operation.h"
#include "daemon/broker/printable.h"
#include "daemon/policy/reason.h"

static uint64_t nanoseconds(const struct timespec *t) {
    return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
}

/* Returns the CUresult of the job's fault and describes it; 0: none. The page of a job that merely
 * ended has an error as well, for its waiting threads, but no fault. */
static uint64_t read_fault(const struct wire_completion *com, char *out, size_t cap) {
    const struct wire_fault *f = &com->fault;
    char text[sizeof(f->text) + 1], kernel[sizeof(f->kernel) + 1];
    uint64_t fault =
        atom_load_acquire(&f->cuda); /* stored last by the worker: all other fields are complete */

    if (fault == 0 || atom_load_relaxed(&com->stats.faults) == 0) return 0;
    printable_copy(text, f->text, sizeof(f->text));
    printable_copy(kernel, f->kernel, sizeof(f->kernel));
    if (*kernel)
        snprintf(out, cap, "kernel %.120s, launch %" PRIu64 ": %.240s", kernel, f->launch, text);
    else
        snprintf(out, cap, "%.240s", text);
    return fault;
}

/* Counters with the same names in struct wire_stats and in a job's record. */
/* clang-format off */
#define COUNTERS(X)                                                                        \
    X(memory_bytes) X(launches) X(copies) X(copied_bytes) X(ops) X(queued) X(modules)      \
    X(functions) X(answers) X(faults)                                                      \
    X(lane) X(position) X(turn) X(waited_ns) X(iterations) X(iteration_ns) X(request_ns)   \
    X(inflight_cap) X(demand_milli)                                                        \
    X(persistent_bytes) X(ephemeral_bytes) X(persistent_peak_bytes) X(ephemeral_peak_bytes) \
    X(switches) X(switched_bytes) X(survivors) X(survived_bytes) X(swaps) X(swapped_bytes) \
    X(cleared_bytes)
/* Counters of struct wire_usage. */
#define USAGE_COUNTERS(X) X(iteration_milli) X(refusals) X(refused_bytes) X(needed_bytes) \
    X(boundaries_percent)
/* Counters of struct wire_slo. */
#define SLO_COUNTERS(X) \
    X(slo_ns) X(measured_ns) X(periods) X(violations) X(stuck) X(pause_ns) X(sms)
/* clang-format on */

static void fill_counters(const struct wire_stats *st, struct ctl_job *r) {
#define X(name) r->name = atom_load_relaxed(&st->name);
    COUNTERS(X)
#undef X
}

static void fill_usage(const struct wire_usage *u, struct ctl_job *r) {
#define X(name) r->name = atom_load_relaxed(&u->name);
    USAGE_COUNTERS(X)
#undef X
}

static void fill_slo(const struct wire_slo *s, struct ctl_job *r) {
#define X(name) r->name = atom_load_relaxed(&s->name);
    SLO_COUNTERS(X)
#undef X
    if (r->slo_ns)
        snprintf(r->slo_of, sizeof(r->slo_of), "%s", reason_slo_of(atom_load_relaxed(&s->slo_of)));
}

static void fill_running(const struct attachment *a, struct ctl_job *r) {
    struct long_operation_view v;

    long_operation_view(a->completion, &v);
    r->busy_ns = v.busy_ns;
    r->running_ns = v.age_ns;
    if (v.age_ns) snprintf(r->running, sizeof(r->running), "%s", v.what);
}

static void fill_words(const struct wire_stats *st, struct ctl_job *r) {
    snprintf(r->why, sizeof(r->why), "%s", reason_why(atom_load_relaxed(&st->why)));
    snprintf(r->boundaries, sizeof(r->boundaries), "%s",
             reason_source(atom_load_relaxed(&st->source)));
    if (atom_load_relaxed(&st->measured) == 1 && strcmp(r->reservation, "given") != 0)
        snprintf(r->reservation, sizeof(r->reservation), "measured");
}

static void fill_savepoint(const struct wire_savepoint *k, struct ctl_job *r) {
    uint64_t taken_ns = atom_load_relaxed(&k->taken_ns);
    uint64_t now_ns = fdutil_now_ns();
    bool asked = atom_load_relaxed(&k->every_ns);

    r->savepoints = atom_load_relaxed(&k->count);
    r->savepoint_age_ns = taken_ns && now_ns > taken_ns ? now_ns - taken_ns : 0;
    r->savepoint_bytes = taken_ns ? atom_load_relaxed(&k->bytes) : 0;
    r->savepoint_took_ns = atom_load_relaxed(&k->took_ns);
    r->returns = atom_load_relaxed(&k->returns);
    snprintf(r->savepoint_why, sizeof(r->savepoint_why), "%s",
             asked ? reason_savepoint(atom_load_relaxed(&k->reason)) : "off");
}

static bool is_refused(const struct attachment *a) {
    return a->how && strcmp(a->how, "refused") == 0;
}

/* Computes the waiting time of a job that is not admitted; the worker updates it only at other
 * events. */
static void fill_waited(const struct attachment *a, struct ctl_job *r) {
    struct timespec now;

    if (!is_refused(a) && !(r->position > 0 && r->lane == 0)) return;
    clock_gettime(CLOCK_REALTIME, &now);
    r->waited_ns = nanoseconds(&now) > r->since_ns ? nanoseconds(&now) - r->since_ns : 0;
}

static const char *state_of(const struct attachment *a, const struct ctl_job *r) {
    if (is_refused(a)) return "refused";
    if (!a->client) return "ending";
    if (!a->welcomed) return "starting";
    if (a->place != ATTACHMENT_WORKER) return "moving";
    if (r->fault) return "faulted";
    if (a->job.spec.flags & WIRE_JOB_PAUSED) return "paused";
    return r->position > 0 ? "waiting" : "running";
}

void report_job(const struct attachment *a, struct ctl_job *r) {
    memset(r, 0, sizeof(*r));
    r->id = a->job_id;
    r->gpu = a->job.gpu > 0 ? (uint64_t)a->job.gpu : 0;
    snprintf(r->name, sizeof(r->name), "%s", a->job.name);
    snprintf(r->mode, sizeof(r->mode), a->job.spec.flags & WIRE_JOB_NULL ? "null" : "compute");
    snprintf(r->reservation, sizeof(r->reservation), "%s", a->job.source ? a->job.source : "");
    snprintf(r->group, sizeof(r->group), "%s", a->job.spec.group);
    r->pid = (uint64_t)a->job.pid;
    r->uid = a->job.uid;
    r->run = a->job.spec.run;
    r->since_ns = nanoseconds(&a->job.since);
    r->weight = a->job.spec.weight;
    r->priority = a->job.spec.priority;
    r->got_percent = a->load.got; /* encoded as CTL_KIND_OPT */
    r->due_percent = a->load.due;
    r->planned_iterations = a->job.spec.iterations;
    r->planned_ns = a->job.spec.duration_ns;
    if (a->completion) {
        fill_counters(&a->completion->stats, r);
        fill_usage(&a->completion->usage, r);
        fill_running(a, r);
        fill_slo(&a->completion->slo, r);
        fill_words(&a->completion->stats, r);
        fill_savepoint(&a->completion->savepoint, r);
        r->fault = read_fault(a->completion, r->fault_text, sizeof(r->fault_text));
    }
    if (a->place != ATTACHMENT_WORKER) {
        r->running_ns = 0;
        r->running[0] = '\0';
        snprintf(r->why, sizeof(r->why),
                 "waits for a new GPU worker, because the previous one ended");
    }
    if (*a->why) snprintf(r->why, sizeof(r->why), "%s", a->why);
    fill_waited(a, r);
    snprintf(r->state, sizeof(r->state), "%s", state_of(a, r));
}

/* Copies the fields that both records have. */
static void take_same(const struct ctl_job *job, struct ctl_ended *out) {
    int fields, job_fields;
    const struct ctl_field *f = ctl_fields(CTL_RECORD_ENDED, &fields);
    const struct ctl_field *of_job = ctl_fields(CTL_RECORD_JOB, &job_fields);

    for (int i = 0; i < fields; i++)
        for (int k = 0; k < job_fields; k++)
            if (f[i].kind == of_job[k].kind && strcmp(f[i].name, of_job[k].name) == 0)
                memcpy((char *)out + f[i].offset, (const char *)job + of_job[k].offset,
                       f[i].kind == CTL_KIND_TEXT ? CTL_TEXT_BYTES : sizeof(uint64_t));
}

/* Only the launcher's report tells whether a process ended itself. */
static const char *ended_by(const struct attachment *a, bool faulted) {
    if (*a->by) return a->by;
    if (!a->how) return faulted ? "itself" : "unknown";
    if (strcmp(a->how, "refused") == 0) return "admission";
    return strcmp(a->how, "lost") == 0 ? "worker" : "daemon";
}

void report_exited(struct ctl_ended *r, const char *exit) {
    snprintf(r->exit, sizeof(r->exit), "%s", *exit ? exit : "unknown");
    if (*exit && strcmp(r->how, "done") == 0)
        snprintf(r->by, sizeof(r->by), strncmp(exit, "SIG", 3) == 0 ? "signal" : "itself");
}

/* A refused process waits for the answer and has not sent its command line, so that it is read
 * here. */
static void fill_command(const struct attachment *a, char *out, size_t cap) {
    snprintf(out, cap, "%s", a->job.command);
    if (!*out && is_refused(a) && a->job.pid > 0) {
        command_line_print(a->job.pid, out, cap);
        utf8_clean(out, strlen(out));
    }
    if (!*out) snprintf(out, cap, "unknown");
}

void report_job_ended(const struct attachment *a, struct ctl_ended *out) {
    struct ctl_job r;

    report_job(a, &r);
    take_same(&r, out);
    out->gpu = (uint64_t)a->job.gpu + 1; /* encoded as CTL_KIND_OPT */
    snprintf(out->how, sizeof(out->how), "%s", a->how ? a->how : r.fault ? "faulted" : "done");
    memcpy(out->why, *a->why ? r.why : r.fault_text, sizeof(out->why));
    fill_command(a, out->command, sizeof(out->command));
    snprintf(out->by, sizeof(out->by), "%s", ended_by(a, r.fault != 0));
    report_exited(out, a->exit);
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
    r->run = 0; /* a launcher recognises its jobs by this */
    report_nameless(r->running);
}

void report_ended_hide(uid_t uid, struct ctl_ended *r) {
    if (report_readable(uid, r->uid)) return;
    if (r->fault) r->why[0] = '\0';
    r->command[0] = '\0';
    r->run = 0;
}
