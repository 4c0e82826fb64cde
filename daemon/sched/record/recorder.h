/* SPDX-License-Identifier: Apache-2.0
 *
 * The latest steps of a scheduler, kept at a few nanoseconds an event, so that they can be written
 * as a recording (notation.h) when something went wrong. They lie in two halves, each of which
 * begins with a checkpoint of the scheduler; the older half is given up when the newer one is full,
 * so that there is always at least a half behind a checkpoint.
 *
 * Owner: the caller, one for a scheduler. Thread: the scheduler's caller.
 */
#ifndef DAEMON_SCHED_RECORD_RECORDER_H
#define DAEMON_SCHED_RECORD_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/sched/sched.h"

#define RECORDER_HALF_BYTES (1u << 20) /* some ten thousand operations */

struct recorder;

/* Of a scheduler that was made with this configuration and has taken no step. `half_bytes` 0: the
 * default. 0 or -ENOMEM. */
int recorder_create(struct recorder **out, const struct sched_config *config, uint32_t half_bytes);
void recorder_destroy(struct recorder *r); /* accepts NULL */

/* Before a step with these events; behind it, with what it answered; and once that is carried out,
 * so that the device need not wait for it. Until then events and actions stay as they are. Without
 * memory nothing is kept for a while. */
void recorder_begin(struct recorder *r, const struct sched *s, uint64_t now_ns,
                    const struct sched_event *events, uint32_t count);
void recorder_answer(struct recorder *r, const struct sched_actions *actions);
void recorder_end(struct recorder *r);

/* All that is kept, to a file. Allocates nothing, so that a signal's handler may call it: a step
 * that has not answered has no actions then. 0 or -errno. */
int recorder_write(const struct recorder *r, int fd);

/* ---- while it goes on ------------------------------------------------------------------------ */

/* A recording from here on, written as it comes. It takes a checkpoint of the scheduler between two
 * steps. 0 or -errno. One at a time: -EBUSY. */
int recorder_stream(struct recorder *r, const struct sched *s, int fd);
/* Ends it, also one that could not be written (-errno). The descriptor is closed. */
int recorder_stop(struct recorder *r);
bool recorder_streaming(const struct recorder *r);
/* It cannot be written any more. */
bool recorder_failing(const struct recorder *r);

#endif
