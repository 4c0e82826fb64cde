/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a job's iterations begin, seen from the sequence of what it sends. In this order: explicit
 * marks (an NVTX range or mark, salus_iteration()); a period in the sequence of launches, confirmed
 * by a trough of live memory; for requests, an idle gap that begins with a synchronisation, which
 * goes before the period's phase. Pure: no
 * clock, no device; one `struct iteration` a job, of bounded size, O(1) amortised a launch.
 *
 * Owner: whoever reads the job's records (the worker, tests). Errors: none; a sequence without a
 * period has no boundaries.
 */
#ifndef DAEMON_WORKER_ITERATION_ITERATION_H
#define DAEMON_WORKER_ITERATION_ITERATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/policy/reason.h"

struct iteration;

/* NONE: not known (yet). MARK: the program says it. PERIOD: of the launches. GAP: requests between
 * idle gaps. */
enum iteration_source {
#define X(name, text) ITERATION_##name,
    REASON_SOURCE(X)
#undef X
};

int iteration_create(struct iteration **out); /* 0 or -ENOMEM */
void iteration_destroy(struct iteration *it); /* accepts NULL */

/* Ephemeral memory was given back; this much is alive now. What a trough is: the first launch of an
 * iteration comes after its own first allocations, so that the trough lies between two launches. */
void iteration_drop(struct iteration *it, uint64_t live_bytes);
/* One launch, in the order of arrival. `fingerprint`: of function, grid and block (object.h).
 * `live_bytes`: ephemeral memory alive now. True: an iteration begins with this launch. */
bool iteration_launch(struct iteration *it, uint64_t fingerprint, uint64_t live_bytes,
                      uint64_t now_ns);
/* One copy or fill, in the order of arrival. `fingerprint`: of its kind and a class of its size.
 * `to_host`: it brings data to the host. True: an iteration begins with this operation. */
bool iteration_transfer(struct iteration *it, uint64_t fingerprint, bool to_host,
                        uint64_t live_bytes, uint64_t now_ns);
/* An operation has begun on the device, and nothing else of the job is there: until then it may
 * have waited for its turn, which is no work. */
void iteration_began(struct iteration *it, uint64_t now_ns);
/* The program waited for the device and nothing is queued (a synchronisation returned). */
void iteration_idle(struct iteration *it, uint64_t now_ns);
/* All operations that were sent are complete: a wait that goes on counts from now. */
void iteration_returned(struct iteration *it, uint64_t now_ns);
/* The program waits, and its iteration may be over before its next operation comes. */
bool iteration_waits(const struct iteration *it);
/* True, at most once a wait: the iteration is over, and the next operation belongs to the next one.
 * To be asked while all that was sent is complete. */
bool iteration_end(struct iteration *it, uint64_t now_ns);
/* The program said that an iteration begins: from the first mark on, only marks count. Always
 * true, but for the mark before the first operation. */
bool iteration_mark(struct iteration *it, uint64_t now_ns);

enum iteration_source iteration_source(const struct iteration *it);
/* How sure the source is, in percent of the evidence that counts at most: marks are 100; a period's
 * is its trust, gaps' their points; NONE is 0. */
uint32_t iteration_percent(const struct iteration *it);
uint32_t iteration_period(const struct iteration *it); /* launches in one; 0: not known */

#endif
