/* SPDX-License-Identifier: Apache-2.0
 *
 * What libslurm tells becomes the world; its records are given back at once.
 */
#include "daemon/place/slurm/placer/ctld.h"

#include <errno.h>
#include <inttypes.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fdutil.h"
#include "common/log.h"
#include "daemon/place/slurm/gres.h"

#define MIB (1ull << 20)
#define NOT_USABLE                                                                          \
    (NODE_STATE_DRAIN | NODE_STATE_FAIL | NODE_STATE_NO_RESPOND | NODE_STATE_POWERED_DOWN | \
     NODE_STATE_POWERING_DOWN | NODE_STATE_MAINT | NODE_STATE_REBOOT_REQUESTED)

struct look {
    const struct ctld_config *config;
    struct fresh *fresh;
    struct arena *memory;
    node_info_msg_t *nodes;
    partition_info_msg_t *partitions;
    job_info_msg_t *jobs;
    struct world_node *out_nodes;
    struct world *w;
    int64_t now_ns;
};

static const char *copy(struct look *l, const char *text) {
    const char *own = text ? arena_strdup(l->memory, text) : NULL;

    return own ? own : "";
}

/* Pairs of first and last, ended by -1: a mark for each node. NULL: out of memory. */
static bool *nodes_of(struct look *l, const int32_t *pairs) {
    bool *has = arena_calloc(l->memory, l->w->node_count + 1, sizeof(*has));

    for (; has && pairs && pairs[0] >= 0; pairs += 2)
        for (int32_t i = pairs[0]; i <= pairs[1] && (size_t)i < l->w->node_count; i++)
            has[i] = true;
    return has;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static bool is_usable(uint32_t state) {
    uint32_t base = state & NODE_STATE_BASE;

    return (base == NODE_STATE_IDLE || base == NODE_STATE_MIXED || base == NODE_STATE_ALLOCATED) &&
           !(state & NOT_USABLE);
}

static void take_report(struct look *l, struct world_node *n, const char *text) {
    char why[REPORT_WHY_BYTES];
    int64_t age = fresh_age_ns(l->fresh, n->name, text ? text : "", l->now_ns);
    int err = report_parse(&n->report, text, why);

    n->reported = err == 0 && age >= 0 && age <= l->config->stale_ns;
    if (err == -EINVAL && age == 0)
        log_each("placer", LOG_WARN, "event=nonsense node=%s why=\"%s\"", n->name, why);
}

static int take_nodes(struct look *l) {
    l->w->node_count = l->nodes->record_count;
    l->out_nodes = arena_calloc(l->memory, l->w->node_count + 1, sizeof(*l->out_nodes));
    if (!l->out_nodes) return -ENOMEM;
    l->w->nodes = l->out_nodes;
    for (size_t i = 0; i < l->w->node_count; i++) {
        const node_info_t *from = &l->nodes->node_array[i];
        struct world_node *n = &l->out_nodes[i];

        n->name = copy(l, from->name);
        if (!from->name) continue; /* of a node that was deleted the number stays */
        n->usable = is_usable(from->node_state);
        n->features = copy(l, from->features_act ? from->features_act : from->features);
        n->cpus = from->cpus_efctv;
        n->memory_bytes = from->real_memory * MIB;
        n->shares = gres_count(from->gres, l->config->gres);
        n->shares_used = gres_count(from->gres_used, l->config->gres);
        if (n->shares) take_report(l, n, from->extra);
    }
    return 0;
}

static int take_partitions(struct look *l) {
    size_t count = l->partitions->record_count;
    struct world_partition *all = arena_calloc(l->memory, count + 1, sizeof(*all));

    if (!all) return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        const partition_info_t *from = &l->partitions->partition_array[i];

        all[i].name = copy(l, from->name);
        all[i].up = from->state_up & PARTITION_SCHED;
        all[i].has = nodes_of(l, from->node_inx);
        if (!all[i].has) return -ENOMEM;
    }
    l->w->partitions = all;
    l->w->partition_count = count;
    return 0;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static bool runs(const slurm_job_info_t *j) {
    uint32_t base = j->job_state & JOB_STATE_BASE;

    return base == JOB_RUNNING || base == JOB_SUSPENDED;
}

static bool is_pending(const slurm_job_info_t *j) {
    return (j->job_state & JOB_STATE_BASE) == JOB_PENDING;
}

static uint32_t shares_of(const struct look *l, const slurm_job_info_t *j) {
    return gres_count(j->tres_per_node, l->config->gres);
}

/* The CPUs of jobs that we know nothing of are not there for ours. */
static void leave_out(struct look *l, const slurm_job_info_t *j) {
    uint32_t each = j->num_nodes ? (j->num_cpus + j->num_nodes - 1) / j->num_nodes : 0;
    const int32_t *pairs = j->node_inx;

    for (; pairs && pairs[0] >= 0; pairs += 2)
        for (int32_t i = pairs[0]; i <= pairs[1] && (size_t)i < l->w->node_count; i++) {
            struct world_node *n = &l->out_nodes[i];
            n->cpus -= each < n->cpus ? each : n->cpus;
        }
}

static int take_job(struct look *l, const slurm_job_info_t *from, struct world_job *j) {
    j->id = from->job_id;
    j->state = runs(from) ? WORLD_RUNS : *j->note.node ? WORLD_PLACED : WORLD_WAITS;
    j->cpus = from->num_cpus;
    j->submitted = from->submit_time;
    j->begins = from->start_time;
    j->held = from->priority == 0;
    j->depends = from->dependency && *from->dependency;
    j->partition = copy(l, from->partition);
    j->features = from->features ? copy(l, from->features) : NULL;
    j->shares = shares_of(l, from);
    j->node = runs(from) && from->node_inx && from->node_inx[0] >= 0 ? (uint32_t)from->node_inx[0]
                                                                     : WORLD_ELSEWHERE;
    if (!from->exc_nodes || !*from->exc_nodes) return 0;
    j->excluded = nodes_of(l, from->exc_node_inx);
    return j->excluded ? 0 : -ENOMEM;
}

/* A job of one node that has our note, or that runs and has some of the GRES. */
static bool is_ours(struct look *l, const slurm_job_info_t *from, struct note *note) {
    int err = note_parse(note, from->admin_comment);

    if (!runs(from) && !is_pending(from)) return false;
    if (err == -EINVAL)
        log_debug("placer", "event=note job=%" PRIu32 " why=\"it cannot be read\"", from->job_id);
    if (runs(from)) return from->num_nodes == 1 && (err == 0 || shares_of(l, from));
    return err == 0 && !note->free && !from->array_task_str;
}

static int by_submission(const void *a, const void *b) {
    const struct world_job *x = a, *y = b;

    if (x->submitted != y->submitted) return x->submitted < y->submitted ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static int take_jobs(struct look *l) {
    struct world_job *all = arena_calloc(l->memory, l->jobs->record_count + 1, sizeof(*all));
    size_t count = 0;
    int err = 0;

    if (!all) return -ENOMEM;
    for (uint32_t i = 0; i < l->jobs->record_count && err == 0; i++) {
        const slurm_job_info_t *from = &l->jobs->job_array[i];

        if (is_ours(l, from, &all[count].note))
            err = take_job(l, from, &all[count++]);
        else if (runs(from))
            leave_out(l, from);
    }
    qsort(all, count, sizeof(*all), by_submission);
    l->w->jobs = all;
    l->w->job_count = count;
    return err;
}

/* ---- looking --------------------------------------------------------------------------------- */

static int load(struct look *l, char *why, size_t cap) {
    if (slurm_load_node(0, &l->nodes, SHOW_ALL | SHOW_DETAIL) == SLURM_SUCCESS &&
        slurm_load_partitions(0, &l->partitions, SHOW_ALL) == SLURM_SUCCESS &&
        slurm_load_jobs(0, &l->jobs, SHOW_ALL | SHOW_DETAIL) == SLURM_SUCCESS)
        return 0;
    snprintf(why, cap, "%s", slurm_strerror(errno));
    return -EIO;
}

static void unload(struct look *l) {
    if (l->nodes) slurm_free_node_info_msg(l->nodes);
    if (l->partitions) slurm_free_partition_info_msg(l->partitions);
    if (l->jobs) slurm_free_job_info_msg(l->jobs);
}

int ctld_look(const struct ctld_config *config, struct fresh *fresh, struct arena *memory,
              struct world *w, char *why, size_t cap) {
    struct look l = {.config = config, .fresh = fresh, .memory = memory, .w = w};
    int err;

    *w = (struct world){0};
    l.now_ns = (int64_t)fdutil_now_ns();
    err = load(&l, why, cap);
    if (err == 0) err = take_nodes(&l);
    if (err == 0) err = take_partitions(&l);
    if (err == 0) err = take_jobs(&l);
    unload(&l);
    if (err == -ENOMEM) snprintf(why, cap, "out of memory");
    return err;
}

/* ---- telling --------------------------------------------------------------------------------- */

int ctld_set_job(uint32_t id, const struct note *note, int64_t begins, char *why, size_t cap) {
    job_desc_msg_t update;
    char comment[NOTE_BYTES], node[NOTE_NODE_BYTES];

    note_print(note, comment, sizeof(comment));
    snprintf(node, sizeof(node), "%s", note->node);
    slurm_init_job_desc_msg(&update);
    update.job_id = id;
    update.admin_comment = comment;
    update.req_nodes = node;
    update.begin_time = begins;
    if (slurm_update_job(&update) == SLURM_SUCCESS) return 0;
    snprintf(why, cap, "%s", slurm_strerror(errno));
    return -EIO;
}
