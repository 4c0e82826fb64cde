/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the beginnings of a job's iterations in the sequence of its operations. The evidence, in
 * this order: explicit marks (an NVTX range or mark, salus_iteration()); a period in the sequence
 * of launches, confirmed by a trough of live memory; for requests, an idle gap that begins with a
 * synchronisation, which takes precedence over the period's phase.
 *
 * Pure: no clock, no device. There is one `struct iteration` for each job, of bounded size, with
 * O(1) amortised work for each launch.
 *
 * Owner: the reader of the job's records (the worker, tests). Errors: none; a sequence without a
 * period has no boundaries.
 */
#ifndef DAEMON_WORKER_ITERATION_ITERATION_H
#define DAEMON_WORKER_ITERATION_ITERATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/policy/reason.h"

struct iteration;

/* The evidence in use. NONE: not known (yet). MARK: the program's marks. PERIOD: the launches. GAP:
 * idle gaps between requests. */
enum iteration_source {
#define X(name, text) ITERATION_##name,
    REASON_SOURCE(X)
#undef X
};

int iteration_create(struct iteration **out); /* 0 or -ENOMEM */
void iteration_destroy(struct iteration *it); /* accepts NULL */

/* Ephemeral memory was freed; `live_bytes` of it are live now. This defines the trough: an
 * iteration's first launch comes after its first allocations, so the trough lies between two
 * launches. */
void iteration_drop(struct iteration *it, uint64_t live_bytes);
/* Notes a launch, in the order of arrival. `fingerprint`: of function, grid and block (object.h).
 * `live_bytes`: ephemeral memory live now. True: an iteration begins with this launch. */
bool iteration_launch(struct iteration *it, uint64_t fingerprint, uint64_t live_bytes,
                      uint64_t now_ns);
/* Notes a copy or fill, in the order of arrival. `fingerprint`: of its kind and a class of its
 * size. `to_host`: it brings data to the host. True: an iteration begins with this operation. */
bool iteration_transfer(struct iteration *it, uint64_t fingerprint, bool to_host,
                        uint64_t live_bytes, uint64_t now_ns);
/* An operation has begun on the device, where the job has nothing else. Until then it may have
 * waited for its turn, which does not count as work. */
void iteration_began(struct iteration *it, uint64_t now_ns);
/* The program waited for the device and nothing is queued (a synchronisation returned). */
void iteration_idle(struct iteration *it, uint64_t now_ns);
/* All operations that were sent are complete: a wait in progress counts from now. */
void iteration_returned(struct iteration *it, uint64_t now_ns);
/* True when the program waits, and its iteration may end before its next operation comes. */
bool iteration_waits(const struct iteration *it);
/* True, at most once for each wait: the iteration is over, and the next operation belongs to the
 * next one. Called only while all operations that were sent are complete. */
bool iteration_end(struct iteration *it, uint64_t now_ns);
/* The program marked the beginning of an iteration. From the first mark on, only marks count.
 * Always true, except for a mark before the first operation. */
bool iteration_mark(struct iteration *it, uint64_t now_ns);

enum iteration_source iteration_source(const struct iteration *it);
/* Confidence in the source, in percent of the most evidence that counts. Marks have 100, a period
 * its trust, gaps their points, NONE has 0. */
uint32_t iteration_percent(const struct iteration *it);
/* Launches in one period, or in the previous iteration while no period is followed; 0: unknown. */
uint32_t iteration_period(const struct iteration *it);

#endif
