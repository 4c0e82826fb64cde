/* SPDX-License-Identifier: Apache-2.0
 *
 * Converts the records of libslurm to struct world and frees them immediately.
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
#include "daemon/place/slurm/placer/records.h"

#define MIB (1ull << 20)
/* A fully reserved node (RES) is for jobs that name the reservation; none of ours does. */
#define NOT_USABLE                                                                          \
    (NODE_STATE_DRAIN | NODE_STATE_FAIL | NODE_STATE_NO_RESPOND | NODE_STATE_POWERED_DOWN | \
     NODE_STATE_POWERING_DOWN | NODE_STATE_MAINT | NODE_STATE_REBOOT_REQUESTED | NODE_STATE_RES)

struct look {
    const struct ctld_config *config;
    struct report_age *fresh;
    struct arena *memory;
    node_info_msg_t *nodes;
    partition_info_msg_t *partitions;
    job_info_msg_t *jobs;
    struct world_node *out_nodes;
    struct world *w;
    int64_t now_ns;
};

/* ---- nodes ----------------------------------------------------------------------------------- */

static bool is_usable(uint32_t state) {
    uint32_t base = state & NODE_STATE_BASE;

    return (base == NODE_STATE_IDLE || base == NODE_STATE_MIXED || base == NODE_STATE_ALLOCATED) &&
           !(state & NOT_USABLE);
}

static void take_report(struct look *l, struct world_node *n, const char *text) {
    char why[REPORT_WHY_BYTES];
    int64_t age = report_age_ns(l->fresh, n->name, text ? text : "", l->now_ns);
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

        n->name = records_text(l->memory, from->name);
        if (!from->name) continue; /* the number of a deleted node stays */
        n->usable = is_usable(from->node_state);
        n->features =
            records_text(l->memory, from->features_act ? from->features_act : from->features);
        n->cpus = n->cpus_configured = from->cpus_efctv;
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

        all[i].name = records_text(l->memory, from->name);
        all[i].up = from->state_up & PARTITION_SCHED;
        all[i].has = records_nodes(l->memory, from->node_inx, l->w->node_count);
        if (!all[i].has) return -ENOMEM;
    }
    l->w->partitions = all;
    l->w->partition_count = count;
    return 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

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

int ctld_look(const struct ctld_config *config, struct report_age *fresh, struct arena *memory,
              struct world *w, char *why, size_t cap) {
    struct look l = {.config = config, .fresh = fresh, .memory = memory, .w = w};
    int err;

    *w = (struct world){0};
    l.now_ns = (int64_t)fdutil_now_ns();
    err = load(&l, why, cap);
    if (err == 0) err = take_nodes(&l);
    if (err == 0) err = take_partitions(&l);
    if (err == 0)
        err = records_take(&(struct records){l.jobs, config->gres, memory, l.out_nodes, w});
    unload(&l);
    if (err == -ENOMEM) snprintf(why, cap, "out of memory");
    return err;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Updates one task. Slurm splits it off and answers for each task named. */
static int set_task(job_desc_msg_t *update, uint32_t id, uint32_t task) {
    job_array_resp_msg_t *answers = NULL;
    char name[32];
    int err;

    snprintf(name, sizeof(name), "%" PRIu32 "_%" PRIu32, id, task);
    update->job_id_str = name;
    err = slurm_update_job2(update, &answers);
    for (uint32_t i = 0; answers && err == SLURM_SUCCESS && i < answers->job_array_count; i++)
        if (answers->error_code[i]) {
            errno = (int)answers->error_code[i];
            err = SLURM_ERROR;
        }
    if (answers) slurm_free_job_array_resp(answers);
    return err;
}

static int set_job(job_desc_msg_t *update, uint32_t id, uint32_t task) {
    if (task != WORLD_NO_TASK) return set_task(update, id, task);
    update->job_id = id;
    return slurm_update_job(update);
}

int ctld_set_job(uint32_t id, uint32_t task, const struct note *note, int64_t begins, char *why,
                 size_t cap) {
    job_desc_msg_t update;
    char comment[NOTE_BYTES], node[NOTE_NODE_BYTES];

    note_print(note, comment, sizeof(comment));
    snprintf(node, sizeof(node), "%s", note->node);
    slurm_init_job_desc_msg(&update);
    update.admin_comment = comment;
    update.req_nodes = node;
    update.begin_time = begins;
    if (set_job(&update, id, task) == SLURM_SUCCESS) return 0;
    snprintf(why, cap, "%s", slurm_strerror(errno));
    return -EIO;
}

int ctld_requeue(uint32_t id, char *why, size_t cap) {
    if (slurm_requeue(id, 0) == SLURM_SUCCESS) return 0;
    snprintf(why, cap, "%s", slurm_strerror(errno));
    return -EIO;
}
