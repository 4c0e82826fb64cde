/* SPDX-License-Identifier: Apache-2.0
 *
 * The recovery state of a client's pages (docs/adr/0020-recovery.md). It lies in memory that
 * outlives this process, as do the device's chunks that it names. This process may end between any
 * two instructions. So an entry names a chunk only while the chunk has the client's bytes and no
 * other owner: it is written after the chunk is filled, and changed before the chunk is freed.
 *
 * Pages of a lane have chunks that the lane's clients share. Their entries are valid only for the
 * client whose bytes are there (memory_note.h); another client's bytes in the lane are not needed.
 *
 * Owner: the client. Thread: the worker's, which alone writes.
 */
#ifndef DAEMON_WORKER_MEMORY_MEMORY_RECOVERY_H
#define DAEMON_WORKER_MEMORY_MEMORY_RECOVERY_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/worker/memory/memory_entry.h"

struct memory;

/* Size for a window of `page_count` granules. */
size_t memory_recovery_bytes(uint32_t page_count);
/* The reason, for people, why the state cannot be adopted at the moment; NULL: it can. */
const char *memory_recovery_lacks(const struct memory_recovery *e);

/* Records the client's pages there from now on, until memory_destroy. `e` is zeroed memory that
 * stays the caller's. The client has no pages and no lane yet. -ENOTSUP: the device's chunks do not
 * outlive the process. */
int memory_recovery_keep(struct memory *m, struct memory_recovery *e);

/* Gives the client the memory that the recovery state describes, and records its pages there from
 * now on. Called between the device's open and memory_settle, for a client as memory_recovery_keep
 * expects it. Bytes of a lane are then spilled; pages of it without needed bytes have none. Swapped
 * pages stay swapped. Empty state is accepted.
 *
 * The state lies in the file `fd` at `at` bytes, of which only the written part is read; -1: it
 * lies in other memory, and all of it is read. -EPERM: it is incomplete; -EINVAL: memory*.c did not
 * write it, or for another window; chunk_adopt's, chunk_map's and memory_recovery_keep's errors. On
 * failure nothing is taken and nothing recorded. This process may end meanwhile: the state can be
 * adopted again. */
int memory_adopt(struct memory *m, struct memory_recovery *e, int fd, uint64_t at);
/* Adopts likewise, after memory_saved_adopt, for a client that returns to its saved memory: it is
 * swapped out, and its bytes are the copies. */
int memory_return(struct memory *m, struct memory_recovery *e, int fd, uint64_t at);

#endif
