/* SPDX-License-Identifier: Apache-2.0
 *
 * Places of clients' address windows. Slots lie one stride apart from `base` on; a second row of
 * them begins in the range that sanitizers leave to programs. No two clients of a worker have the
 * same; those of different workers may. A slot in which the worker itself has something is blocked
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
    int low, count; /* slots below the room that sanitizers leave; all */
    bool used[SLOTS_MAX], blocked[SLOTS_MAX];
};

void slots_init(struct slots *s, const struct config *config);

/* The first free slot at or after `from`, now in use; -1 when there is none. */
int slots_take(struct slots *s, int from);
void slots_put(struct slots *s, int slot);

/* The slot from which to look for a client that has something of its own in `slot`. Programs built
 * with a sanitizer keep most addresses for its records, and differ in which they leave. */
int slots_after(const struct slots *s, int slot);

/* The worker has something there. / A new worker: nothing is known of it. */
void slots_block(struct slots *s, int slot);
void slots_unblock_all(struct slots *s);

struct wire_windows slots_windows(const struct slots *s, int slot);

#endif
