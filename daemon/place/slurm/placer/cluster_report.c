/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes are shut while jobs are reported and opened last, so that no decision precedes complete
 * information. Slurm provides the waiting times, so that they survive a restart of the placer.
 */
#include "daemon/place/slurm/placer/cluster_report.h"

#include <errno.h>
#include <stdlib.h>

#define NS_A_S 1000000000ll

bool cluster_report_node(const struct world_node *n) {
    return n->reported;
}

/* Requires all GPUs of a node, because jobs select GPUs by number. */
bool cluster_report_open(const struct world_node *n, uint32_t promised) {
    if (!n->reported || !n->usable || n->shares_used + promised >= n->shares) return false;
    for (uint32_t g = 0; g < n->report.gpu_count; g++)
        if (!n->report.gpus[g].ready) return false;
    return true;
}

/* Events of one time, and the structures that they point to. */
struct batch {
    const struct cluster_report *t;
    struct place_event *events;
    struct place_job *jobs;
    struct place_where *where;
    size_t count;
};

static void batch_finish(struct batch *b) {
    free(b->events);
    free(b->jobs);
    free(b->where);
}

static int batch_init(struct batch *b, const struct cluster_report *t) {
    size_t most = t->w->job_count + 2 * t->w->node_count + 1;

    *b = (struct batch){.t = t,
                        .events = calloc(most, sizeof(*b->events)),
                        .jobs = calloc(most, sizeof(*b->jobs)),
                        .where = calloc(most, sizeof(*b->where))};
    if (b->events && b->jobs && b->where) return 0;
    batch_finish(b);
    return -ENOMEM;
}

/* Only refusals can occur before the last step. */
static int batch_step(struct batch *b, int64_t s, struct place_answer *answer) {
    int err = place_step(b->t->place, s > 0 ? s * NS_A_S : 0, b->events, b->count, answer);

    b->count = 0;
    for (size_t i = 0; err == 0 && i < answer->action_count; i++)
        if (answer->actions[i].kind == PLACE_REFUSE)
            b->t->jobs[answer->actions[i].id].refused = answer->actions[i].why;
    return err;
}

static void batch_add(struct batch *b, struct place_event event) {
    b->events[b->count++] = event;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static int say_node(struct batch *b, size_t i, struct place_answer *answer) {
    const struct world_node *n = &b->t->w->nodes[i];
    struct place_gpu gpus[REPORT_GPUS_MOST];
    struct place_node node = {.id = i,
                              .cpu_milli = n->cpus * 1000,
                              .memory_bytes = n->memory_bytes,
                              .labels = b->t->labels[i],
                              .gpu_count = n->report.gpu_count,
                              .gpus = gpus};

    for (uint32_t g = 0; g < node.gpu_count; g++) {
        uint64_t bytes = n->report.gpus[g].memory_bytes;
        gpus[g] = (struct place_gpu){.memory_bytes = bytes ? bytes : 1};
    }
    batch_add(b, (struct place_event){.kind = PLACE_NODE, .node = &node});
    batch_add(b, (struct place_event){.kind = PLACE_NODE_SHUT, .id = i});
    return batch_step(b, 0, answer);
}

static int say_nodes(struct batch *b, struct place_answer *answer) {
    int err = 0;

    for (size_t i = 0; i < b->t->w->node_count && err == 0; i++)
        if (cluster_report_node(&b->t->w->nodes[i])) err = say_node(b, i, answer);
    return err;
}

static void open_nodes(struct batch *b) {
    for (size_t i = 0; i < b->t->w->node_count; i++)
        if (cluster_report_open(&b->t->w->nodes[i], b->t->promised[i]))
            batch_add(b, (struct place_event){.kind = PLACE_NODE_OPEN, .id = i});
}

/* ---- jobs ------------------------------------------------------------------------------------ */

/* A running job's measured utilisation replaces its request. Its measured memory is used only if it
 * requested none. */
static void take_measured(const struct cluster_report *t, size_t i, struct place_job *job) {
    const struct world_job *j = &t->w->jobs[i];
    const struct report_job *m =
        t->jobs[i].fate == TELL_STAYS
            ? report_find_job(&t->w->nodes[t->jobs[i].node].report, j->id, j->uid)
            : NULL;

    if (!m) return;
    if (m->demand_milli) job->util = m->demand_milli / 1000.0;
    if (j->note.ask.mem_bytes || !m->persistent_bytes) return;
    job->persistent_bytes = m->persistent_bytes;
    job->ephemeral_bytes = m->ephemeral_bytes;
}

static struct place_job demand(const struct cluster_report *t, size_t i) {
    const struct world_job *j = &t->w->jobs[i];
    const struct ask *a = &j->note.ask;
    bool known = a->mem_bytes != 0;
    struct place_job job = {
        .id = i,
        .tasks = 1,
        .gpus = 1,
        .util = a->util_milli ? a->util_milli / 1000.0 : t->config->util,
        .persistent_bytes = known ? a->persistent_bytes : t->config->mem_bytes,
        .ephemeral_bytes = known ? a->mem_bytes - a->persistent_bytes : 0,
        .cpu_milli = j->cpus * 1000,
        .since_ns = j->since * NS_A_S,
        .labels = t->jobs[i].fate == TELL_STAYS ? 0 : 1ull << t->jobs[i].class,
        .kind = a->class == ASK_SERVICE ? PLACE_SERVICE : PLACE_TRAINING,
        .slack = a->class == ASK_SERVICE ? t->config->slack : 0,
    };

    take_measured(t, i, &job);
    return job;
}

static void say_job(struct batch *b, size_t i) {
    bool stays = b->t->jobs[i].fate == TELL_STAYS;
    struct place_job *job = &b->jobs[b->count];
    struct place_where *where = &b->where[b->count];

    *job = demand(b->t, i);
    *where = (struct place_where){b->t->jobs[i].node, b->t->jobs[i].gpu};
    batch_add(b, (struct place_event){
                     .kind = stays ? PLACE_RUNS : PLACE_JOB, .job = job, .where = where});
}

static void say_all(struct batch *b, enum cluster_report_fate fate) {
    for (size_t i = 0; i < b->t->w->job_count; i++)
        if (b->t->jobs[i].fate == fate) say_job(b, i);
}

static int say_running(struct batch *b, struct place_answer *answer) {
    say_all(b, TELL_STAYS);
    return batch_step(b, 0, answer);
}

/* A job whose placement failed goes last: the cause may not be the node, and the job would then
 * take places from others without end. */
static int say_waiting(struct batch *b, int64_t now_s, struct place_answer *answer) {
    say_all(b, TELL_CHOOSES);
    say_all(b, TELL_MOVES);
    return batch_step(b, now_s, answer);
}

int cluster_report_all(const struct cluster_report *t, int64_t now_s, struct place_answer *answer) {
    struct batch b;
    int err = batch_init(&b, t);

    if (err < 0) return err;
    err = say_nodes(&b, answer);
    if (err == 0) err = say_running(&b, answer);
    if (err == 0) err = say_waiting(&b, now_s, answer);
    open_nodes(&b); /* opens all nodes at once, which triggers the decision */
    if (err == 0) err = batch_step(&b, now_s, answer);
    batch_finish(&b);
    return err;
}
