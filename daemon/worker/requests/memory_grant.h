/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's memory comes and goes within what it may use (credit.h). Up to what the scheduler
 * granted it is told nothing; beyond, it is asked first and says whether the safety condition
 * (Salus, section 3.3.2) still holds. A job whose needs are unknown begins with none and is
 * measured as it asks. A function that has to ask posts the request (memory_ask.h), does nothing
 * else and returns MEMORY_GRANT_WAITS; it is called again with the same once there is an answer.
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

/* For operations of the deferred list. Whole granules in one of the windows. 0, ERR_NO_MEMORY,
 * MEMORY_GRANT_WAITS or -errno. Who backs them in parts asks for all of it before: a client can
 * wait for others' memory then, as in memory_grant_make, memory_grant_ask_lane and
 * memory_grant_open. */
int memory_grant_await(struct client *c, uint64_t addr, uint64_t bytes);
/* The scheduler would be asked. */
bool memory_grant_lacks(const struct client *c, uint64_t addr, uint64_t bytes);
int memory_grant_back(struct client *c, uint64_t addr, uint64_t bytes);
int memory_grant_unback(struct client *c, uint64_t addr, uint64_t bytes);
/* Segments: with so many bytes more, by MAKE or OPEN, to be fetched (memory_segment.h); of the
 * lane, which may be asked before; and closed. */
int memory_grant_make(struct client *c, uint32_t id, uint64_t bytes);
int memory_grant_ask_lane(struct client *c, uint64_t bytes);
int memory_grant_make_lane(struct client *c, uint32_t id, uint64_t bytes);
int memory_grant_open(struct client *c, uint32_t id, struct segment *s);
int memory_grant_close(struct client *c, uint32_t id);
/* Modules now take `bytes` more of the device. ERR_NO_MEMORY: they must go again. */
int memory_grant_module(struct client *c, enum memory_asker by, uint64_t bytes);
void memory_grant_module_gone(struct client *c, uint64_t bytes);
/* A limit of CUDA's, which the device may need memory for. ERR_NO_MEMORY; -EINVAL: it is too late
 * for it. */
int memory_grant_limit(struct client *c, uint32_t limit, uint64_t value);
/* A survivor's pages become the client's own, so many granules of them at most, which are taken
 * from `most`: there may be more, where none is left of it. ERR_NO_MEMORY when there is no room for
 * them, or may not be yet, or when it is swapped out. Nothing of the client is in flight. */
int memory_grant_keep(struct client *c, enum memory_asker by, uint64_t addr, uint64_t bytes,
                      uint32_t *most);

/* The scheduler is told the peaks of the last two iterations: the reservation of a job that had
 * none. */
void memory_grant_word(struct client *c);

/* Answers a record that asked for `bytes` more, with text where its user may have no more: the log
 * says so, and the client, which tells whoever runs it. */
void memory_grant_answer(struct client *c, const struct wire_record *rec, int err, uint64_t bytes);
/* Counts that so much more was refused, as memory_grant_answer does. */
void memory_grant_refused(struct client *c, uint64_t bytes);
/* For people, when `bytes` more were refused. */
void memory_grant_refusal(const struct client *c, uint64_t bytes, char *text, uint32_t text_bytes);

#endif
