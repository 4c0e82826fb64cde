/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory without an address of its own: chunks that pages of several clients may show, each where
 * it likes (CUDA's memory handles, and allocations that processes of one user let each other open).
 *
 * Each holder is charged for all of it (credit.h), so that whichever of them is on the device has
 * room for it there. Who is swapped out takes his part in it along: with the last of them it goes
 * to host memory, with the first it comes back. With its last holder it ends, unless programs have
 * descriptors of it (keeper.h): then it is alone until somebody opens it again, in host memory or,
 * where the device's memory is that, retired where it is.
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

/* Those that have a key. */
struct segment_set {
    struct list exported; /* segment.link */
    uint64_t alone_bytes; /* of those that no client holds */
};

struct segment {
    const struct dev_ops *ops;
    struct dev *dev;
    uint64_t granule;
    uint32_t count;            /* chunks */
    struct dev_chunk **chunks; /* the first `there` of them are; of each other one the bytes are */
    void **hosts;              /* here, of the first `saved`, a granule each, NULL for zeros; */
    struct dev_retired **retired; /* or it is here. NULL: none was saved; none is retired */
    uint32_t there, saved;
    uint32_t holders, present; /* and how many of them are not swapped out */
    uint32_t keepers;          /* descriptors that programs have of it */
    bool lost;               /* it was alone, and could not go to host memory: its bytes are gone */
    uint32_t uid;            /* whose clients may open it */
    uint64_t key[2];         /* a secret: who has it may open it */
    struct segment_set *set; /* where it is found; NULL: it has no key */
    struct list link;
};

/* In parts, of at most so many chunks each; SEGMENT_ALL: at once. One that fails may have done some
 * of it, and nothing is lost: it is asked for again, or settled. */
#define SEGMENT_ALL UINT32_MAX

/* With one holder, who is away: zeros, for which there is no chunk yet. Or these chunks, taken over
 * on success, with one who is not. */
int segment_create(struct segment **out, const struct dev_ops *ops, struct dev *dev, uint32_t count,
                   uint32_t uid);
int segment_adopt(struct segment **out, const struct dev_ops *ops, struct dev *dev,
                  struct dev_chunk *const *chunks, uint32_t count, uint32_t uid);
/* One more, who is away. */
void segment_hold(struct segment *s);
/* No page of this holder shows it. */
void segment_drop(struct segment *s, bool away);
/* The holder, who has nothing in flight and shows it nowhere, drops it next, and nothing else: what
 * then has to be saved, or given back, is so a part of it earlier. How many chunks there were; 0:
 * all is done, or cannot be. Where it ends with him nobody finds it any more. */
uint32_t segment_drop_ahead(struct segment *s, bool away, uint32_t most);
bool segment_ends(const struct segment *s); /* with its holder */

/* It has a key from now on, and is found by it by clients of its user; NULL: there is none. */
int segment_export(struct segment *s, struct segment_set *set);
struct segment *segment_find(const struct segment_set *set, const uint64_t *key, uint32_t uid);
/* It has a key: a descriptor keeps it from now on, and no longer. */
void segment_keep(struct segment *s);
void segment_unkeep(struct segment *s);

/* A holder comes in: loads what is not there, and enters when it is whole. He goes out: saves it
 * where he is the last of them (`saves`), leaves when he shows it nowhere, and sheds what nobody
 * is left of. Who stops half-way, or turns round, settles: of two copies the one that is not needed
 * goes. Load, save and shed add to `done` and `moved_bytes`, or say how many chunks there were. */
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
