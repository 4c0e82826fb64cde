/* SPDX-License-Identifier: Apache-2.0
 *
 * Places of clients' address windows. Slots are one stride apart from `base` on; a second row
 * begins in the range that sanitizers leave to programs. No two clients of a worker have the same
 * slot; those of different workers may. A slot in which the worker itself has a mapping is blocked
 * until the next worker. Pure; owner: struct attachments.
 */
#ifndef DAEMON_BROKER_JOBS_SLOTS_H
#define DAEMON_BROKER_JOBS_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/broker/config/config.h"
#include "proto/wire/wire.h"

#define SLOTS_MAX 512

struct slots {
    uint64_t base, alloc_bytes, module_bytes, host_bytes;
    int low, count; /* number of slots below the range that sanitizers leave; of all slots */
    bool used[SLOTS_MAX], blocked[SLOTS_MAX];
};

void slots_init(struct slots *s, const struct config *config);

/* Takes the first free slot at or after `from`; -1: there is none. */
int slots_take(struct slots *s, int from);
void slots_put(struct slots *s, int slot);

/* Returns the slot at which to continue for a client that has a mapping of its own in `slot`.
 * Programs built with a sanitizer reserve most addresses for its shadow memory, and differ in what
 * remains. */
int slots_after(const struct slots *s, int slot);

/* slots_block: the worker has a mapping there. slots_unblock_all: a new worker, of which nothing is
 * known. */
void slots_block(struct slots *s, int slot);
void slots_unblock_all(struct slots *s);

struct wire_windows slots_windows(const struct slots *s, int slot);

#endif
