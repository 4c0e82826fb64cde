/* SPDX-License-Identifier: Apache-2.0
 *
 * Scans the attachments once per job. Names of runs begin with a space, which names of groups
 * cannot.
 */
#include "daemon/broker/jobs/runs.h"

#include <stdio.h>
#include <string.h>

/* Returns a job of the same user whose process is an ancestor of this one's; NULL: none. */
static const struct attachment *find_ancestor(const struct attachments *as, const struct job *job,
                                              const struct ancestry *ancestry) {
    const struct list *pos;

    list_each(pos, &as->list) {
        const struct attachment *a = list_entry(pos, struct attachment, link);

        if (a->client && a->job.uid == job->uid && ancestry_has(ancestry, a->job.pid)) return a;
    }
    return NULL;
}

void runs_name(const struct attachments *as, const struct job *job, const struct ancestry *ancestry,
               char out[GROUPS_NAME_BYTES]) {
    const struct attachment *a = find_ancestor(as, job, ancestry);

    memset(out, 0, GROUPS_NAME_BYTES);
    if (a)
        memcpy(out, a->run_name, GROUPS_NAME_BYTES);
    else if (job->spec.run)
        snprintf(out, GROUPS_NAME_BYTES, " run %u", job->spec.run);
    else if (job->pid)
        snprintf(out, GROUPS_NAME_BYTES, " pid %d", (int)job->pid);
}

bool runs_has(const struct attachments *as, const struct job *job,
              const char name[GROUPS_NAME_BYTES]) {
    const struct list *pos;

    list_each(pos, &as->list) {
        const struct attachment *a = list_entry(pos, struct attachment, link);

        if (a->client && *name && a->job.uid == job->uid && strcmp(a->run_name, name) == 0)
            return true;
    }
    return false;
}
