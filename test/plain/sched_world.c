/* SPDX-License-Identifier: Apache-2.0
 *
 * Random worlds of jobs, under every lane policy, every kernel policy and every controller. Jobs
 * arrive, wait, run iterations of several operations, ask for more memory, are paused, stop
 * reaching boundaries, and leave early. After every step:
 *
 *   - the invariants hold, and every request is answered;
 *   - no operation runs twice or before its iteration, and no two jobs run in one lane;
 *   - no two users are in one lane unless they share;
 *   - at most one job waits for memory beyond what it holds;
 *   - no process waits whose run has begun.
 *
 * A recording of the world replays to the same actions. At the end of a world no job is left
 * waiting: every job that was not refused has run all its operations.
 *
 *   sched_world [seed] [worlds]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sched/admission/grant_bound.h"
#include "daemon/sched/control/controller.h"
#include "daemon/sched/core/check.h"
#include "daemon/sched/core/life.h"
#include "daemon/sched/core/step.h"
#include "daemon/sched/core/view.h"
#include "daemon/sched/policy/lane_policy.h"
#include "daemon/sched/policy/policy.h"
#include "daemon/sched/record/checkpoint.h"
#include "daemon/sched/record/recorder.h"
#include "daemon/sched/record/replay.h"
#include "daemon/sched/state.h"
#include "test/lib/part.h"

#define JOBS 40u
#define OPS 6u /* most operations of an iteration */
#define CAPACITY 64u
#define EVENTS 256u
#define RECORDED 16384u /* bytes of a recorder's half */

/* The last two are a kernel without a profile, and no kernel. */
static const struct sched_kernel kernels[] = {
    {.mean_ns = 10, .sms = 4, .class = SCHED_CLASS_COMPUTE},
    {.mean_ns = 100, .sms = 100, .class = SCHED_CLASS_MEMORY},
    {.mean_ns = 3, .sms = 1, .class = SCHED_CLASS_UNKNOWN},
    {.sms = 30},
    {.class = SCHED_CLASS_COPY},
};

struct job {
    struct sched_spec spec;
    uint64_t granted_bytes;   /* P before the job asked */
    uint32_t iterations, ops; /* iterations in all; operations of the current one */
    uint32_t iteration, submitted, done;
    uint32_t next_submitted; /* operations of the next iteration, submitted ahead */
    uint32_t running[OPS], running_count;
    uint32_t lane;      /* lane, once admitted */
    uint32_t sms;       /* multiprocessors that the job may use; 0: all */
    uint64_t asleep_ns; /* the job does nothing until this time */
    bool patient;
    bool joined, admitted, refused, left, asked, awaits, lost, out, level, still;
};

struct world {
    struct sched *s;
    struct recorder *r;
    struct job jobs[JOBS];
    uint64_t seed, now_ns, arm_ns, steps, ran;
    uint64_t mixed;           /* times that a job entered a lane of several users */
    uint64_t shares, paces;   /* shares that controllers set; steps in which they paused a job */
    uint64_t stills;          /* times that kernels on the device were told to pause */
    uint64_t waited[2];       /* waits for memory that were denied, and granted */
    uint64_t followed, apart; /* processes of a run that had begun: admitted, refused */
    uint64_t asks;            /* answers that were compared with the obtainable memory */
    struct checkpoint copy;
    uint32_t users;
    bool share_users, one_user;
    const char *policy;
};

static uint32_t rnd(struct world *w, uint32_t below) {
    w->seed = w->seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((w->seed >> 33) % below);
}

static void fail(const struct world *w, const char *what, uint32_t job) {
    fprintf(stderr, "sched_world: %s, step %llu, job %u: %s\n", w->policy,
            (unsigned long long)w->steps, job, what);
    abort();
}

static uint64_t op_name(uint32_t iteration, uint32_t op) {
    return (uint64_t)iteration << 8 | op;
}

static void note_ran(struct world *w, const struct sched_action *a) {
    struct job *j = &w->jobs[a->job - 1];
    if (!j->admitted || j->left) fail(w, "runs that is not admitted", a->job);
    if (a->op >> 8 != j->iteration) fail(w, "an operation of another iteration runs", a->job);
    for (uint32_t i = 0; i < j->running_count; i++)
        if (j->running[i] == (uint32_t)a->op) fail(w, "an operation runs twice", a->job);
    j->running[j->running_count++] = (uint32_t)a->op;
    w->ran++;
}

/* Moves the job into its first lane, or another one; no other user's job may be in it. */
static void note_entered(struct world *w, const struct sched_action *a) {
    struct job *j = &w->jobs[a->job - 1];
    j->lane = a->lane;
    for (uint32_t i = 0; i < JOBS; i++) {
        const struct job *k = &w->jobs[i];
        if (!k->admitted || k->left || k->lane != a->lane || k->spec.user == j->spec.user) continue;
        if (!w->share_users) fail(w, "comes into another user's lane", a->job);
        w->mixed++;
    }
}

/* No other user's job may be on a device that does not separate users' memory. */
static void note_admitted(struct world *w, const struct sched_action *a) {
    const struct job *j = &w->jobs[a->job - 1];
    for (uint32_t i = 0; w->one_user && i < JOBS; i++) {
        const struct job *k = &w->jobs[i];
        bool there = k->admitted && (!k->left || k->running_count);
        if (there && k->spec.user != j->spec.user) fail(w, "comes to another user", a->job);
    }
}

static void take_action(struct world *w, const struct sched_action *a) {
    struct job *j = a->job ? &w->jobs[a->job - 1] : NULL;
    switch (a->kind) {
    case SCHED_RUN: note_ran(w, a); break;
    case SCHED_ADMIT:
        j->admitted = true;
        w->followed += j->spec.run != 0;
        note_admitted(w, a);
        note_entered(w, a);
        break;
    case SCHED_MOVE: note_entered(w, a); break;
    case SCHED_REFUSE:
        j->refused = true;
        w->apart += a->why == SCHED_WHY_RUN;
        break;
    case SCHED_GRANT:
    case SCHED_DENY:
        if (!j->asked && !j->awaits) fail(w, "an answer that nobody asked for", a->job);
        if (j->awaits) w->waited[a->kind == SCHED_GRANT]++;
        j->asked = j->awaits = false;
        if (a->kind == SCHED_DENY) j->spec.persistent_bytes = j->granted_bytes;
        break;
    case SCHED_WAIT:
        if (!j->asked || !j->patient) fail(w, "waits that did not offer to", a->job);
        for (uint32_t i = 0; i < JOBS; i++)
            if (w->jobs[i].awaits && !w->jobs[i].left) fail(w, "waits beside another", a->job);
        j->asked = false;
        j->awaits = true;
        break;
    case SCHED_SWAP_OUT:
        if (j->running_count) fail(w, "loses its memory while it runs", a->job);
        if (j->spec.fixed) fail(w, "loses memory that cannot leave the device", a->job);
        j->out = true;
        break;
    case SCHED_SPILL:
        if (j->running_count) fail(w, "loses its pages while it runs", a->job);
        j->lost = true;
        break;
    case SCHED_SWAP_IN: j->out = false; break;
    case SCHED_RESTORE: j->lost = false; break;
    case SCHED_LEVEL:
        if (a->level != !j->level) fail(w, "is told a level that it has", a->job);
        j->level = a->level;
        break;
    case SCHED_SHARE:
        if (a->sms == j->sms) fail(w, "is told a share that it has", a->job);
        j->sms = a->sms;
        w->shares++;
        break;
    case SCHED_STILL:
        if (a->still == j->still) fail(w, "stands still, or does not, already", a->job);
        j->still = a->still;
        w->stills += a->still;
        break;
    case SCHED_SWITCH:
        if (j->lost || j->out) fail(w, "has a turn without its memory", a->job);
        break;
    case SCHED_ARM: w->arm_ns = a->at_ns; break;
    case SCHED_REJECT: fail(w, sched_fault_text(a->rejected.fault), a->job); break;
    default: break;
    }
}

static struct sched_need need_of(const struct job *j) {
    return (struct sched_need){j->spec.persistent_bytes, j->spec.ephemeral_bytes};
}

/* One job's part of the next step. */
static uint32_t act_of_job(struct world *w, uint32_t i, struct sched_event *e) {
    struct job *j = &w->jobs[i];
    uint32_t count = 0, id = i + 1;
    if (!j->joined) {
        if (rnd(w, 8)) return 0;
        j->joined = true;
        e[count++] = (struct sched_event){.kind = SCHED_JOINED, .job = id, .spec = j->spec};
        return count;
    }
    bool ends =
        j->still ? rnd(w, 50) == 0 : rnd(w, 2); /* a paused operation has ended, or continues */
    if (j->running_count && ends) {
        uint32_t op = j->running[--j->running_count];
        j->done++;
        e[count++] =
            (struct sched_event){.kind = SCHED_DONE, .job = id, .done = {op, 1 + rnd(w, 100)}};
    }
    if (j->left) return count;
    bool over = j->refused || (j->iteration == j->iterations);
    if (over || rnd(w, 500) == 0) {
        j->left = true;
        e[count++] = (struct sched_event){.kind = SCHED_LEFT, .job = id};
        return count;
    }
    if (j->done == j->ops && j->submitted == j->ops) {
        j->iteration++;
        j->submitted = j->next_submitted;
        j->next_submitted = j->done = 0;
        j->ops = 1 + rnd(w, OPS);
        if (j->ops < j->submitted) j->ops = j->submitted;
        e[count++] = (struct sched_event){.kind = SCHED_BOUNDARY, .job = id};
        if (j->spec.unknown && j->iteration >= 3 && !j->awaits) {
            j->spec.unknown = false;
            e[count++] =
                (struct sched_event){.kind = SCHED_MEASURED, .job = id, .need = need_of(j)};
        }
        if (j->iteration == j->iterations) return count;
    }
    if (j->admitted && !j->asked && !j->awaits && rnd(w, 40) == 0) {
        j->granted_bytes = j->spec.persistent_bytes;
        j->spec.persistent_bytes += rnd(w, 3);
        j->asked = true;
        j->patient = rnd(w, 4);
        e[count++] = (struct sched_event){
            .kind = SCHED_ASKED, .job = id, .need = need_of(j), .patient = j->patient};
    }
    if (rnd(w, 30) == 0) {
        if (rnd(w, 4) == 0)
            j->spec.priority = (int32_t)rnd(w, 3) - 1;
        else if (rnd(w, 4) == 0)
            j->spec.slo_ns = rnd(w, 2) ? 1 + rnd(w, 4000) : 0;
        else
            j->spec.paused = !j->spec.paused;
        e[count++] = (struct sched_event){.kind = SCHED_SET, .job = id, .spec = j->spec};
    }
    if (rnd(w, 400) == 0 && !j->out && j->admitted) {
        j->spec.fixed = true;
        e[count++] = (struct sched_event){.kind = SCHED_FIXED, .job = id};
    }
    if (rnd(w, 50) == 0) e[count++] = (struct sched_event){.kind = SCHED_HELD, .job = id};
    if (w->now_ns < j->asleep_ns) return count;
    if (rnd(w, 100) == 0) j->asleep_ns = w->now_ns + rnd(w, 5000);
    if (j->out && rnd(w, 8)) { /* nothing that the job sends is read */
        e[count++] = (struct sched_event){.kind = SCHED_WANTED, .job = id};
        return count;
    }
    uint32_t ahead = j->submitted == j->ops && j->iteration + 1 < j->iterations;
    uint32_t *sent = ahead ? &j->next_submitted : &j->submitted;
    if (*sent < (ahead ? OPS : j->ops) && rnd(w, 3)) {
        uint64_t op = op_name(j->iteration + ahead, (*sent)++);
        const struct sched_kernel *kernel = &kernels[rnd(w, 5) ? rnd(w, 4) : 4];
        e[count++] = (struct sched_event){
            .kind = SCHED_SUBMITTED, .job = id, .submitted = {op, *kernel, j->iteration + ahead}};
    }
    return count;
}

/* Control periods of a few operations, so that they end; pauses of up to some iterations. */
static void make_control(struct world *w, struct policy_config *c) {
    uint32_t controllers = 0;
    while (controller_at(controllers))
        controllers++;
    snprintf(c->control, sizeof(c->control), "%s", controller_at(rnd(w, controllers))->name);
    c->period_ns = 1 + rnd(w, 4000);
    c->period_requests = 1 + rnd(w, 3);
    c->period_cycles = 1 + rnd(w, 3);
    c->outer_periods = 1 + rnd(w, 3);
    c->most_pause_ns = 1 + rnd(w, 3000);
}

static struct policy_config make_policy(struct world *w, const char *policy) {
    uint32_t kernels_policies = 0;
    while (policy_at(kernels_policies))
        kernels_policies++;
    const struct policy *kernel = policy_at(rnd(w, kernels_policies));
    struct policy_config c = {.exclusive = kernel->exclusive ? -1 : (int)rnd(w, 3) - 1,
                              .swap = (int)rnd(w, 2),
                              .max_lanes = rnd(w, 3) ? 0 : 1 + rnd(w, 3),
                              .overtakes = 1 + rnd(w, 20),
                              .lease_ns = 1000,
                              .grow_wait_ns = 1 + rnd(w, 4000),
                              .idle_after_ns = rnd(w, 2) ? 0 : 1 + rnd(w, 20000),
                              .unknown_part = 1 + rnd(w, 400),
                              .inflight_cap = 1 + rnd(w, 4),
                              .preempt_ns = rnd(w, 2) ? 0 : 1 + rnd(w, 500),
                              .priorities = (int)rnd(w, 3) - 1,
                              .by_class = (int)rnd(w, 3) - 1,
                              .by_size = (int)rnd(w, 3) - 1,
                              .add_sizes = (int)rnd(w, 3) - 1,
                              .foresee = -1,
                              .slices = -1,
                              .sm_threshold = rnd(w, 2) ? 0 : rnd(w, 120),
                              .dur_threshold = rnd(w, 2) ? 0 : 1 + rnd(w, 1000),
                              .reef_queue = rnd(w, 2) ? 0 : 1 + rnd(w, 16)};
    snprintf(c.lane, sizeof(c.lane), "%s", policy);
    snprintf(c.kernel, sizeof(c.kernel), "%s", kernel->name);
    make_control(w, &c);
    return c;
}

/* Shuffles events whose order does not matter. */
static void shuffle_events(struct world *w, struct sched_event *events, uint32_t count) {
    for (uint32_t i = count; i > 1; i--) {
        uint32_t k = rnd(w, i);
        struct sched_event swap = events[i - 1];
        events[i - 1] = events[k];
        events[k] = swap;
    }
}

/* Counts the controllers' actions, and checks which jobs they may stop. */
static void count_control(struct world *w) {
    struct sched_job_view view;
    for (uint32_t i = 0; i < JOBS; i++) {
        if (!w->jobs[i].admitted || !sched_job(w->s, i + 1, &view)) continue;
        w->paces += view.why == SCHED_WHY_PACED;
    }
}

/* True if a copy of the scheduler would grant this. */
static bool would_grant(struct world *w, uint32_t job, struct sched_need need) {
    struct sched_event ask = {.kind = SCHED_ASKED, .job = job, .need = need};
    struct sched_actions out;
    struct sched *s;
    bool granted = false;
    if (checkpoint_restore(&w->copy, &s)) fail(w, "is not copied", job);
    if (sched_step(s, w->now_ns, &ask, 1, &out)) fail(w, "cannot ask", job);
    for (uint32_t i = 0; i < out.count; i++)
        granted |= out.items[i].kind == SCHED_GRANT && out.items[i].job == job;
    sched_destroy(s);
    return granted;
}

/* Memory reported as obtainable is granted, and one chunk more is not. */
static void check_obtainable(struct world *w, uint32_t job) {
    const struct sched_state *st = sched_view(w->s);
    struct sched_need most;
    if (!sched_obtainable(w->s, job, &most)) return;
    uint32_t slot = jobmap_find(&st->map, job);
    const struct sched_job *j = &st->jobs[slot];
    if (j->swapped) return;
    uint64_t has = j->spec.unknown ? j->spec.persistent_bytes : lanes_persistent(st->lanes, slot);
    struct sched_need p = {most.persistent_bytes, lanes_ephemeral(st->lanes, slot)};
    struct sched_need e = {has, most.ephemeral_bytes};
    if (checkpoint_take(&w->copy, w->s)) fail(w, "is not copied", job);
    if (!would_grant(w, job, p)) fail(w, "cannot have the P that is obtainable", job);
    if (!would_grant(w, job, e)) fail(w, "cannot have the E that is obtainable", job);
    p.persistent_bytes++;
    e.ephemeral_bytes++;
    if (would_grant(w, job, p)) fail(w, "could have more P than is obtainable", job);
    if (would_grant(w, job, e)) fail(w, "could have more E than is obtainable", job);
    w->asks++;
}

static void step(struct world *w) {
    struct sched_event events[EVENTS];
    struct sched_actions out;
    uint32_t count = 0;
    for (uint32_t i = 0; i < JOBS && count + 8 < EVENTS; i++)
        count += act_of_job(w, (i + (uint32_t)w->steps) % JOBS, events + count);
    if (rnd(w, 100) == 0)
        events[count++] = (struct sched_event){
            .kind = SCHED_POLICY, .policy = make_policy(w, lane_policy_at(rnd(w, 4))->name)};
    shuffle_events(w, events, count);
    w->now_ns += rnd(w, 2000) ? rnd(w, 200) : 100000000;
    w->steps++;
    recorder_begin(w->r, w->s, w->now_ns, events, count);
    if (sched_step(w->s, w->now_ns, events, count, &out)) fail(w, "the step failed", 0);
    recorder_answer(w->r, &out);
    recorder_end(w->r);
    for (uint32_t i = 0; i < out.count; i++)
        take_action(w, &out.items[i]);
    const char *broken = sched_check(w->s);
    if (broken) fail(w, broken, 0);
    for (uint32_t i = 0; i < JOBS; i++)
        if (w->jobs[i].asked) fail(w, "was not answered", i + 1);
    count_control(w);
    if (w->steps % 37 == 0) check_obtainable(w, 1 + (uint32_t)(w->steps / 37 % JOBS));
}

static void fill(struct world *w) {
    for (uint32_t i = 0; i < JOBS; i++) {
        struct job *j = &w->jobs[i];
        *j = (struct job){.iterations = 1 + rnd(w, 12), .ops = 1 + rnd(w, OPS)};
        j->spec = (struct sched_spec){.persistent_bytes = rnd(w, 24),
                                      .ephemeral_bytes = rnd(w, 3) ? rnd(w, 40) : 0,
                                      .weight = 1 + rnd(w, 4),
                                      .priority = rnd(w, 8) ? 0 : (int32_t)rnd(w, 3) - 1,
                                      .group = rnd(w, 4) ? 0 : 1 + rnd(w, 2),
                                      .user = rnd(w, w->users),
                                      .run = rnd(w, 4) ? 0 : 1 + rnd(w, 3),
                                      .unknown = rnd(w, 6) == 0,
                                      .slo_ns = rnd(w, 8) ? 0 : 1 + rnd(w, 4000),
                                      .slo_of = rnd(w, 8) ? SCHED_SLO_MEAN : SCHED_SLO_P95};
        if (rnd(w, 2)) j->spec.iterations = j->iterations;
        if (rnd(w, 20) == 0) j->spec.admit_timeout_ns = 1 + rnd(w, 2000);
    }
}

static bool is_over(const struct world *w) {
    for (uint32_t i = 0; i < JOBS; i++)
        if (!w->jobs[i].left || w->jobs[i].running_count) return false;
    return true;
}

/* Replays the recording, mostly from a checkpoint on, and expects the same actions. */
static void replay_all(const struct world *w) {
    struct replay r = {0};
    FILE *f = tmpfile();
    if (!f || recorder_write(w->r, fileno(f))) fail(w, "the recording cannot be written", 0);
    rewind(f);
    if (replay_run(&r, f, stderr) != REPLAY_SAME) {
        fprintf(stderr, "line %llu: %s\n", (unsigned long long)r.line, r.why);
        fail(w, "the recording does not replay", 0);
    }
    fclose(f);
}

static void run_world(struct world *w, const char *policy) {
    struct sched_config config = {
        .capacity_bytes = CAPACITY, .chunk_bytes = 1 + rnd(w, 3), .share_users = rnd(w, 3) == 0};
    config.one_user = !config.share_users && rnd(w, 2);
    config.slice_ns = rnd(w, 2) ? 1 + rnd(w, 100) : 0;
    config.share_sms = rnd(w, 2) ? 1 + rnd(w, 100) : 0;
    w->share_users = config.share_users;
    w->one_user = config.one_user;
    w->users = 1 + rnd(w, 4);
    config.policy = make_policy(w, policy);
    w->policy = policy;
    w->now_ns = w->steps = 0;
    if (sched_create(&w->s, &config, NULL, 0)) abort();
    if (recorder_create(&w->r, &config, RECORDED)) abort();
    fill(w);
    while (!is_over(w)) {
        step(w);
        if (w->steps > 200000) fail(w, "somebody never got his turn", 0);
    }
    replay_all(w);
    recorder_destroy(w->r);
    sched_destroy(w->s);
}

int main(int argc, char **argv) {
    struct world *w = calloc(1, sizeof(*w));
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, steps = 0;
    uint32_t worlds = argc > 2 ? (uint32_t)atoi(argv[2]) : part_of(80);
    w->seed = seed;
    for (uint32_t i = 0; i < worlds; i++)
        for (uint32_t p = 0; lane_policy_at(p); p++) {
            run_world(w, lane_policy_at(p)->name);
            steps += w->steps;
        }
    printf("sched_world: seed %llu, %u worlds a policy, %llu steps, %llu operations\n",
           (unsigned long long)seed, worlds, (unsigned long long)steps, (unsigned long long)w->ran);
    bool shared = w->mixed > 0 || worlds < 20;
    bool controlled = (w->shares > 0 && w->paces > 0) || worlds < 20;
    if (!shared) fprintf(stderr, "sched_world: nobody ever shared a lane with another user\n");
    if (!controlled)
        fprintf(stderr, "sched_world: controllers did too little: %llu shares, %llu pauses\n",
                (unsigned long long)w->shares, (unsigned long long)w->paces);
    bool asked = w->asks > 0 || worlds < 20;
    if (!asked) fprintf(stderr, "sched_world: nobody asked for what is obtainable\n");
    bool stood = w->stills > 0 || worlds < 20;
    if (!stood) fprintf(stderr, "sched_world: no kernel ever stood still\n");
    bool waited = (w->waited[0] && w->waited[1]) || worlds < 20;
    if (!waited)
        fprintf(stderr, "sched_world: too few waits for memory: %llu denied, %llu granted\n",
                (unsigned long long)w->waited[0], (unsigned long long)w->waited[1]);
    bool followed = (w->followed && w->apart) || worlds < 20;
    if (!followed)
        fprintf(stderr, "sched_world: runs did too little: %llu admitted, %llu refused\n",
                (unsigned long long)w->followed, (unsigned long long)w->apart);
    checkpoint_finish(&w->copy);
    free(w);
    return !shared || !controlled || !stood || !waited || !followed || !asked;
}
