/* SPDX-License-Identifier: Apache-2.0
 *
 * Every short history of three jobs on a device of a few chunks: each job asks for more, gives
 * memory back, leaves, or time passes, in every order up to a depth (docs/adr/0028-growing.md).
 * After every step the scheduler's invariants hold (sum P + sum L <= C, no job waits for memory
 * that is free), and every job that does not wait has its answer. At the end of every history, in a
 * scheduler that got the same events each time:
 *
 *   - waiting jobs get GRANT or DENY once all other admitted jobs have left, without time passing;
 *   - waiting jobs get GRANT or DENY once enough time has passed, without any other event;
 *   - every job that was not refused is admitted in the end.
 *   grow_worlds [depth]
 */
#include <stdio.h>
#include <stdlib.h>

#include "daemon/sched/core/check.h"
#include "daemon/sched/core/life.h"
#include "daemon/sched/core/step.h"
#include "daemon/sched/core/view.h"
#include "daemon/sched/state.h"

#define JOBS 3u
#define CAPACITY 6u
#define DEEPEST 8u

enum move { ASK_ONE, ASK_THREE, ASK_LANE, GIVE, LEAVE, MOVES };
#define WAIT_TIME (JOBS * MOVES) /* the last move: the longest wait passes */

struct job {
    uint64_t p, e, asked_p, asked_e;
    bool admitted, refused, left, waits;
};

struct world {
    struct sched *s;
    struct job jobs[JOBS];
    uint64_t now_ns;
    uint32_t path[DEEPEST], depth;
};

static struct {
    struct sched_spec specs[JOBS];
    const char *policy;
    uint64_t histories, waits, grants, denials;
} all;

static void fail(const struct world *w, const char *what) {
    fprintf(stderr, "grow_worlds: %s: %s: moves", all.policy, what);
    for (uint32_t i = 0; i < w->depth; i++)
        fprintf(stderr, " %u", w->path[i]);
    fprintf(stderr, "\n");
    abort();
}

static void take_answer(struct world *w, struct job *j, bool granted) {
    if (j->waits) all.grants += granted, all.denials += !granted;
    j->waits = false;
    if (!granted) return;
    j->p = j->asked_p;
    j->e = j->asked_e;
}

static void step(struct world *w, struct sched_event *events, uint32_t count) {
    struct sched_actions out;
    uint32_t waiting = 0;
    if (sched_step(w->s, w->now_ns, events, count, &out)) abort();
    for (uint32_t i = 0; i < out.count; i++) {
        const struct sched_action *a = &out.items[i];
        struct job *j = a->job ? &w->jobs[a->job - 1] : NULL;
        if (a->kind == SCHED_ADMIT) j->admitted = true;
        if (a->kind == SCHED_REFUSE) j->refused = true;
        if (a->kind == SCHED_GRANT || a->kind == SCHED_DENY)
            take_answer(w, j, a->kind == SCHED_GRANT);
        if (a->kind == SCHED_WAIT) all.waits += j->waits = true;
        if (a->kind == SCHED_REJECT) fail(w, sched_fault_text(a->rejected.fault));
    }
    const char *broken = sched_check(w->s);
    if (broken) fail(w, broken);
    for (uint32_t i = 0; i < JOBS; i++)
        waiting += w->jobs[i].waits;
    if (waiting > 1) fail(w, "two wait for memory");
}

static void leave(struct world *w, uint32_t i) {
    struct sched_event e = {.kind = SCHED_LEFT, .job = i + 1};
    w->jobs[i].left = true;
    w->jobs[i].waits = false;
    step(w, &e, 1);
}

static void ask(struct world *w, uint32_t i, uint64_t p, uint64_t e) {
    struct job *j = &w->jobs[i];
    struct sched_event event = {
        .kind = SCHED_ASKED, .job = i + 1, .need = {j->p + p, j->e + e}, .patient = true};
    j->asked_p = j->p + p;
    j->asked_e = j->e + e;
    step(w, &event, 1);
}

static void pass_time(struct world *w) {
    struct sched_event e = {.kind = SCHED_TIME};
    w->now_ns += 20000000000;
    step(w, &e, 1);
}

/* Returns false if the move is impossible. */
static bool can_move(const struct world *w, uint32_t move) {
    if (move == WAIT_TIME) return true;
    const struct job *j = &w->jobs[move / MOVES];
    if (j->left) return false;
    if (move % MOVES == LEAVE) return true;
    return j->admitted && !j->waits && (move % MOVES != GIVE || j->p + j->e > 0);
}

static void carry_out(struct world *w, uint32_t move) {
    uint32_t i = move / MOVES;
    struct job *j = &w->jobs[i < JOBS ? i : 0];
    struct sched_event measured = {.kind = SCHED_MEASURED, .job = i + 1};
    if (move == WAIT_TIME) {
        pass_time(w);
        return;
    }
    switch (move % MOVES) {
    case ASK_ONE: ask(w, i, 1, 0); break;
    case ASK_THREE: ask(w, i, 3, 0); break;
    case ASK_LANE: ask(w, i, 0, 2); break;
    case GIVE:
        j->p = j->e = 0;
        step(w, &measured, 1);
        break;
    default: leave(w, i);
    }
}

/* Creates the world after the moves of the path; returns false if one of them is impossible. */
static bool begin(struct world *w) {
    struct sched_event joined[JOBS];
    struct sched_config config = {.capacity_bytes = CAPACITY, .chunk_bytes = 1};
    snprintf(config.policy.lane, sizeof(config.policy.lane), "%s", all.policy);
    config.policy.exclusive = config.policy.swap = -1;
    for (uint32_t i = 0; i < JOBS; i++) {
        w->jobs[i] = (struct job){.p = all.specs[i].persistent_bytes};
        joined[i] = (struct sched_event){.kind = SCHED_JOINED, .job = i + 1, .spec = all.specs[i]};
    }
    w->now_ns = 0;
    if (sched_create(&w->s, &config, NULL, 0)) abort();
    step(w, joined, JOBS);
    for (uint32_t d = 0; d < w->depth; d++) {
        if (!can_move(w, w->path[d])) return false;
        carry_out(w, w->path[d]);
    }
    return true;
}

static bool anybody_waits(const struct world *w) {
    for (uint32_t i = 0; i < JOBS; i++)
        if (w->jobs[i].waits) return true;
    return false;
}

static void others_leave(struct world *w) {
    for (uint32_t i = 0; i < JOBS && anybody_waits(w); i++)
        if (w->jobs[i].admitted && !w->jobs[i].left && !w->jobs[i].waits) leave(w, i);
    if (anybody_waits(w)) fail(w, "waits for memory though all others have left");
}

/* Every job ends as soon as it can. */
static void all_end(struct world *w) {
    pass_time(w);
    if (anybody_waits(w)) fail(w, "waits for memory beyond its time");
    for (uint32_t round = 0; round < JOBS; round++)
        for (uint32_t i = 0; i < JOBS; i++)
            if (!w->jobs[i].left && (w->jobs[i].admitted || w->jobs[i].refused)) leave(w, i);
    for (uint32_t i = 0; i < JOBS; i++)
        if (!w->jobs[i].left) fail(w, "a job was never admitted");
}

static void explore(struct world *w, uint32_t deepest) {
    bool possible = begin(w);
    if (possible) others_leave(w);
    sched_destroy(w->s);
    if (!possible) return;
    all.histories++;
    begin(w);
    all_end(w);
    sched_destroy(w->s);
    if (w->depth == deepest) return;
    w->depth++;
    for (uint32_t move = 0; move <= WAIT_TIME; move++) {
        w->path[w->depth - 1] = move;
        explore(w, deepest);
    }
    w->depth--;
}

/* Sets which jobs have unknown reservations, which have one iteration, and how many users there
 * are. */
static void make_specs(uint32_t kind) {
    for (uint32_t i = 0; i < JOBS; i++)
        all.specs[i] = (struct sched_spec){.unknown = kind & 1u || i == 0,
                                           .persistent_bytes = kind & 1u || i == 0 ? 0 : 2,
                                           .run = kind & 2u && i < 2 ? 1 : 0,
                                           .user = kind & 4u ? i : 0};
}

int main(int argc, char **argv) {
    static const char *const policies[] = {"fair", "fifo"};
    uint32_t depth = argc > 1 ? (uint32_t)atoi(argv[1]) : 4;
    struct world w = {.depth = 0};
    if (depth > DEEPEST) depth = DEEPEST;
    for (uint32_t policy = 0; policy < 2; policy++)
        for (uint32_t kind = 0; kind < 8; kind++) {
            all.policy = policies[policy];
            make_specs(kind);
            explore(&w, depth);
        }
    printf("grow_worlds: depth %u, %llu histories, %llu waits, %llu granted, %llu denied\n", depth,
           (unsigned long long)all.histories, (unsigned long long)all.waits,
           (unsigned long long)all.grants, (unsigned long long)all.denials);
    return !(all.waits && all.grants && all.denials);
}
