/* SPDX-License-Identifier: Apache-2.0
 *
 * What a node says of its GPUs: `salusctl --json gpu list`, which config/slurm/salus-report leaves
 * in the node's `extra` of slurmctld, behind the time of the node's own clock since it booted.
 * Anything may stand there; what cannot be read is no report. Pure.
 *
 *   salus:58720.12 {"schema":1,"gpus":[{"id":0,"state":"ready","memory_bytes":1073741824,...}],
 *                   "jobs":[{"id":7,"demand":430,"persistent":67108864,"ephemeral":8388608},...],
 *                   "lacked":[{"id":5,"needed":805306368,"at":1790000000.25},...]}
 *
 * Its jobs are those of Slurm, by their numbers, as far as salusd has measured them: thousandths of
 * the GPU, and the most memory that they have used. A job of several processes is there several
 * times. Those that lacked memory have ended: what the most was that each would have held, and when
 * it ended, by the node's clock. A job that cannot be is passed over: its user named it.
 *
 * Owner: the caller. Threads: any.
 */
#ifndef DAEMON_PLACE_SLURM_PLACER_REPORT_H
#define DAEMON_PLACE_SLURM_PLACER_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REPORT_GPUS_MOST 64
#define REPORT_JOBS_MOST 256
#define REPORT_LACKS_MOST 64
#define REPORT_BYTES_MOST (256u << 10)
#define REPORT_MEMORY_MOST (1ull << 46) /* of a GPU */
#define REPORT_WHY_BYTES 160

struct report {
    uint32_t gpu_count;
    struct report_gpu {
        uint64_t memory_bytes;
        bool ready;
    } gpus[REPORT_GPUS_MOST]; /* by their numbers */
    uint32_t job_count;
    struct report_job {
        uint32_t id, uid;      /* as whoever runs it has it: a user may call a job as he likes */
        uint32_t demand_milli; /* 0: not known */
        uint64_t persistent_bytes, ephemeral_bytes;
    } jobs[REPORT_JOBS_MOST]; /* each once; of more than these nothing is known */
    uint32_t lack_count;
    struct report_lack {
        uint32_t id, uid;
        uint64_t needed_bytes;  /* at most 2 * REPORT_MEMORY_MOST: more is no more */
        int64_t at_ms;          /* since 1970, of the latest end; to be told from another */
    } lacks[REPORT_LACKS_MOST]; /* the same */
};

/* 0, -ENOENT: it is none of ours, or -EINVAL with what is wrong in `why`. */
int report_parse(struct report *r, const char *text, char *why);

/* What is known of that user's job; NULL: nothing. */
const struct report_job *report_find_job(const struct report *r, uint32_t id, uint32_t uid);
const struct report_lack *report_find_lack(const struct report *r, uint32_t id, uint32_t uid);

#endif
