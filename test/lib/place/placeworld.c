/* SPDX-License-Identifier: Apache-2.0
 *
 * Draws events from the seed and from the world's state, never from names.
 */
#include "test/lib/place/placeworld.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sim/base/prng.h"

#define GIB ((uint64_t)1 << 30)
#define SECOND_NS 1000000000ll

uint64_t placeworld_draw(struct placeworld *w, uint64_t below) {
    return prng_at(w->seed, 7, w->draws++) % below;
}

static bool chance(struct placeworld *w, uint32_t percent) {
    return placeworld_draw(w, 100) < percent;
}

__attribute__((format(printf, 2, 3))) static bool breaks(struct placeworld *w, const char *format,
                                                         ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(w->broken, sizeof(w->broken), format, args);
    va_end(args);
    return false;
}

static uint64_t name(struct placeworld *w) {
    return prng_at(w->salt, 3, w->names++);
}

/* ---- the configuration: every parameter is set ----------------------------------------------- */

static void draw_config(struct placeworld *w, const char *policy) {
    static const struct place_curve curves[] = {
        {1.16664, -0.00302, 4e-5}, {1.32198, -0.00728, 6e-5}, {0, 0.8, 0.01}};
    bool colo = !strcmp(policy, "gpucolo");
    w->config =
        (struct place_config){.policy = policy,
                              .memory = chance(w, 50) ? PLACE_MEMORY_LANES : PLACE_MEMORY_SUM,
                              .queues = 1 + (uint32_t)placeworld_draw(w, 4),
                              .batch = 1 + (uint32_t)placeworld_draw(w, 8),
                              .w_mem = 1,
                              .w_util = 0.5 * (double)placeworld_draw(w, 4),
                              .more = 1.5,
                              .drop = 0.5,
                              .warm_ns = 3 * SECOND_NS,
                              .separate_ratio = 1 + (double)placeworld_draw(w, 3),
                              .patience = 1 + (uint32_t)placeworld_draw(w, 6),
                              .jobs_most = chance(w, 30) ? 3 : 0,
                              .util_most = colo || chance(w, 30) ? 1.25 : 0,
                              .first_fit = placeworld_draw(w, 2) == 0,
                              .curve_count = 3,
                              .curves = {curves[0], curves[1], curves[2]}};
    if (!strcmp(policy, "horus_f") && w->config.queues == 1) w->config.queues = 3;
}

void placeworld_init(struct placeworld *w, uint64_t seed, const char *policy, uint64_t salt) {
    *w = (struct placeworld){.seed = seed, .salt = salt};
    w->honest = chance(w, 50);
    draw_config(w, policy);
    char why[160];
    if (place_create(&w->p, &w->config, why, sizeof(why))) {
        breaks(w, "%s", why);
        return;
    }
    w->ref = placeref_create(&w->config);
}

void placeworld_finish(struct placeworld *w) {
    place_destroy(w->p);
    placeref_destroy(w->ref);
}

/* ---- possible events ------------------------------------------------------------------------- */

/* Draws from few sizes, so that equal values and ties are common. */
struct place_job placeworld_job(struct placeworld *w) {
    static const uint32_t gpus[] = {1, 1, 1, 2, 4};
    int64_t ago_ns = chance(w, 30) ? SECOND_NS * (int64_t)placeworld_draw(w, 50) : 0;
    return (struct place_job){.id = name(w),
                              .since_ns = ago_ns && ago_ns < w->now_ns ? w->now_ns - ago_ns : 0,
                              .tasks = chance(w, 80) ? 1 : 1 + (uint32_t)placeworld_draw(w, 5),
                              .gpus = gpus[placeworld_draw(w, 5)],
                              .util = chance(w, 50) ? 0.25 * (double)(1 + placeworld_draw(w, 4))
                                                    : (double)(1 + placeworld_draw(w, 1000)) / 1000,
                              .persistent_bytes = GIB * placeworld_draw(w, 10),
                              .ephemeral_bytes = GIB * placeworld_draw(w, 10),
                              .cpu_milli = 1000 * (uint32_t)placeworld_draw(w, 5),
                              .memory_bytes = GIB * placeworld_draw(w, 9),
                              .labels = chance(w, 80) ? 0 : 1 + placeworld_draw(w, 3),
                              .kind = chance(w, 50) ? PLACE_SERVICE : PLACE_TRAINING,
                              .slack = 0.2 * (double)placeworld_draw(w, 3),
                              .alone = chance(w, 10)};
}

static struct place_event *event(struct placeworld *w, enum place_event_kind kind, bool bad) {
    w->bad[w->event_count] = bad;
    w->acted[kind < PLACE_EVENTS ? kind : 0] += !bad;
    struct place_event *e = &w->events[w->event_count++];
    *e = (struct place_event){.kind = kind};
    return e;
}

static void node_comes(struct placeworld *w) {
    uint32_t i = (uint32_t)placeworld_draw(w, PLACEREF_NODES);
    struct placeworld_node *n = &w->nodes[i];
    if (n->here) return;
    *n = (struct placeworld_node){.here = true};
    uint32_t make = (uint32_t)placeworld_draw(w, 4);
    n->node = (struct place_node){.id = name(w),
                                  .cpu_milli = 8000 + 8000 * (make & 1),
                                  .memory_bytes = GIB * 32,
                                  .labels = make,
                                  .gpu_count = make == 3 ? PLACEREF_GPUS : 1 + make,
                                  .gpus = n->gpus};
    for (uint32_t g = 0; g < n->node.gpu_count; g++)
        n->gpus[g] = (struct place_gpu){GIB * (make == 2 && g ? 24 : 16), make % 3};
    w->order[w->order_count++] = i;
    event(w, PLACE_NODE, false)->node = &n->node;
}

static void node_changes(struct placeworld *w) {
    uint32_t i = (uint32_t)placeworld_draw(w, PLACEREF_NODES);
    struct placeworld_node *n = &w->nodes[i];
    if (!n->here) return;
    uint32_t what = (uint32_t)placeworld_draw(w, 8);
    if (what == 0) {
        event(w, PLACE_NODE_GONE, false)->id = n->node.id;
        n->here = false;
        for (uint32_t k = 0, to = 0; k < w->order_count; k++)
            if (w->order[k] != i) w->order[to++] = w->order[k];
        w->order_count--;
    } else {
        n->shut = what < 4;
        event(w, n->shut ? PLACE_NODE_SHUT : PLACE_NODE_OPEN, false)->id = n->node.id;
    }
}

static struct placeworld_job *find_job(struct placeworld *w, uint64_t id) {
    for (uint32_t i = 0; i < PLACEREF_JOBS; i++)
        if (w->jobs[i].told && w->jobs[i].job.id == id) return &w->jobs[i];
    return NULL;
}

static struct placeworld_job *new_job(struct placeworld *w) {
    for (uint32_t i = 0; i < PLACEREF_JOBS; i++)
        if (!w->jobs[i].told) return &w->jobs[i];
    return NULL;
}

static void job_comes(struct placeworld *w) {
    struct placeworld_job *j = new_job(w);
    if (!j) return;
    *j = (struct placeworld_job){.told = true, .job = placeworld_job(w)};
    w->new_jobs[w->event_count] = j->job;
    struct place_job *told = &w->new_jobs[w->event_count];
    event(w, PLACE_JOB, false)->job = told;
}

static bool is_open_node(const struct placeworld_node *n) {
    return n->here && n->node.gpu_count > 1;
}

/* Starts a job on a random node, with or without enough space. */
static void job_runs(struct placeworld *w) {
    struct placeworld_job *j = new_job(w);
    struct placeworld_node *n = &w->nodes[placeworld_draw(w, PLACEREF_NODES)];
    if (!j || !is_open_node(n) || w->honest) return;
    *j = (struct placeworld_job){.told = true, .runs = true, .job = placeworld_job(w)};
    j->job.tasks = j->job.gpus = 1;
    if (chance(w, 30)) *(chance(w, 50) ? &j->job.tasks : &j->job.gpus) = 2;
    j->count = j->job.tasks * j->job.gpus;
    for (uint32_t i = 0; i < j->count; i++)
        j->where[i] = (struct place_where){n->node.id, i};
    w->new_jobs[w->event_count] = j->job;
    memcpy(w->new_where[w->event_count], j->where, sizeof(j->where));
    struct place_event *e = event(w, PLACE_RUNS, false);
    e->job = &w->new_jobs[e - w->events];
    e->where = w->new_where[e - w->events];
}

static void measured(struct placeworld *w, const struct placeworld_job *j) {
    struct place_event *e = event(w, PLACE_MEASURED, j->refused);
    e->id = j->job.id;
    if (chance(w, 70)) e->speed = chance(w, 30) ? 1 : 10;
    if (w->honest) return;
    if (chance(w, 30)) e->util = (double)(1 + placeworld_draw(w, 4)) / 4;
    if (chance(w, 30)) e->persistent_bytes = GIB * placeworld_draw(w, 12);
}

/* Returns true if the event may change the job. */
static bool may_concern(const struct place_event *e, uint64_t id) {
    if (e->kind == PLACE_NODE_GONE || e->kind == PLACE_MEASURED) return true;
    return e->id == id || (e->job && e->job->id == id);
}

static void job_changes(struct placeworld *w) {
    struct placeworld_job *j = &w->jobs[placeworld_draw(w, PLACEREF_JOBS)];
    if (!j->told) return;
    uint32_t what = (uint32_t)placeworld_draw(w, 10);
    for (uint32_t i = 0; i < w->event_count; i++)
        if (may_concern(&w->events[i], j->job.id)) return;
    if (what < 5) {
        measured(w, j);
    } else if (what < 8) {
        event(w, PLACE_GONE, false)->id = j->job.id;
        j->told = j->runs = false;
    } else {
        event(w, what == 8 || w->gentle ? PLACE_FAILED : PLACE_MEMORY, !j->runs)->id = j->job.id;
        j->runs = false;
    }
}

static void cannot_be(struct placeworld *w) {
    static const struct place_event bad[] = {
        {.kind = PLACE_EVENTS},
        {.kind = PLACE_NODE},
        {.kind = PLACE_JOB},
        {.kind = PLACE_RUNS},
        {.kind = PLACE_GONE, .id = 1},
        {.kind = PLACE_FAILED, .id = 1},
        {.kind = PLACE_MEMORY, .id = 1},
        {.kind = PLACE_MEASURED, .id = 1, .speed = 1},
        {.kind = PLACE_NODE_GONE, .id = 1},
        {.kind = PLACE_NODE_SHUT, .id = 1},
    };
    const struct place_event *e = &bad[placeworld_draw(w, sizeof(bad) / sizeof(*bad))];
    *event(w, PLACE_TIME, true) = *e;
}

static void happen(struct placeworld *w) {
    uint32_t what = (uint32_t)placeworld_draw(w, 100);
    if (what < 6)
        node_comes(w);
    else if (what < 10)
        node_changes(w);
    else if (what < 45)
        job_comes(w);
    else if (what < 50)
        job_runs(w);
    else if (what < 95)
        job_changes(w);
    else
        cannot_be(w);
}

/* ---- invariants ------------------------------------------------------------------------------ */

static void mix(struct placeworld *w, uint64_t number) {
    w->digest = prng_mix(w->digest + number);
}

static struct placeworld_node *node_named(struct placeworld *w, uint64_t id) {
    for (uint32_t n = 0; n < PLACEREF_NODES; n++)
        if (w->nodes[n].here && w->nodes[n].node.id == id) return &w->nodes[n];
    return NULL;
}

static bool check_wrong(struct placeworld *w, const struct place_answer *a) {
    size_t wrong = 0;
    for (uint32_t i = 0; i < w->event_count; i++)
        if (w->bad[i]) {
            if (wrong == a->wrong_count || a->wrong[wrong].event != i || !*a->wrong[wrong].why)
                return breaks(w, "event %u cannot be, and was taken", i);
            wrong++;
        }
    if (wrong == a->wrong_count) return true;
    return breaks(w, "event %zu can be: %s", a->wrong[wrong].event, a->wrong[wrong].why);
}

static bool check_start(struct placeworld *w, struct placeworld_job *j,
                        const struct place_action *a) {
    if (j->runs) return breaks(w, "a job is started twice");
    if (a->count != j->job.tasks * j->job.gpus) return breaks(w, "not all tasks are started");
    for (uint32_t i = 0; i < a->count; i++) {
        struct placeworld_node *n = node_named(w, a->where[i].node);
        if (!n || n->shut) return breaks(w, "a job is started on a node that takes none");
        if (a->where[i].gpu >= n->node.gpu_count) return breaks(w, "there is no such GPU");
        if (j->job.labels && !(j->job.labels & n->node.labels))
            return breaks(w, "a job is started without its label");
        if (i % j->job.gpus && a->where[i].node != a->where[i - 1].node)
            return breaks(w, "a task is on two nodes");
        for (uint32_t k = 0; k < i; k++)
            if (a->where[k].node == a->where[i].node && a->where[k].gpu == a->where[i].gpu)
                return breaks(w, "a job has a GPU twice");
        j->where[i] = a->where[i];
        mix(w, (uint64_t)(n - w->nodes) * 64 + a->where[i].gpu);
    }
    j->count = a->count;
    j->runs = true;
    w->started++;
    return true;
}

static bool check_action(struct placeworld *w, const struct place_action *a,
                         const struct placeref_action *as) {
    struct placeworld_job *j = find_job(w, a->id);
    if (!j) return breaks(w, "an action is about nobody");
    if (a->kind != as->kind || a->id != as->id || a->count != as->count)
        return breaks(w, "action %d instead of %d", a->kind, as->kind);
    for (uint32_t i = 0; i < a->count; i++)
        if (a->where[i].node != as->where[i].node || a->where[i].gpu != as->where[i].gpu)
            return breaks(w, "other GPUs than the reference takes");
    if (a->cost != as->cost) return breaks(w, "cost %.17g instead of %.17g", a->cost, as->cost);
    mix(w, (uint64_t)(j - w->jobs) * 8 + a->kind);
    if (a->kind == PLACE_START) return check_start(w, j, a);
    if (a->kind == PLACE_STOP && !j->runs) return breaks(w, "a job that does not run is stopped");
    j->runs = false;
    j->refused |= a->kind == PLACE_REFUSE;
    w->stopped += a->kind == PLACE_STOP;
    w->refused += a->kind == PLACE_REFUSE;
    return true;
}

/* Forgets jobs that ran on nodes that are gone. */
static void forget_lost(struct placeworld *w) {
    for (uint32_t i = 0; i < PLACEREF_JOBS; i++)
        for (uint32_t k = 0; w->jobs[i].runs && k < w->jobs[i].count; k++)
            if (!node_named(w, w->jobs[i].where[k].node)) w->jobs[i].runs = false;
}

static bool check_gpu(struct placeworld *w, struct placeworld_node *n, uint32_t g) {
    struct place_where at = {n->node.id, g};
    struct place_use use;
    uint32_t jobs = 0;
    for (uint32_t i = 0; i < PLACEREF_JOBS; i++)
        for (uint32_t k = 0; w->jobs[i].runs && k < w->jobs[i].count; k++)
            jobs += w->jobs[i].where[k].node == at.node && w->jobs[i].where[k].gpu == g;
    if (place_look(w->p, &at, &use)) return breaks(w, "a GPU is not there");
    if (use.jobs != jobs) return breaks(w, "%u jobs are on a GPU, not %u", jobs, use.jobs);
    if (w->honest && use.memory_bytes > n->gpus[g].memory_bytes)
        return breaks(w, "a GPU is over its memory");
    mix(w, use.memory_bytes);
    return true;
}

static bool check_node(struct placeworld *w, struct placeworld_node *n) {
    uint64_t cpu_milli = 0, bytes = 0;
    for (uint32_t i = 0; i < PLACEREF_JOBS; i++) {
        const struct placeworld_job *j = &w->jobs[i];
        for (uint32_t k = 0; j->runs && k < j->count; k += j->job.gpus)
            if (j->where[k].node == n->node.id) {
                cpu_milli += j->job.cpu_milli;
                bytes += j->job.memory_bytes;
            }
    }
    if (w->honest && (cpu_milli > n->node.cpu_milli || bytes > n->node.memory_bytes))
        return breaks(w, "a node is over its CPU or memory");
    for (uint32_t g = 0; g < n->node.gpu_count; g++)
        if (!check_gpu(w, n, g)) return false;
    return true;
}

static bool check(struct placeworld *w, const struct place_answer *a) {
    const struct placeref_action *as;
    struct place_event can_be[PLACEWORLD_EVENTS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->event_count; i++)
        if (!w->bad[i]) can_be[count++] = w->events[i];
    uint32_t actions = placeref_step(w->ref, w->now_ns, can_be, count, &as);
    if (!check_wrong(w, a)) return false;
    forget_lost(w);
    for (uint32_t i = 0; i < actions && i < a->action_count; i++)
        if (!check_action(w, &a->actions[i], &as[i])) return false;
    if (actions != a->action_count)
        return breaks(w, "%zu actions, not %u", a->action_count, actions);
    for (uint32_t n = 0; n < PLACEREF_NODES; n++)
        if (w->nodes[n].here && !check_node(w, &w->nodes[n])) return false;
    const char *broken = place_check(w->p);
    return !broken || breaks(w, "%s", broken);
}

bool placeworld_step(struct placeworld *w) {
    struct place_answer answer;
    if (*w->broken) return false;
    w->event_count = 0;
    for (uint64_t n = placeworld_draw(w, 5); n; n--)
        happen(w);
    w->now_ns += (int64_t)placeworld_draw(w, 4) * SECOND_NS;
    if (place_step(w->p, w->now_ns, w->events, w->event_count, &answer))
        return breaks(w, "no memory");
    for (uint32_t i = 0; i < PLACEREF_JOBS; i++)
        w->waiting += w->jobs[i].told && !w->jobs[i].runs && !w->jobs[i].refused;
    return check(w, &answer);
}
