/* SPDX-License-Identifier: Apache-2.0
 *
 * Records the latest steps of a scheduler at a few nanoseconds per event, so that they can be
 * written as a recording (notation.h) after an error. The steps are in two halves, each of which
 * begins with a checkpoint of the scheduler. When the newer half is full, the older one is dropped,
 * so that at least half a buffer always follows a checkpoint.
 *
 * Owner: the caller, one recorder per scheduler. Thread: the scheduler's caller.
 */
#ifndef DAEMON_SCHED_RECORD_RECORDER_H
#define DAEMON_SCHED_RECORD_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/sched/sched.h"

#define RECORDER_HALF_BYTES (1u << 20) /* about ten thousand operations */

struct recorder;

/* Creates a recorder for a scheduler that was created with this configuration and has taken no
 * step. `half_bytes` 0: the default. Returns 0 or -ENOMEM. */
int recorder_create(struct recorder **out, const struct sched_config *config, uint32_t half_bytes);
void recorder_destroy(struct recorder *r); /* accepts NULL */

/* recorder_begin: call before a step with these events. recorder_answer: call after the step with
 * its actions. recorder_end: call once the actions are carried out, so that the device need not
 * wait for the recorder. Events and actions must stay unchanged until then. Without memory nothing
 * is recorded for a while. */
void recorder_begin(struct recorder *r, const struct sched *s, uint64_t now_ns,
                    const struct sched_event *events, uint32_t count);
void recorder_answer(struct recorder *r, const struct sched_actions *actions);
void recorder_end(struct recorder *r);

/* Writes the recording to a file. Allocates nothing, so that a signal handler may call it; a step
 * without an answer has no actions then. Returns 0 or -errno; -ENODATA: nothing is recorded. */
int recorder_write(const struct recorder *r, int fd);

/* ---- while it goes on ------------------------------------------------------------------------ */

/* Begins to write a recording from here on, as steps come. Takes a checkpoint of the scheduler,
 * between two steps. On success recorder_stop closes `fd`. Returns 0; -ENOMEM; -EBUSY: one is being
 * written already. */
int recorder_stream(struct recorder *r, const struct sched *s, int fd);
/* Ends the recording and closes the descriptor. Returns 0, or -errno if it could not be written. */
int recorder_stop(struct recorder *r);
bool recorder_streaming(const struct recorder *r);
/* Writing has failed. */
bool recorder_failing(const struct recorder *r);

#endif
