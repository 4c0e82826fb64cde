/* SPDX-License-Identifier: Apache-2.0
 *
 * What a client's pages show, kept where the next worker finds it (docs/adr/0020-recovery.md): in
 * memory that outlives this process, as do the device's chunks that it names. This process may end
 * between any two instructions, so an entry names a chunk only while the client's bytes are in it,
 * and as long as it is nobody else's: after it is filled, and no longer when it is given back.
 *
 * Pages of a lane have chunks that the lane's clients share. Such entries count for the one of them
 * whose bytes are there (memory_note.h); what another one left in the lane does not matter.
 *
 * Owner: the client's. Thread: the worker's; nobody else writes.
 */
#ifndef DAEMON_WORKER_MEMORY_MEMORY_ESTATE_H
#define DAEMON_WORKER_MEMORY_MEMORY_ESTATE_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/worker/memory/memory_entry.h"

struct memory;

/* For a window of so many granules. */
size_t memory_estate_bytes(uint32_t page_count);
/* For people, why nothing of it can be adopted at the moment; NULL: all of it can. */
const char *memory_estate_lacks(const struct memory_estate *e);

/* What the client's pages show is kept there from now on, until memory_destroy: zeroed memory that
 * stays the caller's. It has no pages and no lane yet. -ENOTSUP: the device's chunks do not outlive
 * the process. */
int memory_estate_keep(struct memory *m, struct memory_estate *e);

/* Between the device's open and memory_settle, of a client that is as memory_estate_keep wants it:
 * it has what the estate says, which it keeps from now on. What was in a lane is spilled; pages of
 * it whose bytes did not matter are there without any. What was swapped out is. Also of an estate
 * where nothing was kept. It lies in the file `fd` at `at` bytes, of which only what was written is
 * looked at; -1: in other memory, and all of it is. -EPERM: it lacks something; -EINVAL: it is not
 * one that memory*.c wrote, or of another window; chunk_adopt's, chunk_map's and
 * memory_estate_keep's errors. Then nothing of it was taken, and nothing is kept. This process may
 * end meanwhile, too: the estate can be adopted again. */
int memory_adopt(struct memory *m, struct memory_estate *e, int fd, uint64_t at);
/* The same, after memory_saved_adopt, of a client whose memory becomes what was saved: it is
 * swapped out, and its bytes are the copies. */
int memory_return(struct memory *m, struct memory_estate *e, int fd, uint64_t at);

#endif
