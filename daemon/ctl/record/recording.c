/* SPDX-License-Identifier: Apache-2.0
 *
 * Converts observed jobs into lines of a workload file.
 */
#include "daemon/ctl/record/recording.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/units.h"
#include "daemon/ctl/record/recording_kernels.h"

#define NAME_BYTES 64

/* Limits of a workload, as in docs/workload.md. */
#define MOST_NS (1000ull * 3600000000000ull)
#define MOST_TOTAL_NS (1ull << 60) /* all jobs one after the other */
#define MOST_BYTES (1ull << 44)
#define MOST_ITERATIONS 1000000000ull
#define MOST_PRIORITY 1000000
#define MOST_WEIGHT 1000000ull

void recording_init(struct recording *r) {
    memset(r, 0, sizeof(*r));
}

void recording_finish(struct recording *r) {
    free(r->jobs);
    recording_init(r);
}

/* Finds the job, or appends it; NULL: out of memory. */
static struct recorded *place(struct recording *r, uint64_t id) {
    for (size_t i = 0; i < r->count; i++)
        if (r->jobs[i].job.id == id) return &r->jobs[i];
    if (r->count == r->cap) {
        size_t cap = r->cap ? 2 * r->cap : 64;
        struct recorded *grown = realloc(r->jobs, cap * sizeof(*grown));

        if (!grown) return NULL;
        r->jobs = grown;
        r->cap = cap;
    }
    memset(&r->jobs[r->count], 0, sizeof(*r->jobs));
    r->jobs[r->count].job.id = id;
    return &r->jobs[r->count++];
}

int recording_see(struct recording *r, const struct ctl_job *job) {
    struct recorded *p = place(r, job->id);

    if (!p) return -ENOMEM;
    if (!p->ended) p->job = *job;
    return 0;
}

/* Takes the final counters of a job; those missing from the history keep their earlier values. */
int recording_see_ended(struct recording *r, const struct ctl_ended *e) {
    struct recorded *p = place(r, e->id);

    if (!p) return -ENOMEM;
    p->ended = true;
    p->ended_ns = e->ended_ns;
    p->refused = strcmp(e->how, "refused") == 0;
    snprintf(p->job.name, sizeof(p->job.name), "%s", e->name);
    p->job.uid = e->uid;
    p->job.since_ns = e->since_ns;
    p->job.waited_ns = e->waited_ns;
    p->job.weight = e->weight;
    p->job.priority = e->priority;
    p->job.persistent_peak_bytes = e->persistent_peak_bytes;
    p->job.ephemeral_peak_bytes = e->ephemeral_peak_bytes;
    p->job.iterations = e->iterations;
    p->job.iteration_ns = e->iteration_ns;
    p->job.demand_milli = e->demand_milli;
    p->job.iteration_milli = e->iteration_milli;
    p->job.busy_ns = e->busy_ns;
    p->job.launches = e->launches;
    return 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Replaces characters that names in a workload may not have. */
static void print_name(const char *name, char out[NAME_BYTES]) {
    size_t n = 0;

    for (; name[n] && n + 1 < NAME_BYTES; n++)
        out[n] = isalnum((unsigned char)name[n]) || strchr("_-.:+", name[n]) ? name[n] : '_';
    out[n] = '\0';
    if (n == 0) strcpy(out, "job");
}

static uint64_t at_most(uint64_t value, uint64_t most) {
    return value > most ? most : value;
}

static void print_amount(FILE *out, const char *key, enum units kind, uint64_t value) {
    char text[40];

    units_print(kind, at_most(value, kind == UNITS_TIME ? MOST_NS : MOST_BYTES), text,
                sizeof(text));
    fprintf(out, " %s=%s", key, text);
}

/* Groups are numbers in a workload: that of the first job with the same user and name, from 1. */
static uint64_t group_of(const struct recording *r, const struct recorded *p) {
    uint64_t i = 0;

    if (!*p->job.group) return 0;
    while (r->jobs[i].job.uid != p->job.uid || strcmp(r->jobs[i].job.group, p->job.group) != 0)
        i++;
    return i + 1;
}

/* Users are numbers in a workload: 0 is the first job's. */
static uint64_t user_of(const struct recording *r, const struct recorded *p) {
    uint64_t i = 0;

    while (r->jobs[i].job.uid != p->job.uid)
        i++;
    return i;
}

/* Completed iterations. The last one of an ended job has no boundary, because no other follows. */
static uint64_t iterations_of(const struct recorded *p) {
    return at_most(p->job.iterations, MOST_ITERATIONS - 1) + (p->ended ? 1 : 0);
}

/* The job serves requests: its boundaries are where it waits for work. */
static bool has_requests(const struct ctl_job *j) {
    return strcmp(j->boundaries, "idle gaps") == 0;
}

/* Thousandths of the device that an iteration uses alone. The time between requests is not part of
 * them but was measured with them. */
static uint64_t demand_of(const struct ctl_job *j) {
    bool known = j->iteration_milli > 0 && j->iteration_milli < 1000 && !has_requests(j);

    return known ? j->iteration_milli : 1000;
}

/* Duration of an iteration that uses `milli` of the device: its mean device time over all
 * iterations (the scheduler's own mean follows the latest), plus the time in which it leaves the
 * device idle. */
static uint64_t takes_of(const struct recorded *p, uint64_t milli) {
    double mean = (double)p->job.busy_ns / (double)iterations_of(p);
    double alone_ns = mean * 1000 / (double)milli;

    return alone_ns >= MOST_NS ? MOST_NS : alone_ns >= 1 ? (uint64_t)alone_ns : 1;
}

static uint64_t iteration_of(const struct recorded *p) {
    return takes_of(p, demand_of(&p->job));
}

/* Host time before an iteration's first operation: all its time less that of the iterations. */
static uint64_t host_of(const struct recorded *p) {
    const struct ctl_job *j = &p->job;
    bool known = j->demand_milli > 0 && j->demand_milli < j->iteration_milli;

    return known ? takes_of(p, j->demand_milli) - takes_of(p, j->iteration_milli) : 0;
}

/* Time between requests: the time in which the job neither waited for admission nor had the device,
 * divided by its iterations. It is too long if other jobs had the device. */
static uint64_t think_of(const struct recorded *p, uint64_t now_ns) {
    uint64_t end = p->ended ? p->ended_ns : now_ns, spent = p->job.waited_ns + p->job.busy_ns;
    uint64_t there = end > p->job.since_ns ? end - p->job.since_ns : 0;

    return there > spent ? (there - spent) / iterations_of(p) : 0;
}

/* Time between two of the job's iterations. */
static uint64_t pause_of(const struct recorded *p, uint64_t now_ns) {
    return has_requests(&p->job) ? think_of(p, now_ns) : host_of(p);
}

/* Memory with which a job is admitted: its reservation if given; else its usage; if nothing was
 * measured, its grant. */
static uint64_t need(const struct ctl_job *j, uint64_t peak, uint64_t granted) {
    bool given = strcmp(j->reservation, "given") == 0 || strcmp(j->reservation, "profile") == 0;

    return peak && !(given && granted > peak) ? peak : granted;
}

/* The hint about the job's duration that the scheduler had. */
static const char *hint_of(const struct ctl_job *j) {
    if (j->planned_ns) return "";
    return j->planned_iterations ? " hint=iterations" : " hint=none";
}

static void write_needs(const struct recorded *p, const char *name, uint64_t first_ns, FILE *out) {
    const struct ctl_job *j = &p->job;

    fprintf(out, "job name=%s", name);
    print_amount(out, "arrival", UNITS_TIME, j->since_ns - first_ns);
    print_amount(out, "persistent", UNITS_BYTES,
                 need(j, j->persistent_peak_bytes, j->persistent_bytes));
    print_amount(out, "ephemeral", UNITS_BYTES,
                 need(j, j->ephemeral_peak_bytes, j->ephemeral_bytes));
}

static void write_rest(const struct recording *r, const struct recorded *p, FILE *out) {
    const struct ctl_job *j = &p->job;

    int64_t priority = j->priority > MOST_PRIORITY    ? MOST_PRIORITY
                       : j->priority < -MOST_PRIORITY ? -MOST_PRIORITY
                                                      : j->priority;

    if (j->weight > 1) fprintf(out, " weight=%" PRIu64, at_most(j->weight, MOST_WEIGHT));
    if (priority) fprintf(out, " priority=%" PRId64, priority);
    if (group_of(r, p)) fprintf(out, " group=%" PRIu64, group_of(r, p));
    if (user_of(r, p)) fprintf(out, " user=%" PRIu64, user_of(r, p));
    fputc('\n', out);
}

static void write_iterations(const struct recorded *p, bool whole, uint64_t now_ns, FILE *out) {
    const struct ctl_job *j = &p->job;

    print_amount(out, "iteration", UNITS_TIME, whole ? iteration_of(p) : j->busy_ns);
    if (whole && demand_of(j) < 1000) fprintf(out, " demand=0.%03" PRIu64, demand_of(j));
    if (whole && has_requests(j)) print_amount(out, "think", UNITS_TIME, think_of(p, now_ns));
    if (whole && !has_requests(j) && host_of(p)) print_amount(out, "host", UNITS_TIME, host_of(p));
}

/* The totals of what has been written. */
struct sum {
    size_t jobs;
    uint32_t lines; /* lines of kernel sequences */
    uint64_t ns;    /* all jobs, one after the other */
};

static bool seen_whole(const struct ctl_job *j) {
    return j->iterations > 0 && j->iteration_ns > 0; /* boundaries were seen */
}

/* Duration of one iteration and of the pause that follows. */
static uint64_t each_of(const struct recording *r, const struct recorded *p, uint64_t now_ns) {
    uint64_t each_ns = !seen_whole(&p->job) ? p->job.busy_ns : iteration_of(p), think_ns;

    if (r->kernels) each_ns = recording_kernels_ns(r->kernels, p->job.id, has_requests(&p->job));
    think_ns = seen_whole(&p->job) ? pause_of(p, now_ns) : 0;
    return __builtin_add_overflow(each_ns, think_ns, &each_ns) ? UINT64_MAX : each_ns;
}

/* The job still fits into the workload's limits; adds it to the totals. */
static bool fits(const struct recording *r, const struct recorded *p, uint64_t now_ns,
                 struct sum *sum) {
    uint64_t iterations = seen_whole(&p->job) ? iterations_of(p) : 1;
    uint64_t around_ns = r->kernels ? 2 * KERNEL_TRACE_MOST_NS : 0, ns;

    if (__builtin_mul_overflow(each_of(r, p, now_ns), iterations, &ns) ||
        __builtin_add_overflow(ns, around_ns, &ns) || __builtin_add_overflow(ns, sum->ns, &ns) ||
        ns > MOST_TOTAL_NS)
        return false;
    sum->ns = ns;
    return true;
}

/* Returns why the job cannot be written; NULL: its kernel sequence, if any, is written. */
static const char *without(const struct recording *r, const struct recorded *p, uint64_t now_ns,
                           struct sum *sum, FILE *out) {
    const char *none = "no complete iteration was recorded, or one is too long";

    if (p->refused) return "the job was refused";
    if (p->job.busy_ns == 0) return "the job did nothing on the device";
    if (r->kernels &&
        recording_kernels_ns(r->kernels, p->job.id, has_requests(&p->job)) == UINT64_MAX)
        return none;
    if (!fits(r, p, now_ns, sum)) return "the job and those before it take more than 36 years";
    if (!r->kernels) return NULL;
    return recording_kernels_write(r->kernels, r->soft, p->job.id, seen_whole(&p->job),
                                   has_requests(&p->job), &sum->lines, out)
               ? NULL
               : none;
}

/* The number of iterations in the workload, at least one. */
static uint64_t count_of(const struct recording *r, const struct recorded *p) {
    uint64_t count = seen_whole(&p->job) ? iterations_of(p) : 1;
    bool prepares = r->kernels && recording_kernels_prepares(r->kernels, p->job.id);

    return prepares && count > 1 ? count - 1 : count;
}

static void write_job(const struct recording *r, const struct recorded *p, uint64_t first_ns,
                      uint64_t now_ns, struct sum *sum, FILE *out) {
    const struct ctl_job *j = &p->job;
    bool whole = seen_whole(j);
    char name[NAME_BYTES];
    const char *none = without(r, p, now_ns, sum, out);

    print_name(j->name, name);
    if (none) {
        fprintf(out, "# %s, job %" PRIu64 ": %s\n", name, j->id, none);
        return;
    }
    write_needs(p, name, first_ns, out);
    fprintf(out, " iterations=%" PRIu64, count_of(r, p));
    if (r->kernels)
        recording_kernels_job(r->kernels, j->id, has_requests(j), out);
    else
        write_iterations(p, whole, now_ns, out);
    fputs(hint_of(j), out);
    if (!whole) fputs(" boundaries=no", out);
    write_rest(r, p, out);
    sum->jobs++;
}

static void write_device(const struct recording *r, FILE *out) {
    if (!r->device_bytes) return;
    fputs("device", out);
    print_amount(out, "memory", UNITS_BYTES, r->device_bytes);
    if (r->kernels && r->kernels->sms) fprintf(out, " sms=%" PRIu32, r->kernels->sms);
    if (r->kernels && r->soft)
        fprintf(out, " sliced=yes wait=%uus left=0.%03u", RECORDING_SOFT_WAIT_US,
                RECORDING_SOFT_LEFT);
    fputc('\n', out);
}

size_t recording_write(const struct recording *r, FILE *out, uint64_t now_ns) {
    uint64_t first = UINT64_MAX;
    struct sum sum = {0};

    for (size_t i = 0; i < r->count; i++)
        if (r->jobs[i].job.since_ns < first) first = r->jobs[i].job.since_ns;
    fputs("# recorded by salusctl\n", out);
    write_device(r, out);
    for (size_t i = 0; i < r->count; i++)
        write_job(r, &r->jobs[i], first, now_ns, &sum, out);
    return sum.jobs;
}
