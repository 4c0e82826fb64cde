/* SPDX-License-Identifier: Apache-2.0
 *
 * One query per step and node. Slurm's processes provide the functions of libslurm.
 */
#include "daemon/place/slurm/spank/spank_job.h"

#include <errno.h>
#include <slurm/slurm.h>
#include <stdio.h>
#include <string.h>

#include "daemon/place/slurm/gres.h"

#define OUR_REASON "salus: " /* prefix by which config/slurm/salus-report recognises our reason */

int spank_job_ask(uint32_t id, const char *gres, struct job *j) {
    job_info_msg_t *all = NULL;

    *j = (struct job){.note.gpu = NOTE_ANY_GPU};
    if (slurm_load_job(&all, id, 0) != SLURM_SUCCESS || !all) return -EIO;
    for (uint32_t i = 0; i < all->record_count; i++) {
        const slurm_job_info_t *info = &all->job_array[i];

        /* Other tasks of its array, or parts of its heterogeneous job. */
        if (info->job_id != id) continue;
        j->shares = gres_count(info->tres_per_node, gres) || gres_count(info->tres_per_job, gres) ||
                    gres_count(info->tres_per_task, gres) ||
                    gres_count(info->tres_per_socket, gres);
        j->noted = note_parse(&j->note, info->admin_comment) == 0;
    }
    slurm_free_job_info_msg(all);
    return 0;
}

int spank_job_requeue(uint32_t id) {
    return slurm_requeue(id, 0) == SLURM_SUCCESS ? 0 : -EIO;
}

/* Tests whether an administrator drained the node for another reason, which must be preserved. */
static bool is_drained(const char *node) {
    node_info_msg_t *all = NULL;
    bool drained;

    if (slurm_load_node_single(&all, (char *)node, SHOW_ALL) != SLURM_SUCCESS || !all) return false;
    drained = all->record_count == 1 && all->node_array[0].node_state & NODE_STATE_DRAIN &&
              all->node_array[0].reason &&
              strncmp(all->node_array[0].reason, OUR_REASON, strlen(OUR_REASON)) != 0;
    slurm_free_node_info_msg(all);
    return drained;
}

void spank_job_drain_node(const char *node, const char *why) {
    update_node_msg_t update;
    char reason[640];

    if (is_drained(node)) return;
    snprintf(reason, sizeof(reason), OUR_REASON "%s", why);
    slurm_init_update_node_msg(&update);
    update.node_names = (char *)node; /* not modified */
    update.node_state = NODE_STATE_DRAIN;
    update.reason = reason;
    slurm_update_node(&update);
}
