/* SPDX-License-Identifier: Apache-2.0
 *
 * Backs and frees a client's memory within its credit (credit.h). The scheduler hears nothing while
 * the client stays within its grant. Beyond it, the scheduler is asked first, and answers whether
 * the safety condition (Salus, section 3.3.2) still holds. A job whose needs are unknown begins
 * with no grant and is measured as it asks. A function that has to ask posts the request
 * (memory_ask.h), does nothing else and returns MEMORY_GRANT_WAITS. The caller repeats the call
 * once there is an answer.
 *
 * Owner: the client. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_REQUESTS_MEMORY_GRANT_H
#define DAEMON_WORKER_REQUESTS_MEMORY_GRANT_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/worker/residency/memory_ask.h"

struct client;
struct segment;
struct wire_record;

#define MEMORY_GRANT_WAITS (-EINPROGRESS)

/* For operations of the deferred list. The range is whole granules in one of the windows. Returns
 * 0, ERR_NO_MEMORY, MEMORY_GRANT_WAITS or -errno. A caller that backs in parts first awaits all of
 * it; the client can then wait for others' memory. So it is with memory_grant_make,
 * memory_grant_ask_lane and memory_grant_open. */
int memory_grant_await(struct client *c, uint64_t addr, uint64_t bytes);
/* True when the scheduler would be asked. */
bool memory_grant_lacks(const struct client *c, uint64_t addr, uint64_t bytes);
int memory_grant_back(struct client *c, uint64_t addr, uint64_t bytes);
int memory_grant_unback(struct client *c, uint64_t addr, uint64_t bytes);
/* Segments. make and open take `bytes` more, to be fetched (memory_segment.h); make_lane takes them
 * from the lane, for which ask_lane may ask before; close gives them back. */
int memory_grant_make(struct client *c, uint32_t id, uint64_t bytes);
int memory_grant_ask_lane(struct client *c, uint64_t bytes);
int memory_grant_make_lane(struct client *c, uint32_t id, uint64_t bytes);
int memory_grant_open(struct client *c, uint32_t id, struct segment *s);
int memory_grant_close(struct client *c, uint32_t id);
/* Charges `bytes` more for modules. ERR_NO_MEMORY: the caller must unload them again. */
int memory_grant_module(struct client *c, enum memory_asker by, uint64_t bytes);
void memory_grant_module_gone(struct client *c, uint64_t bytes);
/* Sets one of CUDA's limits, for which the device may need memory. ERR_NO_MEMORY; -EINVAL: it is
 * too late to set it. */
int memory_grant_limit(struct client *c, uint32_t limit, uint64_t value);
/* Moves a survivor's pages to the client's persistent memory, at most *most granules, which it
 * subtracts from `most`. With *most at 0, pages may be left. ERR_NO_MEMORY when there is no memory
 * for them, when pending moves may still take it, or when the client is swapped out. Nothing of the
 * client is in flight. */
int memory_grant_keep(struct client *c, enum memory_asker by, uint64_t addr, uint64_t bytes,
                      uint32_t *most);

/* Tells the scheduler the peaks of the last two iterations: the reservation of a job that had none.
 */
void memory_grant_word(struct client *c);

/* Answers a record that asked for `bytes` more. Where the user's limit forbids it, the log and the
 * client get a text, which the client prints. */
void memory_grant_answer(struct client *c, const struct wire_record *rec, int err, uint64_t bytes);
/* Counts a refusal of `bytes`, as memory_grant_answer does. */
void memory_grant_refused(struct client *c, uint64_t bytes);
/* The text for people when `bytes` more were refused. */
void memory_grant_refusal(const struct client *c, uint64_t bytes, char *text, uint32_t text_bytes);

#endif
