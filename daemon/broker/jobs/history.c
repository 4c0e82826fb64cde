/* SPDX-License-Identifier: Apache-2.0
 *
 * A ring of records in their final form.
 */
#include "daemon/broker/jobs/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/broker/jobs/report_job.h"

struct history {
    uint64_t count; /* number of records ever; the latest has this number */
    struct ctl_ended items[HISTORY_MAX];
};

struct history *history_create(void) {
    return calloc(1, sizeof(struct history));
}

void history_destroy(struct history *h) {
    free(h);
}

static struct ctl_ended *next(struct history *h) {
    struct ctl_ended *e = &h->items[h->count++ % HISTORY_MAX];
    struct timespec now;

    memset(e, 0, sizeof(*e));
    clock_gettime(CLOCK_REALTIME, &now);
    e->number = h->count;
    e->ended_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    return e;
}

void history_add(struct history *h, const struct attachment *a) {
    report_job_ended(a, next(h));
}

void history_add_refused(struct history *h, const struct job *job, uint32_t id, const char *by,
                         const char *why) {
    struct attachment a = {.job_id = id, .job = *job, .how = "refused"};

    snprintf(a.by, sizeof(a.by), "%s", by);
    snprintf(a.why, sizeof(a.why), "%s", why);
    report_job_ended(&a, next(h));
}

uint64_t history_list(const struct history *h, uint64_t after, uid_t uid, struct ctl_out *out) {
    uint64_t first = h->count > HISTORY_MAX ? h->count - HISTORY_MAX + 1 : 1;

    for (uint64_t n = after >= first ? after + 1 : first; n <= h->count; n++) {
        struct ctl_ended e = h->items[(n - 1) % HISTORY_MAX];

        report_ended_hide(uid, &e);
        if (!ctl_msg_add(out, CTL_RECORD_ENDED, &e)) return n - 1;
    }
    return 0;
}

static uint64_t kept(const struct history *h) {
    return h->count < HISTORY_MAX ? h->count : HISTORY_MAX;
}

void history_exited(struct history *h, uid_t uid, uint32_t run, const char *exit) {
    for (uint64_t i = 0; i < kept(h); i++) {
        struct ctl_ended *e = &h->items[i];

        if (e->uid == uid && e->run == run && strcmp(e->exit, "unknown") == 0)
            report_exited(e, exit);
    }
}

uint64_t history_next_user(const struct history *h, uint64_t least) {
    uint64_t lowest = UINT64_MAX;

    for (uint64_t i = 0; i < kept(h); i++)
        if (h->items[i].uid >= least && h->items[i].uid < lowest) lowest = h->items[i].uid;
    return lowest;
}

uint64_t history_count(const struct history *h, uid_t uid) {
    uint64_t count = 0;

    for (uint64_t i = 0; i < kept(h); i++)
        count += h->items[i].uid == uid;
    return count;
}
