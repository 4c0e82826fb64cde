/* SPDX-License-Identifier: Apache-2.0
 *
 * Converts Alibaba's table: a pod becomes a job; rules supply what the table omits.
 */
#include "daemon/sim/place/jobset_pods.h"

#include <math.h>
#include <string.h>

#include "daemon/sim/base/prng.h"

#define GIB ((uint64_t)1 << 30)
#define POD_GIB_WHOLE \
    14 /* GPU memory of a pod that requests a whole GPU: the smallest card has 16 */

enum { STREAM_USE = 910 };

enum {
    POD_GPUS,
    POD_MILLI,
    POD_CREATED,
    POD_DELETED,
    POD_QOS,
    POD_PHASE,
    POD_SCHEDULED,
    POD_SPEC,
    POD_CPU,
    POD_MEMORY
};
const char *const jobset_pod_names[] = {
    "num_gpu",        "gpu_milli", "creation_time", "deletion_time", "qos", "pod_phase",
    "scheduled_time", "gpu_spec",  "cpu_milli",     "memory_mib",    NULL};

/* Used fraction of the requested amount: all, or uniform between 0 and twice the mean. */
static double used(const struct jobset_rules *rules, double mean, uint32_t row) {
    double part = 2 * mean * prng_unit(prng_at(rules->seed, STREAM_USE, row));
    return mean > 0 && mean < 1 ? fmin(part, 1) : 1;
}

static void pod_needs(struct table *t, const struct jobset_rules *rules, struct jobset_job *job) {
    double milli = table_number(t, POD_MILLI, 1000, 1, 1000) / 1000;
    double bytes = milli * (double)(POD_GIB_WHOLE * GIB);
    double use = used(rules, job->service ? rules->service_use : rules->train_use, t->csv.line);
    job->is.util = fmax(JOBSET_UTIL_LEAST, milli * use);
    job->is.persistent_bytes = (uint64_t)(bytes / 4);
    job->is.ephemeral_bytes = (uint64_t)bytes - job->is.persistent_bytes;
}

/* Time from scheduling, if known, to deletion. */
static double pod_length(struct table *t, const struct jobset_rules *rules, double created_s) {
    double most = rules->length_most_s > 0 ? rules->length_most_s : JOBSET_LENGTH_MOST_S;
    double began_s = table_number(t, POD_SCHEDULED, created_s, 0, JOBSET_LENGTH_MOST_S);
    double ended_s = table_number(t, POD_DELETED, began_s, 0, JOBSET_LENGTH_MOST_S);
    return fmin(fmax(ended_s - fmax(began_s, created_s), 1), most);
}

int jobset_pod_take(struct jobset *s, const struct jobset_rules *rules, struct table *t) {
    uint32_t gpus = table_count(t, POD_GPUS, 0, 0, JOBSET_GPUS_A_NODE);
    bool failed = strcmp(table_text(t, POD_PHASE), "Failed") == 0;
    struct jobset_job job = {.arrival_s = table_number(t, POD_CREATED, 0, 0, JOBSET_LENGTH_MOST_S),
                             .tasks = rules->whole_tasks && gpus ? gpus : 1,
                             .gpus = rules->whole_tasks ? 1 : gpus,
                             .cpu_milli = table_count(t, POD_CPU, 0, 0, JOBSET_MILLI_MOST),
                             .memory_bytes = jobset_row_bytes(t, POD_MEMORY),
                             .labels = jobset_row_spec(s, t, POD_SPEC),
                             .service = strcmp(table_text(t, POD_QOS), "BE") != 0,
                             .slo = rules->slo > 0 ? rules->slo : 1};
    if (!gpus || (failed && rules->drop_failed)) {
        s->passed_over++;
        return 0;
    }
    job.length_s = pod_length(t, rules, job.arrival_s);
    pod_needs(t, rules, &job);
    return jobset_row_add(s, t, &job);
}
