/* SPDX-License-Identifier: Apache-2.0
 *
 * The machines of a cluster and the jobs that come to it: from files (jobset_file.h), drawn by rule
 * (jobset_draw.h), or put together by a test. What a job truly needs and what is told of it before
 * it runs are two things.
 *
 * Owner: the caller. Thread: any.
 */
#ifndef DAEMON_SIM_PLACE_JOBSET_H
#define DAEMON_SIM_PLACE_JOBSET_H

#include <stdbool.h>
#include <stdint.h>

#define JOBSET_JOBS_MOST 4000000u
#define JOBSET_NODES_MOST 100000u
#define JOBSET_GPUS_A_NODE 64u /* as place.h's */
#define JOBSET_LENGTH_MOST_S 1e9
#define JOBSET_BYTES_MOST (1ull << 46) /* as place.h's */
#define JOBSET_UTIL_LEAST 0.001
#define JOBSET_MILLI_MOST 1000000000u /* of processors */
#define JOBSET_MODELS 64u
#define JOBSET_MODEL_BYTES 24u

struct jobset_node {
    uint32_t first_gpu, gpu_count; /* numbers of GPUs go on from node to node */
    uint64_t gpu_bytes;            /* memory of each of its GPUs */
    uint32_t cpu_milli;
    uint64_t memory_bytes;
    uint64_t labels;
};

/* What a job takes of each of its GPUs. */
struct jobset_need {
    double util; /* the part of a GPU's time in which it keeps it busy, alone */
    uint64_t persistent_bytes, ephemeral_bytes;
};

struct jobset_job {
    double arrival_s;
    double length_s; /* alone on its GPUs */
    uint32_t tasks, gpus;
    struct jobset_need is, told; /* as it is, and as it is told when it arrives */
    uint32_t cpu_milli;          /* of each task */
    uint64_t memory_bytes;       /* of each task */
    uint64_t labels;             /* nodes' of which it needs one; 0: any */
    double slo;                  /* SERVICE: may take so many times its length; below 1: it is to be
                                    faster than alone, which takes more than its share of a GPU */
    bool service;
};

struct jobset {
    struct jobset_node *nodes;
    struct jobset_job *jobs; /* by arrival */
    uint32_t node_count, gpu_count, job_count;
    uint32_t job_room, node_room;
    uint32_t passed_over; /* rows of a file that ask for no GPU */
    /* Whose bit is which label: models of GPUs, as files name them. */
    char models[JOBSET_MODELS][JOBSET_MODEL_BYTES];
    uint32_t model_count;
};

/* What tables of jobs do not say, Alibaba's most of all (jobset_file.h). */
struct jobset_rules {
    double slo;                    /* of services; own tables have a column. 0: 1 */
    double service_use, train_use; /* the mean part that is used of what was asked for; 0: all */
    bool whole_tasks;              /* each GPU is a task of its own, so that nodes do not matter */
    bool drop_failed;              /* rows whose phase is Failed are passed over */
    double length_most_s;          /* longer ones are cut there; 0: JOBSET_LENGTH_MOST_S */
    uint64_t seed;                 /* of which part is used */
};

void jobset_init(struct jobset *s);
void jobset_finish(struct jobset *s);

/* 0, -E2BIG beyond JOBSET_..._MOST, -ENOMEM. The node's first_gpu is filled in. */
int jobset_add_node(struct jobset *s, const struct jobset_node *node);
int jobset_add_job(struct jobset *s, const struct jobset_job *job);
/* `gpus` GPUs in nodes of `per_node`, the last one smaller, that want for nothing else. */
int jobset_add_gpus(struct jobset *s, uint32_t gpus, uint32_t per_node, uint64_t gpu_bytes);

/* By arrival; those that come together stay in their order. */
int jobset_sort(struct jobset *s);

/* What is told of jobs of which nothing is told yet: the truth times e^(error z), z normal and of
 * the seed and the job, but no util above 1 or below the least, and no more memory than the largest
 * GPU has, for nobody would submit it (unless it is so much in truth). */
struct jobset_error {
    double util, memory;
    uint64_t seed;
};
void jobset_tell(struct jobset *s, const struct jobset_error *error);

/* The label of a model, which is a new one if it must be; 0: there are too many, or its name is too
 * long. */
uint64_t jobset_label(struct jobset *s, const char *model);

/* Normal, of mean 0 and deviation 1. */
double jobset_normal(uint64_t seed, unsigned stream, uint64_t n);

#endif
