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
#ifndef DAEMON_WORKER_MEMORY_SEGMENT_H
#define DAEMON_WORKER_MEMORY_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"
#include "daemon/device/device.h"

#define SEGMENT_AHEAD 256u /* chunks that are saved in less than a second or two */

/* Those that have a key. */
struct segment_set {
    struct list exported; /* segment.link */
    uint64_t alone_bytes; /* of those that no client holds */
};

struct segment {
    const struct dev_ops *ops;
    struct dev *dev;
    uint64_t granule;
    uint32_t count;               /* chunks */
    struct dev_chunk **chunks;    /* NULL each: what they held is in `hosts` */
    void **hosts;                 /* a granule each, NULL for zeros; NULL: nothing was saved */
    struct dev_retired **retired; /* each of them; NULL: they are not */
    uint32_t holders, present;    /* and how many of them are not swapped out */
    uint32_t keepers;             /* descriptors that programs have of it */
    bool lost;               /* it was alone, and could not go to host memory: its bytes are gone */
    uint32_t uid;            /* whose clients may open it */
    uint64_t key[2];         /* a secret: who has it may open it */
    struct segment_set *set; /* where it is found; NULL: it has no key */
    struct list link;
};

/* With one holder, who is swapped out when he is `away`. New chunks, zero-filled; or these, taken
 * over on success. */
int segment_create(struct segment **out, const struct dev_ops *ops, struct dev *dev, uint32_t count,
                   uint32_t uid, bool away);
int segment_adopt(struct segment **out, const struct dev_ops *ops, struct dev *dev,
                  struct dev_chunk *const *chunks, uint32_t count, uint32_t uid);
void segment_hold(struct segment *s, bool away);
/* No page of this holder shows it. */
void segment_drop(struct segment *s, bool away);

/* It has a key from now on, and is found by it by clients of its user; NULL: there is none. */
int segment_export(struct segment *s, struct segment_set *set);
struct segment *segment_find(const struct segment_set *set, const uint64_t *key, uint32_t uid);
/* It has a key: a descriptor keeps it from now on, and no longer. */
void segment_keep(struct segment *s);
void segment_unkeep(struct segment *s);
/* Its only holder, who has nothing in flight, lets it go next: so many chunks of what descriptors
 * keep are saved ahead, for the caller to do something else in between. How many there were; 0:
 * all is done, or cannot be. */
uint32_t segment_save_ahead(struct segment *s, uint32_t most);

/* A holder is swapped out: leaves all that it holds, saves what nobody is left of, and settles when
 * no page of it shows them any more. It comes back: loads what is not there, shows it, enters all,
 * and settles. Settling after a failure, with all entered or left as before, undoes it. */
void segment_leave(struct segment *s);
void segment_enter(struct segment *s);
int segment_save(struct segment *s, uint64_t *moved_bytes); /* which it adds to */
int segment_load(struct segment *s, uint64_t *moved_bytes);
void segment_settle(struct segment *s);

#endif
