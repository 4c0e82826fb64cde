/* SPDX-License-Identifier: Apache-2.0
 *
 * What Slurm remembers of a job for Salus: the job's administrative comment, which users cannot
 * write. config/slurm/job_submit.lua begins it with what the job asks; the placer adds where it
 * put the job; the plugin on the node reads that. Pure.
 *
 *   salus: class=be mem=1073741824 begin=0 wait=300; on n3 gpu=1 at=1790000000 tried=n1,n2
 *
 * With "more=1 lacked=1790000000250" it ended for want of memory, then, and is queued again with
 * more, once so far. With "free=1" the job does not wait for the placer: Slurm places it itself. A
 * job waits for the placer by a begin time that the script sets and the placer puts off, so that
 * without a placer it begins `wait` seconds later by Slurm's own choice.
 *
 * Owner: the caller. Threads: any.
 */
#ifndef DAEMON_PLACE_SLURM_NOTE_H
#define DAEMON_PLACE_SLURM_NOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/place/slurm/ask.h"

#define NOTE_BYTES 2048
#define NOTE_NODE_BYTES 64
#define NOTE_TRIED_BYTES 768
#define NOTE_WAIT_MOST_S (366 * 86400)
#define NOTE_TIME_MOST_S (INT64_MAX / 1000000000) /* in ns it is a number still */
#define NOTE_ANY_GPU UINT32_MAX

struct note {
    struct ask ask;
    int64_t begin;     /* s since 1970: the user's own --begin; 0: none */
    bool free;         /* it does not wait for the placer: Slurm itself puts it somewhere */
    uint32_t more;     /* times that it was queued again with more memory */
    int64_t lacked_ms; /* the end for which it was the latest time, by its node's clock; 0: none */
    int64_t wait_s;    /* how far its begin time is put off; 0: it waits for ever */
    char node[NOTE_NODE_BYTES];   /* where the placer put it; "": nowhere */
    uint32_t gpu;                 /* of that node; NOTE_ANY_GPU where there is no node */
    int64_t at;                   /* s since 1970, when it did */
    char tried[NOTE_TRIED_BYTES]; /* nodes on which it was put and did not start, by commas */
};

/* 0, -ENOENT: it is none of ours, or -EINVAL: it says so and cannot be read. */
int note_parse(struct note *n, const char *comment);
void note_print(const struct note *n, char *out, size_t cap);

/* Whether the node is one of those that were tried; adds it, forgetting all others where there is
 * no room. */
bool note_tried(const struct note *n, const char *node);
void note_try(struct note *n, const char *node);

#endif
