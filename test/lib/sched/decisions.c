/* SPDX-License-Identifier: Apache-2.0
 *
 * Replays the events in a scheduler and asks it after each step which jobs have a turn.
 */
#include "test/lib/sched/decisions.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sched/core/check.h"
#include "daemon/sched/core/life.h"
#include "daemon/sched/core/step.h"
#include "daemon/sched/core/view.h"
#include "daemon/sched/record/notation.h"
#include "daemon/sched/state.h"

#define EVENTS 64u /* most events of a step */

struct seen { /* state of a job as seen so far */
    bool turn, boundary, left;
    uint32_t open;    /* operations in flight */
    uint64_t done_ns; /* completion time of the latest operation */
};

struct reader {
    FILE *out;
    struct sched *s;
    struct sched_event events[EVENTS];
    uint32_t count;
    uint64_t first_ns, now_ns;
    bool begun, open;
    struct seen jobs[DECISIONS_JOBS + 1];
};

static void check(bool ok, const char *what) {
    if (ok) return;
    fprintf(stderr, "decisions: %s\n", what);
    abort();
}

__attribute__((format(printf, 2, 3))) static void say(struct reader *r, const char *fmt, ...) {
    va_list ap;
    fprintf(r->out, "%" PRIu64 " ", r->now_ns - r->first_ns);
    va_start(ap, fmt);
    vfprintf(r->out, fmt, ap);
    va_end(ap);
    fputc('\n', r->out);
}

static void note_events(struct reader *r) {
    for (uint32_t i = 0; i < r->count; i++) {
        const struct sched_event *e = &r->events[i];
        if (!e->job) continue;
        check(e->job <= DECISIONS_JOBS, "too many jobs");
        struct seen *j = &r->jobs[e->job];
        j->open += e->kind == SCHED_SUBMITTED;
        j->open -= e->kind == SCHED_DONE;
        if (e->kind == SCHED_DONE) j->done_ns = r->now_ns;
        j->boundary |= e->kind == SCHED_BOUNDARY;
        j->left |= e->kind == SCHED_LEFT;
        if (e->kind == SCHED_BOUNDARY) say(r, "boundary %u", e->job);
    }
}

static void say_action(struct reader *r, const struct sched_action *a) {
    if (a->kind == SCHED_ADMIT) say(r, "admit %u@%u", a->job, a->lane);
    if (a->kind == SCHED_RUN) say(r, "run %u", a->job);
    if (a->kind == SCHED_SPILL) say(r, "spill %u", a->job);
    if (a->kind == SCHED_RESTORE) say(r, "restore %u", a->job);
    check(a->kind != SCHED_REJECT, "an event was rejected");
}

static void say_ends(struct reader *r, bool *began) {
    for (uint32_t job = 1; job <= DECISIONS_JOBS; job++) {
        struct seen *j = &r->jobs[job];
        struct sched_job_view view;
        bool turn = sched_job(r->s, job, &view) && view.turn;
        bool idle = !j->open && j->done_ns < r->now_ns;
        const char *why = j->left ? "left" : j->boundary ? "boundary" : idle ? "idle" : "lease";
        bool ended = j->turn && (!turn || j->boundary);
        if (ended) say(r, "end %u %s", job, why);
        began[job] = turn && (ended || !j->turn);
        j->turn = turn;
        if (j->left) j->open = 0;
        j->boundary = j->left = false;
    }
}

static void step(struct reader *r) {
    struct sched_actions actions;
    bool began[DECISIONS_JOBS + 1] = {false};
    if (!r->open) return;
    r->open = false;
    note_events(r);
    check(sched_step(r->s, r->now_ns, r->events, r->count, &actions) == 0, "no memory");
    const char *broken = sched_check(r->s);
    check(!broken, broken);
    say_ends(r, began);
    for (uint32_t job = 1; job <= DECISIONS_JOBS; job++)
        if (began[job]) say(r, "turn %u", job);
    for (uint32_t i = 0; i < actions.count; i++)
        say_action(r, &actions.items[i]);
    r->count = 0;
}

static void take_line(struct reader *r, const char *line) {
    struct sched_config config;
    char why[160];
    if (notation_read_config(line, &config) == 0) {
        check(sched_create(&r->s, &config, why, sizeof(why)) == 0, "no such configuration");
    } else if (line[0] == '@' || strcmp(line, "end") == 0) {
        step(r);
        if (line[0] != '@') return;
        check(notation_read_number(line + 1, UINT64_MAX, &r->now_ns) == 0, "no time");
        if (!r->begun) r->first_ns = r->now_ns;
        r->begun = r->open = true;
    } else if (r->open && line[0] != '>') {
        check(r->count < EVENTS, "too many events in a step");
        check(notation_read_event(line, &r->events[r->count++]) == 0, line);
    }
}

char *decisions_read(FILE *recording) {
    char line[1024], *text = NULL;
    size_t bytes;
    struct reader r = {.out = open_memstream(&text, &bytes)};
    check(r.out != NULL, "no memory");
    rewind(recording);
    while (fgets(line, sizeof(line), recording)) {
        line[strcspn(line, "\n")] = '\0';
        take_line(&r, line);
    }
    check(r.begun, "it has no step");
    check(!r.open, "it has no end");
    sched_destroy(r.s);
    fclose(r.out);
    return text;
}
