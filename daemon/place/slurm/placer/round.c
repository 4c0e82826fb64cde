/* SPDX-License-Identifier: Apache-2.0
 *
 * Decides which jobs to place and where they may go, asks place.h, and converts the answer to
 * actions for Slurm.
 */
#include "daemon/place/slurm/placer/round.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/arena.h"
#include "daemon/place/slurm/placer/cluster_report.h"
#include "daemon/place/slurm/placer/eligible.h"

struct plan {
    const struct world *w;
    const struct cluster_report_config *config;
    int64_t now_s;
    struct arena *memory;
    struct cluster_report_job *jobs;
    uint64_t *labels;                  /* per node */
    bool *classes[ROUND_CLASSES_MOST]; /* per class: flags of its nodes */
    /* Per class: one of its jobs; NULL if the class is of a job that moves. */
    const struct world_job *first[ROUND_CLASSES_MOST];
    uint32_t class_count;
    struct world_job scratch;
    uint32_t *taken; /* per node: shares promised in this round */
    struct round_answer *out;
};

/* ---- fate of each job ------------------------------------------------------------------------ */

static uint32_t find_node(const struct world *w, const char *name) {
    for (size_t i = 0; i < w->node_count; i++)
        if (strcmp(w->nodes[i].name, name) == 0) return (uint32_t)i;
    return WORLD_ELSEWHERE;
}

/* For a job that Slurm placed itself: the GPU with the fewest jobs, as salusd would choose. */
static uint32_t emptiest(const struct plan *p, uint32_t node, size_t jobs) {
    uint32_t count[REPORT_GPUS_MOST] = {0}, best = 0;

    for (size_t i = 0; i < jobs; i++)
        if (p->jobs[i].fate == TELL_STAYS && p->jobs[i].node == node) count[p->jobs[i].gpu]++;
    for (uint32_t g = 1; g < p->w->nodes[node].report.gpu_count; g++)
        if (count[g] < count[best]) best = g;
    return best;
}

/* Keeps the job on its node if the node is known. */
static void stay(struct plan *p, size_t i, uint32_t node) {
    const struct note *n = &p->w->jobs[i].note;
    struct cluster_report_job *t = &p->jobs[i];
    bool ours;

    if (node == WORLD_ELSEWHERE || !cluster_report_node(&p->w->nodes[node])) return;
    ours =
        strcmp(n->node, p->w->nodes[node].name) == 0 && n->gpu < p->w->nodes[node].report.gpu_count;
    t->gpu = ours ? n->gpu : emptiest(p, node, i);
    t->node = node;
    t->fate = TELL_STAYS;
}

/* A placed job that has not begun keeps its node as long as the node works and the time limit has
 * not passed. A job that no node could start now keeps its node without a promise of shares,
 * because many such jobs would waste them. */
static void judge_placed(struct plan *p, size_t i) {
    const struct world_job *j = &p->w->jobs[i];
    uint32_t node = find_node(p->w, j->note.node);
    bool works = node != WORLD_ELSEWHERE && p->w->nodes[node].usable && p->w->nodes[node].reported;

    if (j->held)
        p->jobs[i].fate = TELL_LEAVES;
    else if (works && j->limited)
        p->jobs[i].fate = TELL_KEEPS;
    else if (works && p->now_s - j->note.at < p->config->patience_s)
        stay(p, i, node);
    else
        p->jobs[i].fate = TELL_MOVES;
}

static bool is_for_us(const struct plan *p, const struct world_job *j) {
    return !j->held && !j->depends && j->note.begin <= p->now_s &&
           eligible_understands(j->features);
}

static void judge(struct plan *p, size_t i) {
    const struct world_job *j = &p->w->jobs[i];

    if (j->state == WORLD_RUNS)
        stay(p, i, j->node);
    else if (j->state == WORLD_PLACED)
        judge_placed(p, i);
    else if (is_for_us(p, j))
        p->jobs[i].fate = TELL_CHOOSES;
}

/* ---- classes --------------------------------------------------------------------------------- */

/* The class of a similar job; -ENOENT if there is none. */
static int class_of_alike(const struct plan *p, const struct world_job *j) {
    for (uint32_t c = 0; c < p->class_count; c++)
        if (p->first[c] && eligible_alike(p->first[c], j)) return (int)c;
    return -ENOENT;
}

/* The class with the nodes in `may`, or a new one; -ENOSPC if all are in use. */
static int class_of(struct plan *p, const bool *may, const struct world_job *j) {
    size_t n = p->w->node_count;

    for (uint32_t c = 0; c < p->class_count; c++)
        if (memcmp(p->classes[c], may, n * sizeof(*may)) == 0) return (int)c;
    if (p->class_count == ROUND_CLASSES_MOST) return -ENOSPC;
    bool *copy = arena_calloc(p->memory, n, sizeof(*copy));
    if (!copy) return -ENOMEM;
    memcpy(copy, may, n * sizeof(*may));
    for (size_t i = 0; i < n; i++)
        if (may[i]) p->labels[i] |= 1ull << p->class_count;
    p->classes[p->class_count] = copy;
    p->first[p->class_count] = j;
    return (int)p->class_count++;
}

/* Promised shares are counted here, because place.h does not know about shares. */
static bool has_room(const struct plan *p, size_t node, uint32_t shares) {
    const struct world_node *n = &p->w->nodes[node];

    return n->shares_used + p->taken[node] + shares <= n->shares;
}

/* An open node may have too few shares for this job. Such nodes are excluded if another node
 * remains. Returns true if one was excluded. */
static bool narrow(const struct plan *p, const struct world_job *j, bool *may) {
    size_t with = 0, without = 0;

    if (j->shares <= 1) return false; /* a node without a share is shut */
    for (size_t i = 0; i < p->w->node_count; i++) {
        with += may[i] && has_room(p, i, j->shares);
        without += may[i] && !has_room(p, i, j->shares);
    }
    if (!with || !without) return false;
    for (size_t i = 0; i < p->w->node_count; i++)
        may[i] &= has_room(p, i, j->shares);
    return true;
}

/* A copy of the job with its failing node among the tried ones. */
static const struct world_job *without_its_node(struct plan *p, const struct world_job *j) {
    p->scratch = *j;
    note_try(&p->scratch.note, j->note.node);
    return &p->scratch;
}

/* Tests whether the job needs several nodes for its CPUs and may have them; ignores which nodes
 * were tried. */
static bool is_wide(struct plan *p, const struct world_job *j, bool *may) {
    size_t enough = 0;

    if (j->one_node || j->state != WORLD_WAITS) return false;
    for (size_t i = 0; i < p->w->node_count; i++)
        if (p->w->nodes[i].cpus_configured >= j->cpus) enough++;
    if (enough == p->w->node_count) return false; /* for most jobs the test ends here */
    p->scratch = *j;
    p->scratch.note.tried[0] = '\0';
    if (!eligible_nodes(p->w, &p->scratch, may)) return false;
    for (size_t i = 0; i < p->w->node_count; i++)
        if (may[i] && p->w->nodes[i].cpus_configured >= j->cpus) return false;
    return true;
}

/* Assigns a class. If all classes are in use, the job is left as it is in this round. */
static int classify(struct plan *p, size_t i, bool *may) {
    struct cluster_report_job *t = &p->jobs[i];
    const struct world_job *j = &p->w->jobs[i];
    int class;

    if (t->fate != TELL_CHOOSES && t->fate != TELL_MOVES) return 0;
    if (is_wide(p, j, may)) {
        t->fate = TELL_FREE;
        return 0;
    }
    if (t->fate == TELL_MOVES) j = without_its_node(p, j);
    class = class_of_alike(p, j);
    if (class >= 0) t->narrowed = p->jobs[p->first[class] - p->w->jobs].narrowed;
    if (class == -ENOENT && eligible_nodes(p->w, j, may)) {
        t->narrowed = narrow(p, j, may);
        class = class_of(p, may, j == &p->scratch ? NULL : j);
    }
    if (class == -ENOMEM) return class;
    if (class >= 0)
        t->class = (uint32_t) class;
    else
        t->fate = t->fate == TELL_MOVES ? TELL_LEAVES : TELL_NOT;
    return 0;
}

/* ---- actions --------------------------------------------------------------------------------- */

static void act(struct plan *p, enum round_kind kind, size_t job, uint32_t node, uint32_t gpu,
                const char *why) {
    p->out->actions[p->out->count++] =
        (struct round_action){.kind = kind, .job = job, .node = node, .gpu = gpu, .why = why};
}

static void start(struct plan *p, const struct place_action *a) {
    uint32_t node = (uint32_t)a->where->node, shares = p->w->jobs[a->id].shares;

    if (!has_room(p, node, shares)) return;
    p->taken[node] += shares;
    p->jobs[a->id].fate = TELL_STAYS;
    act(p, ROUND_PLACE, a->id, node, a->where->gpu, NULL);
}

static void follow(struct plan *p, const struct place_answer *answer) {
    for (size_t i = 0; i < answer->action_count; i++)
        if (answer->actions[i].kind == PLACE_START) start(p, &answer->actions[i]);
    for (size_t i = 0; i < p->w->job_count; i++)
        if (p->jobs[i].refused && !p->jobs[i].narrowed)
            act(p, ROUND_REFUSED, i, 0, 0, p->jobs[i].refused);
}

static bool ends_soon(const struct plan *p, const struct world_job *j) {
    return j->note.wait_s && eligible_understands(j->features) &&
           j->begins - p->now_s < (j->note.wait_s + 1) / 2;
}

/* Leaves the job to Slurm or postpones it. Returns true if either was done. */
static bool put_off(struct plan *p, size_t i) {
    if (p->jobs[i].fate == TELL_FREE)
        act(p, ROUND_FREE, i, 0, 0, NULL);
    else if (ends_soon(p, &p->w->jobs[i]))
        act(p, ROUND_PUT_OFF, i, 0, 0, NULL);
    else
        return false;
    return true;
}

/* Handles jobs without a place: a placement that failed is withdrawn, and a job that would soon
 * begin without the placer is postponed, an array once for all its tasks. */
static void keep_waiting(struct plan *p) {
    const struct world_job *latest = NULL;

    for (size_t i = 0; i < p->w->job_count; i++) {
        const struct world_job *j = &p->w->jobs[i];

        if (p->jobs[i].fate == TELL_STAYS || p->jobs[i].fate == TELL_KEEPS) continue;
        if (j->state == WORLD_RUNS) continue;
        if (j->state == WORLD_PLACED) {
            act(p, ROUND_WITHDRAW, i, 0, 0, NULL);
        } else if ((!latest || latest->id != j->id) && put_off(p, i)) {
            latest = j;
        }
    }
}

/* ---- one round ------------------------------------------------------------------------------- */

/* Counts as promised the shares of jobs that were placed and have not begun. */
static void count_promised(struct plan *p) {
    for (size_t i = 0; i < p->w->job_count; i++)
        if (p->w->jobs[i].state == WORLD_PLACED && p->jobs[i].fate == TELL_STAYS)
            p->taken[p->jobs[i].node] += p->w->jobs[i].shares;
}

/* Each round assigns classes from a different job on, so that not always the same jobs find no
 * class. The golden ratio avoids a cycle over the same few jobs. */
static size_t first_classified(const struct plan *p) {
    uint64_t mixed = (uint64_t)p->now_s * 0x9e3779b97f4a7c15u >> 32;

    return p->w->job_count ? mixed % p->w->job_count : 0;
}

static int classify_all(struct plan *p, bool *may) {
    size_t n = p->w->job_count, first = first_classified(p);
    int err = 0;

    for (size_t i = 0; i < n && err == 0; i++) {
        memset(may, 0, p->w->node_count * sizeof(*may));
        err = classify(p, (first + i) % n, may);
    }
    return err;
}

static int prepare(struct plan *p) {
    size_t nodes = p->w->node_count + 1, jobs = p->w->job_count + 1;
    bool *may = arena_calloc(p->memory, nodes, sizeof(*may));

    p->jobs = arena_calloc(p->memory, jobs, sizeof(*p->jobs));
    p->labels = arena_calloc(p->memory, nodes, sizeof(*p->labels));
    p->taken = arena_calloc(p->memory, nodes, sizeof(*p->taken));
    /* Each job has at most one action; a refused job may be postponed as well. */
    p->out->actions = calloc(2 * jobs, sizeof(*p->out->actions));
    if (!may || !p->jobs || !p->labels || !p->taken || !p->out->actions) return -ENOMEM;
    for (size_t i = 0; i < p->w->job_count; i++)
        judge(p, i);
    count_promised(p);
    return classify_all(p, may);
}

static int decide(struct plan *p, char *why, size_t cap) {
    struct cluster_report t = {p->w, p->config, NULL, p->jobs, p->labels, p->taken};
    struct place_answer answer;
    int err = place_create(&t.place, &p->config->place, why, cap);

    if (err < 0) return err;
    err = cluster_report_all(&t, p->now_s, &answer);
    if (err == 0) follow(p, &answer);
    place_destroy(t.place);
    return err;
}

int round_plan(const struct world *w, const struct cluster_report_config *config, int64_t now_s,
               struct round_answer *out, char *why, size_t cap) {
    struct plan p = {.w = w, .config = config, .now_s = now_s, .out = out};
    int err = -ENOMEM;

    *out = (struct round_answer){0};
    snprintf(why, cap, "out of memory");
    p.memory = arena_create();
    if (p.memory) err = prepare(&p);
    if (err == 0) err = decide(&p, why, cap);
    if (err == 0) keep_waiting(&p);
    arena_destroy(p.memory);
    if (err < 0) round_finish(out);
    return err;
}

void round_finish(struct round_answer *out) {
    free(out->actions);
    *out = (struct round_answer){0};
}
