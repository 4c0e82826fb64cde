/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory without an address of its own: chunks that pages of several clients may map, each at its
 * own address (CUDA's memory handles, and allocations that processes of one user open for each
 * other).
 *
 * Each holder is charged for all of it (credit.h), so that any of them that is on the device has
 * room for it there. When the last holder is swapped out, the segment moves to host memory; with
 * the first that returns, it comes back. It ends with its last holder, unless programs have
 * descriptors of it (keeper.h). Then it stays without a holder until a client opens it again: in
 * host memory, or retired in place where host memory is the device's memory.
 *
 * Owner: its holders and keepers. Thread: the worker's. Errors: 0, ERR_NO_MEMORY or -errno.
 */
#ifndef DAEMON_WORKER_SEGMENTS_SEGMENT_H
#define DAEMON_WORKER_SEGMENTS_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"
#include "daemon/device/device.h"
#include "daemon/device/device_retirement.h"

/* Segments that have a key. */
struct segment_set {
    struct list exported; /* segment.link */
    uint64_t alone_bytes; /* bytes of segments without a holder */
};

struct segment {
    const struct dev_ops *ops;
    struct dev *dev;
    uint64_t granule;
    uint32_t count;            /* chunks */
    struct dev_chunk **chunks; /* the first `there` are on the device; NULL for others */
    void **hosts; /* bytes of the first `saved`, a granule each, NULL for zeros; NULL: none */
    struct dev_retired **retired; /* retired chunks, NULL for others; NULL: none is retired */
    uint32_t there, saved;
    uint32_t holders, present; /* holders, and those of them that are not swapped out */
    uint32_t keepers;          /* descriptors that programs have of the segment */
    bool lost;       /* the bytes are lost: without a holder they did not fit into host memory */
    uint32_t uid;    /* the user whose clients may open it */
    uint64_t key[2]; /* a secret: any client of the user that knows it may open the segment */
    struct segment_set *set; /* the set in which its key is found; NULL: it has no key */
    struct list link;
};

/* Moves go in parts of at most this many chunks; SEGMENT_ALL: all at once. A part that fails may
 * have moved some chunks, and loses nothing: the caller repeats it, or calls segment_settle. */
#define SEGMENT_ALL UINT32_MAX

/* A segment with one holder. segment_create: the holder is swapped out and the bytes are zeros
 * without chunks. segment_adopt: the holder is present, and these chunks are taken over on success.
 */
int segment_create(struct segment **out, const struct dev_ops *ops, struct dev *dev, uint32_t count,
                   uint32_t uid);
int segment_adopt(struct segment **out, const struct dev_ops *ops, struct dev *dev,
                  struct dev_chunk *const *chunks, uint32_t count, uint32_t uid);
/* Adds a holder that is swapped out. */
void segment_hold(struct segment *s);
/* Removes a holder that maps the segment nowhere. `away`: it is swapped out. */
void segment_drop(struct segment *s, bool away);
/* Frees or saves a part of a segment before its holder drops it. The holder has nothing in flight,
 * maps it nowhere, and must drop it next. Returns the number of chunks; 0: all is done, or no more
 * can be done. A segment that ends with this holder is no longer found by its key. */
uint32_t segment_drop_ahead(struct segment *s, bool away, uint32_t most);
bool segment_ends(const struct segment *s); /* no other holder or descriptor keeps it */

/* segment_export gives the segment a key, by which clients of its user find it: 0 or -EAGAIN.
 * segment_find returns NULL when this user has no segment with the key. */
int segment_export(struct segment *s, struct segment_set *set);
struct segment *segment_find(const struct segment_set *set, const uint64_t *key, uint32_t uid);
/* Adds or removes a descriptor that keeps the segment, which has a key. */
void segment_keep(struct segment *s);
void segment_unkeep(struct segment *s);

/* Moving in and out. For a holder that comes in, segment_load loads the missing chunks, and
 * segment_enter follows once the segment is whole. For a holder that goes out, segment_save saves
 * the chunks if the holder is the last one present (segment_saves). segment_leave follows once it
 * maps it nowhere, and segment_shed frees chunks without a present holder. A caller that stops
 * half-way or turns round calls segment_settle: of two copies, the unneeded one is freed.
 *
 * Load and save add to `done` and `moved_bytes`; shed returns the number of chunks. */
bool segment_whole(const struct segment *s);
int segment_load(struct segment *s, uint32_t most, uint32_t *done, uint64_t *moved_bytes);
void segment_enter(struct segment *s);
bool segment_saves(const struct segment *s);
int segment_save(struct segment *s, uint32_t most, uint32_t *done, uint64_t *moved_bytes);
void segment_leave(struct segment *s);
bool segment_sheds(const struct segment *s);
uint32_t segment_shed(struct segment *s, uint32_t most);
void segment_settle(struct segment *s);

#endif
