/* SPDX-License-Identifier: Apache-2.0
 *
 * Fields that both tables of jobs have.
 */
#include "daemon/sim/place/jobset_row.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SPEC_BYTES 200u

uint64_t jobset_row_bytes(struct table *t, uint32_t column) {
    return (uint64_t)(table_number(t, column, 0, 0, JOBSET_ROW_MIB_MOST) * (double)JOBSET_ROW_MIB);
}

/* Parses "V100M16|V100M32", which means any of these. */
uint64_t jobset_row_spec(struct jobset *s, struct table *t, uint32_t column) {
    char words[SPEC_BYTES];
    uint64_t labels = 0;
    snprintf(words, sizeof(words), "%s", table_text(t, column));
    if (strlen(table_text(t, column)) >= sizeof(words)) table_fault(t, "gpu_spec is too long");
    for (char *word, *rest = words; (word = strtok_r(rest, "|", &rest));) {
        uint64_t label = jobset_label(s, word);
        if (!label)
            table_fault(t, "gpu_spec: the name '%.40s' is too long, or the row has too many", word);
        labels |= label;
    }
    return labels;
}

int jobset_row_add(struct jobset *s, struct table *t, const struct jobset_job *job) {
    if ((uint64_t)job->tasks * job->gpus > JOBSET_ROW_TASKS_MOST)
        table_fault(t, "the job needs more than %u GPUs", JOBSET_ROW_TASKS_MOST);
    if (t->faults) return 0;
    int err = jobset_add_job(s, job);
    if (err == -E2BIG) table_fault(t, "the table has more than %u jobs", JOBSET_JOBS_MOST);
    return err;
}
