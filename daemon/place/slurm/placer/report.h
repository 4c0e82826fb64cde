/* SPDX-License-Identifier: Apache-2.0
 *
 * A node's report about its GPUs: the output of `salusctl --json gpu list`.
 * config/slurm/salus-report stores it in the node's `extra` of slurmctld, after the seconds since
 * the node booted. The content is untrusted; a report that cannot be parsed is ignored. Pure.
 *
 *   salus:58720.12 {"schema":1,"gpus":[{"id":0,"state":"ready","memory_bytes":1073741824,...}],
 *                   "jobs":[{"id":7,"demand":430,"persistent":67108864,"ephemeral":8388608},...],
 *                   "lacked":[{"id":5,"needed":805306368,"at":1790000000.25},...]}
 *
 * "jobs" are Slurm's jobs by their numbers, as measured by salusd: thousandths of the GPU, and peak
 * memory. A job of several processes is listed several times. "lacked" are ended jobs that lacked
 * memory: the most that each would have held, and when it ended, by the node's clock. An invalid
 * job is skipped, because its user named it.
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
#define REPORT_MEMORY_MOST (1ull << 46) /* limit of one GPU's memory */
#define REPORT_WHY_BYTES 160

struct report {
    uint32_t gpu_count;
    struct report_gpu {
        uint64_t memory_bytes;
        bool ready;
    } gpus[REPORT_GPUS_MOST]; /* indexed by GPU number */
    uint32_t job_count;
    struct report_job {
        uint32_t id, uid; /* numbers of Slurm and the system: users may choose any name for a job */
        uint32_t demand_milli; /* thousandths of a GPU's time; 0: not known */
        uint64_t persistent_bytes, ephemeral_bytes;
    } jobs[REPORT_JOBS_MOST]; /* each job once; jobs beyond the limit are dropped */
    uint32_t lack_count;
    struct report_lack {
        uint32_t id, uid;
        uint64_t needed_bytes;  /* at most 2 * REPORT_MEMORY_MOST; larger values are clamped */
        int64_t at_ms;          /* time of the latest failure since 1970; distinguishes failures */
    } lacks[REPORT_LACKS_MOST]; /* each job once; jobs beyond the limit are dropped */
};

/* Returns 0, -ENOENT if the text is not ours, or -EINVAL with the error in `why`. */
int report_parse(struct report *r, const char *text, char *why);

/* The measurements or the failure of that user's job; NULL if none. */
const struct report_job *report_find_job(const struct report *r, uint32_t id, uint32_t uid);
const struct report_lack *report_find_lack(const struct report *r, uint32_t id, uint32_t uid);

#endif
