/* SPDX-License-Identifier: Apache-2.0
 *
 * The machines of a cluster and the jobs that arrive: from files (jobset_file.h), drawn by rule
 * (jobset_draw.h), or built by a test. A job's true needs (`is`) and the needs reported before it
 * runs (`told`) are separate.
 *
 * Owner: the caller. Thread: any.
 */
#ifndef DAEMON_SIM_PLACE_JOBSET_H
#define DAEMON_SIM_PLACE_JOBSET_H

#include <stdbool.h>
#include <stdint.h>

#define JOBSET_JOBS_MOST 4000000u
#define JOBSET_NODES_MOST 100000u
#define JOBSET_GPUS_A_NODE 64u /* as in place.h */
#define JOBSET_LENGTH_MOST_S 1e9
#define JOBSET_BYTES_MOST (1ull << 46) /* as in place.h */
#define JOBSET_UTIL_LEAST 0.001
#define JOBSET_MILLI_MOST 1000000000u /* limit of processors */
#define JOBSET_MODELS 64u
#define JOBSET_MODEL_BYTES 24u

struct jobset_node {
    uint32_t first_gpu, gpu_count; /* GPUs are numbered across all nodes */
    uint64_t gpu_bytes;            /* memory of each of its GPUs */
    uint32_t cpu_milli;
    uint64_t memory_bytes;
    uint64_t labels;
};

/* A job's needs on each of its GPUs. */
struct jobset_need {
    double util; /* fraction of a GPU's time in which the job alone keeps it busy */
    uint64_t persistent_bytes, ephemeral_bytes;
};

struct jobset_job {
    double arrival_s;
    double length_s; /* duration alone on its GPUs */
    uint32_t tasks, gpus;
    struct jobset_need is, told; /* true needs, and needs reported on arrival */
    uint32_t cpu_milli;          /* per task */
    uint64_t memory_bytes;       /* per task */
    uint64_t labels;             /* the job runs on nodes that have one of these; 0: any */
    /* SERVICE: allowed time relative to its length; below 1: it must be faster than alone, which
     * takes more than its share of a GPU. */
    double slo;
    bool service;
};

struct jobset {
    struct jobset_node *nodes;
    struct jobset_job *jobs; /* ordered by arrival */
    uint32_t node_count, gpu_count, job_count;
    uint32_t job_room, node_room;
    uint32_t passed_over; /* rows of a file that request no GPU */
    /* Bit i of labels is this GPU model, as files name it. */
    char models[JOBSET_MODELS][JOBSET_MODEL_BYTES];
    uint32_t model_count;
};

/* Values that tables of jobs omit, above all Alibaba's (jobset_file.h). */
struct jobset_rules {
    double slo;                    /* SLO of services, if the table has no column for it; 0: 1 */
    double service_use, train_use; /* mean used fraction of the requested resources; 0: all */
    bool whole_tasks;              /* each GPU is a separate task, so that nodes do not matter */
    bool drop_failed;              /* skip rows whose phase is Failed */
    double length_most_s;          /* longer jobs are cut to this; 0: JOBSET_LENGTH_MOST_S */
    uint64_t seed;                 /* seed of the used fractions */
};

void jobset_init(struct jobset *s);
void jobset_finish(struct jobset *s);

/* Return 0, -E2BIG beyond JOBSET_..._MOST, or -ENOMEM. The node's first_gpu is filled in. */
int jobset_add_node(struct jobset *s, const struct jobset_node *node);
int jobset_add_job(struct jobset *s, const struct jobset_job *job);
/* Adds `gpus` GPUs in nodes of `per_node` (the last may be smaller) with ample other resources. */
int jobset_add_gpus(struct jobset *s, uint32_t gpus, uint32_t per_node, uint64_t gpu_bytes);

/* Sorts by arrival; equal arrivals keep their order. */
int jobset_sort(struct jobset *s);

/* Sets the reported needs of jobs that have none: the true needs times e^(error z), with z normal
 * and dependent on the seed and the job. Utilisation stays between the least value and 1. Memory is
 * limited to the largest GPU's, because no user would submit such a job, unless the true memory
 * exceeds that. */
struct jobset_error {
    double util, memory;
    uint64_t seed;
};
void jobset_tell(struct jobset *s, const struct jobset_error *error);

/* The label of a GPU model, added if new; 0 if there are too many or the name is too long. */
uint64_t jobset_label(struct jobset *s, const char *model);

/* Normally distributed, with mean 0 and deviation 1. */
double jobset_normal(uint64_t seed, unsigned stream, uint64_t n);

#endif
