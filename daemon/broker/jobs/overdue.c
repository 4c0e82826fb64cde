/* SPDX-License-Identifier: Apache-2.0
 *
 * Why a job waits is on its own page; what it waits for is on other jobs' pages.
 */
#include "daemon/broker/jobs/overdue.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/atomics.h"
#include "common/log.h"
#include "daemon/broker/jobs/long_operation.h"
#include "daemon/broker/jobs/report_job.h"
#include "daemon/policy/reason.h"

#define NS_PER_S 1000000000u

enum why {
#define X(name, text) WHY_##name,
    REASON_WHY(X)
#undef X
};

/* ---- reasons of waiting --------------------------------------------------------------------- */

/* Reads the running operation. On the page of an ended worker nothing runs any more. */
static void view_of(const struct attachment *a, struct long_operation_view *v) {
    long_operation_view(a->place == ATTACHMENT_WORKER ? a->completion : NULL, v);
}

/* Prints a time for people: "42 s", "12 min", "3 h". */
static void print_age(uint64_t ns, char *out, size_t cap) {
    uint64_t s = ns / NS_PER_S;

    if (s < 120)
        snprintf(out, cap, "%" PRIu64 " s", s);
    else if (s < 7200)
        snprintf(out, cap, "%" PRIu64 " min", s / 60);
    else
        snprintf(out, cap, "%" PRIu64 " h", s / 3600);
}

/* How well job `o` explains that another job, in that lane, does not run. */
static int relevance(const struct attachment *o, uint64_t lane) {
    const struct wire_stats *st = &o->completion->stats;

    return 2 * (atom_load_relaxed(&st->turn) == 1) + (atom_load_relaxed(&st->lane) == lane);
}

/* Returns the other job whose operation is in the way, by these criteria: it has the turn, is in
 * the same lane, has run longest. NULL: none has been on the device for `least_ns`. */
static const struct attachment *find_culprit(const struct attachments *as,
                                             const struct attachment *a, uint64_t least_ns,
                                             struct long_operation_view *view) {
    uint64_t lane = atom_load_relaxed(&a->completion->stats.lane);
    const struct attachment *found = NULL;
    const struct list *pos;

    list_each(pos, &as->list) {
        const struct attachment *o = list_entry(pos, struct attachment, link);
        struct long_operation_view v;
        int better;

        if (o == a || !o->completion) continue;
        view_of(o, &v);
        if (v.age_ns == 0 || v.age_ns < least_ns) continue;
        better = found ? relevance(o, lane) - relevance(found, lane) : 1;
        if (better < 0 || (better == 0 && v.age_ns <= view->age_ns)) continue;
        found = o;
        *view = v;
    }
    return found;
}

static bool is_turn(uint64_t why) {
    return why == WHY_TURN || why == WHY_LANE;
}

/* Time that another job's operation must have run to be named as the reason. A wait for a turn
 * names it after a second. One kernel rarely frees memory, so a wait for memory names it when
 * overdue. UINT64_MAX: the job waits for neither. */
static uint64_t patience(uint64_t overdue_ns, uint64_t why) {
    if (is_turn(why)) return NS_PER_S;
    if (why != WHY_MEMORY && why != WHY_ORDER && why != WHY_UNKNOWN && why != WHY_GROWS &&
        why != WHY_PART)
        return UINT64_MAX;
    return overdue_ns ? overdue_ns : UINT64_MAX;
}

/* Names the job that has the turn for which a job of another lane waits. */
static void name_holder(const struct attachments *as, struct ctl_job *r) {
    const struct list *pos;

    list_each(pos, &as->list) {
        const struct attachment *o = list_entry(pos, struct attachment, link);
        const struct wire_stats *st = o->completion ? &o->completion->stats : NULL;
        uint64_t lane = st ? atom_load_relaxed(&st->lane) : 0;

        if (!lane || atom_load_relaxed(&st->turn) != 1) continue;
        snprintf(r->why, sizeof(r->why),
                 "waits for its turn: job %u of lane %" PRIu64
                 " has the turn, and one lane runs at a time (exclusive)",
                 o->job_id, lane - 1);
        return;
    }
}

void overdue_explain(const struct attachments *as, const struct attachment *a, uint64_t overdue_ns,
                     uid_t uid, struct ctl_job *r) {
    uint64_t why = a->completion ? atom_load_relaxed(&a->completion->stats.why) : WHY_NONE;
    uint64_t least = patience(overdue_ns, why);
    const struct attachment *culprit;
    struct long_operation_view v;
    char age[24], text[sizeof(r->why)];

    if (*a->why || least == UINT64_MAX) return;
    if (why == WHY_LANE) name_holder(as, r);
    culprit = find_culprit(as, a, least, &v);
    if (!culprit) return;
    if (!report_readable(uid, culprit->job.uid)) report_nameless(v.what);
    print_age(v.age_ns, age, sizeof(age));
    snprintf(text, sizeof(text), "%.120s: job %u's %s has run for %s",
             is_turn(why) ? "waits for its turn" : r->why, culprit->job_id, v.what, age);
    memcpy(r->why, text, sizeof(r->why));
}

/* ---- the log --------------------------------------------------------------------------------- */

bool overdue_due(struct overdue *o, uint64_t since_ns, uint64_t age_ns, uint64_t threshold_ns) {
    if (threshold_ns == 0 || age_ns < threshold_ns) return false;
    if (o->since_ns != since_ns) *o = (struct overdue){since_ns, threshold_ns};
    if (age_ns < o->next_age_ns) return false;
    while (o->next_age_ns <= age_ns)
        o->next_age_ns *= 2;
    return true;
}

/* Counts jobs that only wait because of others. */
static unsigned count_waiting(const struct attachments *as, uint64_t overdue_ns) {
    unsigned n = 0;
    const struct list *pos;

    list_each(pos, &as->list) {
        const struct attachment *a = list_entry(pos, struct attachment, link);

        if (a->completion &&
            patience(overdue_ns, atom_load_relaxed(&a->completion->stats.why)) < UINT64_MAX)
            n++;
    }
    return n;
}

void overdue_look(struct attachments *as, uint64_t overdue_ns) {
    struct list *pos;

    list_each(pos, &as->list) {
        struct attachment *a = list_entry(pos, struct attachment, link);
        struct long_operation_view v;

        view_of(a, &v);
        if (!overdue_due(&a->overdue, v.since_ns, v.age_ns, overdue_ns)) continue;
        log_warn("client",
                 "event=overdue job=%u pid=%d uid=%u name=\"%s\" what=\"%s\" launch=%" PRIu64
                 " running_s=%" PRIu64 " waiting_jobs=%u do=\"salusctl job kill %u; or set "
                 "kernel_timeout\"",
                 a->job_id, (int)a->job.pid, (unsigned)a->job.uid, a->job.name, v.what, v.launch,
                 v.age_ns / NS_PER_S, count_waiting(as, overdue_ns), a->job_id);
    }
}
