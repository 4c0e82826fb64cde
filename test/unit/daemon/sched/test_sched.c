/* SPDX-License-Identifier: Apache-2.0
 *
 * The scheduler, as timed traces: a script of events, and the expected actions as literal text.
 * Then a hundred thousand random steps, compared with a plain model.
 *
 * A script has one step a line, `@time event...`. Events are:
 *   +J    job J joined                     -J    job J left
 *   J:N   kernel N of job J submitted      J~N   memory operation N of job J submitted
 *   J=N   operation N of job J completed
 * The trace has one step a line, `@time J:N ...`: the operations to run, in order.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sched/core/check.h"
#include "daemon/sched/core/life.h"
#include "daemon/sched/core/step.h"
#include "daemon/sched/core/view.h"
#include "daemon/sched/policy/policy.h"
#include "daemon/sched/sched.h"
#include "daemon/sched/state.h"

static const struct sched_kernel some_kernel = {.mean_ns = 1000, .sms = 8};
static const struct sched_kernel a_copy = {.class = SCHED_CLASS_COPY};

static struct sched *make(uint32_t cap) {
    struct sched *s;
    struct sched_config config = {
        .policy = {.lane = "pack", .exclusive = -1, .swap = -1, .inflight_cap = cap}};
    cr_assert_eq(sched_create(&s, &config, NULL, 0), 0);
    return s;
}

static struct sched_event parse_event(const char *word) {
    struct sched_event e = {0};
    char kind;
    unsigned long op;
    if (word[0] == '+' || word[0] == '-') {
        e.kind = word[0] == '+' ? SCHED_JOINED : SCHED_LEFT;
        e.job = (uint32_t)strtoul(word + 1, NULL, 10);
        return e;
    }
    cr_assert_eq(sscanf(word, "%u%c%lu", &e.job, &kind, &op), 3, "bad word %s", word);
    e.kind = kind == '=' ? SCHED_DONE : SCHED_SUBMITTED;
    if (kind == '=')
        e.done.op = op;
    else
        e.submitted.op = op;
    if (kind != '=') e.submitted.kernel = kind == ':' ? some_kernel : a_copy;
    return e;
}

static void step_line(struct sched *s, char *line, char *out, size_t cap) {
    struct sched_event events[64];
    struct sched_actions actions;
    uint32_t count = 0;
    char *rest = line, *word = strtok_r(rest, " ", &rest);
    size_t used = (size_t)snprintf(out, cap, "%s", word);
    uint64_t now = strtoull(word + 1, NULL, 10);
    while ((word = strtok_r(rest, " ", &rest)))
        events[count++] = parse_event(word);
    cr_assert_eq(sched_step(s, now, events, count, &actions), 0);
    for (uint32_t i = 0; i < actions.count; i++)
        if (actions.items[i].kind == SCHED_REJECT)
            used += (size_t)snprintf(out + used, cap - used, " rejected: %s",
                                     sched_fault_text(actions.items[i].rejected.fault));
        else if (actions.items[i].kind == SCHED_RUN)
            used += (size_t)snprintf(out + used, cap - used, " %u:%lu", actions.items[i].job,
                                     (unsigned long)actions.items[i].op);
    snprintf(out + used, cap - used, "\n");
    cr_assert_null(sched_check(s), "%s", sched_check(s));
}

static void expect(uint32_t cap, const char *script, const char *trace) {
    struct sched *s = make(cap);
    char *copy = strdup(script), *rest = copy, *line, got[4096] = "";
    while ((line = strtok_r(rest, "\n", &rest)))
        step_line(s, line, got + strlen(got), sizeof(got) - strlen(got));
    cr_expect_str_eq(got, trace, "got:\n%s", got);
    free(copy);
    sched_destroy(s);
}

Test(sched, runs_in_order_of_arrival_over_all_jobs) {
    expect(16,
           "@0 +1 +2\n"
           "@1 1:10 2:20 1:11\n"
           "@2 2:21\n",
           "@0\n"
           "@1 1:10 2:20 1:11\n"
           "@2 2:21\n");
}

Test(sched, a_job_at_its_cap_waits_and_does_not_hold_the_other) {
    expect(2,
           "@0 +1 +2\n"
           "@1 1:1 1:2 1:3 1:4 2:9\n"
           "@2 1=2\n"
           "@3 1=1 1=3\n",
           "@0\n"
           "@1 1:1 1:2 2:9\n"
           "@2 1:3\n"
           "@3 1:4\n");
}

Test(sched, a_freed_place_goes_to_the_oldest_operation) {
    expect(1,
           "@0 +1 +2\n"
           "@1 1:1 2:1 1:2 2:2 1:3\n"
           "@2 1=1 2=1\n"
           "@3 2=2\n"
           "@4 1=2\n",
           "@0\n"
           "@1 1:1 2:1\n"
           "@2 1:2 2:2\n"
           "@3\n"
           "@4 1:3\n");
}

Test(sched, memory_operations_have_a_list_of_their_own_and_the_same_cap) {
    expect(2,
           "@0 +1\n"
           "@1 1:1 1~2 1~3 1:4\n"
           "@2 1=2\n"
           "@3 1=1\n",
           "@0\n"
           "@1 1:1 1:2\n"
           "@2 1:3\n"
           "@3 1:4\n");
}

Test(sched, a_leaving_job_forgets_what_waits_and_ends_what_runs) {
    expect(1,
           "@0 +1 +2\n"
           "@1 1:1 1:2 2:1\n"
           "@2 -1\n"
           "@3 1:3\n"
           "@4 1=1\n"
           "@5 1=1\n"
           "@6 +1 1:7\n",
           "@0\n"
           "@1 1:1 2:1\n"
           "@2\n"
           "@3 rejected: the job has left\n"
           "@4\n"
           "@5 rejected: there is no such job\n"
           "@6 1:7\n");
}

/* An invalid event changes nothing, and the other events of its step count. */
Test(sched, events_that_cannot_be_are_refused_each_for_itself) {
    expect(4,
           "@0 1:1\n"
           "@1 1=1\n"
           "@2 -1\n"
           "@3 +1 +1 1:5\n"
           "@4 1=5 1=5 1:6\n"
           "@5 2:1 1=7 1:7\n",
           "@0 rejected: there is no such job\n"
           "@1 rejected: there is no such job\n"
           "@2 rejected: there is no such job\n"
           "@3 rejected: there is such a job already 1:5\n"
           "@4 rejected: no such operation of the job runs 1:6\n"
           "@5 rejected: no such operation of the job runs rejected: there is no such job 1:7\n");
}

/* For any order in the array, ends are handled before starts. */
Test(sched, the_order_of_simultaneous_events_does_not_matter) {
    static const char *const orders[] = {"1=1 -2 +3 3:1 1:2", "3:1 1:2 +3 -2 1=1",
                                         "3:1 1=1 1:2 +3 -2", "3:1 -2 1:2 1=1 +3"};
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        char script[128];
        snprintf(script, sizeof(script), "@0 +1 +2\n@1 1:1 2:9\n@2 %s\n", orders[i]);
        expect(1, script, "@0\n@1 1:1 2:9\n@2 3:1 1:2\n");
    }
}

/* A job's departure is handled after its earlier events. */
Test(sched, a_job_that_leaves_in_the_step_in_which_it_came_is_gone) {
    expect(1,
           "@0 +1 1:1 -1\n"
           "@1 +1 1:2\n"
           "@2 1:3 1=2 -1\n"
           "@3 +1\n",
           "@0\n"
           "@1 1:2\n"
           "@2\n"
           "@3\n");
}

/* The event is rejected at any position, and the other events are accepted. */
Test(sched, an_event_of_no_kind_is_rejected) {
    const struct sched_config config = {0};
    const struct sched_event none = {.kind = (enum sched_event_kind)77, .job = 1},
                             joined = {.kind = SCHED_JOINED, .job = 1};
    const struct sched_event orders[][2] = {{joined, none}, {none, joined}};
    for (int i = 0; i < 2; i++) {
        struct sched *s;
        struct sched_actions out;
        cr_assert_eq(sched_create(&s, &config, NULL, 0), 0);
        cr_assert_eq(sched_step(s, 0, orders[i], 2, &out), 0);
        uint32_t rejected = 0;
        for (uint32_t a = 0; a < out.count; a++) {
            if (out.items[a].kind != SCHED_REJECT) continue;
            rejected++;
            cr_expect_eq(out.items[a].rejected.fault, SCHED_FAULT_KIND);
        }
        cr_expect_eq(rejected, 1, "order %d: %u", i, rejected);
        struct sched_job_view view;
        cr_expect(sched_job(s, 1, &view));
        sched_destroy(s);
    }
}

Test(sched, an_unknown_policy_is_refused) {
    struct sched *s;
    struct sched_config config = {.policy = {.kernel = "lottery"}};
    cr_expect_eq(sched_create(&s, &config, NULL, 0), -EINVAL);
    cr_expect_null(s);
    sched_destroy(NULL);
}

/* ---- random steps against a model ------------------------------------------------------------ */

enum { JOBS = 24, OPS = 200000, CAP = 3 };

enum op_state { ABSENT, WAITING, RUNNING, ENDED, FORGOTTEN };

struct model {
    uint8_t state[OPS];
    uint32_t job[OPS];
    uint32_t next_op;
    uint32_t oldest; /* no operation below this number waits */
    uint32_t inflight[JOBS], running_count;
    uint32_t running[OPS];
    uint8_t joined[JOBS];
    uint32_t ran;
};

static uint32_t rnd(uint64_t *seed, uint32_t below) {
    *seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((*seed >> 33) % below);
}

/* Operations are numbered in order of arrival, so the next to run is the lowest eligible one. */
static uint32_t model_next(struct model *m) {
    while (m->oldest < m->next_op && m->state[m->oldest] != WAITING)
        m->oldest++;
    for (uint32_t op = m->oldest; op < m->next_op; op++)
        if (m->state[op] == WAITING && m->inflight[m->job[op]] < CAP) return op;
    return OPS;
}

static bool model_idle(const struct model *m, uint32_t job) {
    for (uint32_t i = 0; i < m->running_count; i++)
        if (m->job[m->running[i]] == job) return false;
    return true;
}

static uint32_t model_events(struct model *m, uint64_t *seed, struct sched_event *events) {
    uint32_t count = 0;
    for (uint32_t n = rnd(seed, 3); n > 0 && m->running_count; n--) {
        uint32_t at = rnd(seed, m->running_count), op = m->running[at];
        m->running[at] = m->running[--m->running_count];
        m->state[op] = ENDED;
        m->inflight[m->job[op]]--;
        events[count++] =
            (struct sched_event){.kind = SCHED_DONE, .job = m->job[op] + 7, .done = {op, 0}};
    }
    uint32_t job = rnd(seed, JOBS);
    if (m->joined[job] && rnd(seed, 50) == 0) {
        for (uint32_t op = m->oldest; op < m->next_op; op++)
            if (m->job[op] == job && m->state[op] == WAITING) m->state[op] = FORGOTTEN;
        m->joined[job] = 0;
        events[count++] = (struct sched_event){.kind = SCHED_LEFT, .job = job + 7};
    } else if (!m->joined[job] && model_idle(m, job)) {
        m->joined[job] = 1;
        events[count++] = (struct sched_event){.kind = SCHED_JOINED, .job = job + 7};
    }
    for (uint32_t n = rnd(seed, 4); n > 0 && m->next_op < OPS; n--) {
        job = rnd(seed, JOBS);
        if (!m->joined[job]) continue;
        uint32_t op = m->next_op++;
        m->job[op] = job;
        m->state[op] = WAITING;
        events[count++] =
            (struct sched_event){.kind = SCHED_SUBMITTED,
                                 .job = job + 7,
                                 .submitted = {op, rnd(seed, 4) ? some_kernel : a_copy, 0}};
    }
    return count;
}

/* Every action must be the model's choice: in order of arrival among the eligible operations,
 * below the cap, never twice, never a dropped one. */
static void model_take(struct model *m, const struct sched_actions *actions) {
    for (uint32_t i = 0; i < actions->count; i++) {
        if (actions->items[i].kind != SCHED_RUN) continue;
        uint32_t op = model_next(m);
        cr_assert_neq(op, OPS, "an operation too many was run");
        cr_assert_eq(actions->items[i].op, op);
        cr_assert_eq(actions->items[i].job, m->job[op] + 7);
        m->state[op] = RUNNING;
        m->running[m->running_count++] = op;
        m->inflight[m->job[op]]++;
        m->ran++;
    }
    cr_assert_eq(model_next(m), OPS, "a runnable operation was left waiting");
}

Test(sched, a_hundred_thousand_random_steps_agree_with_the_model) {
    struct sched *s = make(CAP);
    struct model *m = calloc(1, sizeof(*m));
    uint64_t seed = 1;
    for (uint32_t step = 0; step < 100000; step++) {
        struct sched_event events[16];
        struct sched_actions actions;
        uint32_t count = model_events(m, &seed, events);
        cr_assert_eq(sched_step(s, step, events, count, &actions), 0);
        model_take(m, &actions);
        if (step % 16 == 0) cr_assert_null(sched_check(s), "%s", sched_check(s));
    }
    cr_expect_gt(m->ran, 50000, "the test must run operations to mean anything");
    free(m);
    sched_destroy(s);
}

Test(sched, the_invariant_check_sees_a_broken_state) {
    struct sched *s = make(2);
    struct sched_event events[] = {{.kind = SCHED_JOINED, .job = 1},
                                   {.kind = SCHED_SUBMITTED, .job = 1, .submitted = {.op = 5}}};
    struct sched_actions actions;
    cr_assert_eq(sched_step(s, 0, events, 2, &actions), 0);
    struct sched_state *st = (struct sched_state *)sched_view(s);
    cr_assert_null(sched_check(s));
    st->jobs[jobmap_find(&st->map, 1)].cap = 3;
    cr_expect_str_eq(sched_check(s), "a job's memory limit is wrong");
    st->jobs[jobmap_find(&st->map, 1)].cap = 2;
    st->waiting = 1;
    cr_expect_str_eq(sched_check(s), "waiting operations were lost");
    sched_destroy(s);
}

Test(sched, the_job_map_survives_churn_of_scattered_ids) {
    enum { IDS = 400 };
    static uint32_t ids[IDS];
    struct slotmap map = {0};
    uint64_t seed = 3;
    uint32_t count = 0;
    for (int step = 0; step < 20000; step++) {
        if (count < IDS && (count == 0 || rnd(&seed, 2))) {
            /* ids that collide in the hash table */
            uint32_t id = rnd(&seed, 1000) * 1048576 + rnd(&seed, 4);
            if (jobmap_find(&map, id) != JOBMAP_NONE) continue;
            cr_assert_eq(slotmap_reserve(&map, count + 1), 0);
            jobmap_add(&map, id, id ^ 77);
            ids[count++] = id;
        } else {
            uint32_t at = rnd(&seed, count);
            jobmap_remove(&map, ids[at], ids[at] ^ 77);
            cr_assert_eq(jobmap_find(&map, ids[at]), JOBMAP_NONE);
            ids[at] = ids[--count];
        }
        for (uint32_t i = 0; i < count; i += 1 + count / 16)
            cr_assert_eq(jobmap_find(&map, ids[i]), ids[i] ^ 77);
        cr_assert_eq(map.count, count);
    }
    for (uint32_t i = 0; i < count; i++)
        cr_assert_eq(jobmap_find(&map, ids[i]), ids[i] ^ 77);
    slotmap_finish(&map);
    cr_expect_eq(jobmap_find(&map, 1), JOBMAP_NONE);
}

/* Only the hash distinguishes ids. */
Test(sched, different_ids_of_jobs_have_different_hashes) {
    for (uint64_t id = 0; id <= UINT32_MAX; id += 65519) {
        uint32_t first = jobmap_hash((uint32_t)id) ^ jobmap_hash((uint32_t)id) >> 15 ^
                         jobmap_hash((uint32_t)id) >> 30; /* inverts the second step of the hash */
        cr_assert_eq(first * 340573321u, (uint32_t)id, "%u", (uint32_t)id);
    }
}
