/* SPDX-License-Identifier: Apache-2.0
 *
 * Salus's note about a Slurm job: the job's administrative comment, which users cannot write.
 * config/slurm/job_submit.lua starts it with the job's request. The placer adds where it placed the
 * job; the plugin on the node reads that. Pure.
 *
 *   salus: class=be mem=1073741824 begin=0 wait=300; on n3 gpu=1 at=1790000000 tried=n1,n2
 *
 * "more=1 lacked=1790000000250" means that the job ended for lack of memory at that time and was
 * queued again with more memory, so far once. "free=1" means that the job does not wait for the
 * placer: Slurm places it. A job waits for the placer by a begin time that the script sets and the
 * placer postpones. Without a placer, the job therefore begins `wait` seconds later by Slurm's own
 * choice.
 *
 * Owner: the caller. Threads: any.
 */
#ifndef DAEMON_PLACE_SLURM_JOB_NOTE_H
#define DAEMON_PLACE_SLURM_JOB_NOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/place/slurm/ask.h"

#define NOTE_BYTES 2048
#define NOTE_NODE_BYTES 64
#define NOTE_TRIED_BYTES 768
#define NOTE_WAIT_MOST_S (366 * 86400)
#define NOTE_TIME_MOST_S (INT64_MAX / 1000000000) /* so that the time in ns fits 64 bits */
#define NOTE_ANY_GPU UINT32_MAX

struct note {
    struct ask ask;
    int64_t begin; /* s since 1970: the user's own --begin; 0: none */
    bool free;     /* the job does not wait for the placer: Slurm places it */
    uint32_t more; /* how often the job was queued again with more memory */
    /* When the job last ended for lack of memory, in ms of its node's clock; 0: never. */
    int64_t lacked_ms;
    /* Seconds by which the placer postpones the begin time each time; 0: NOTE_WAIT_MOST_S, so that
     * the job waits for the placer without limit. */
    int64_t wait_s;
    char node[NOTE_NODE_BYTES]; /* node that the placer chose; "": none */
    uint32_t gpu;               /* GPU of that node; NOTE_ANY_GPU without a node */
    int64_t at;                 /* time at which the placer chose `node`, s since 1970 */
    /* Nodes where the job was placed and did not start, separated by commas. */
    char tried[NOTE_TRIED_BYTES];
};

/* Returns 0, -ENOENT if the comment is not ours, or -EINVAL if a comment of ours cannot be
 * parsed. */
int note_parse(struct note *n, const char *comment);
void note_print(const struct note *n, char *out, size_t cap);

/* note_tried tests whether the node was tried. note_try adds it; if the list is full, all others
 * are dropped. */
bool note_tried(const struct note *n, const char *node);
void note_try(struct note *n, const char *node);

#endif
