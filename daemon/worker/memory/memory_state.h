/* SPDX-License-Identifier: Apache-2.0
 *
 * Internals of memory*.h: the state of every page (granule) of a client's alloc window, and of the
 * chunks of a lane. Only memory*.c and tests include this.
 *
 * A page in use of the ephemeral half has a slot. It maps the lane's chunk of that number, wherever
 * its bytes currently are. A backed page has a slot of its own. A segment's slots have any number
 * of pages, and stay when there are none. The lowest free slots are taken first, so that a client
 * never needs more chunks of its lane than it had slots in use at once.
 *
 * Owner: the worker. Thread: its own.
 */
#ifndef DAEMON_WORKER_MEMORY_MEMORY_STATE_H
#define DAEMON_WORKER_MEMORY_MEMORY_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"
#include "daemon/device/device.h"

#define MEMORY_NO_PAGE UINT32_MAX

enum page_state {
    PAGE_NONE,
    PAGE_PRIVATE, /* `chunk` is private */
    PAGE_SWAPPED, /* private, in host memory: `host`, NULL for zeros */
    PAGE_LANE,    /* maps the lane's chunk `slot`, which `holding` has unless that is NULL */
    PAGE_SEGMENT, /* maps chunk `slot` of the segment of `holding` */
};

struct page {
    uint8_t state;
    /* The page is mapped to its chunk. False where it has none at the moment, and after a failed
     * call that could not be undone: a kernel that accesses it then faults. */
    bool mapped;
    bool shown; /* in the ephemeral half: maps a segment, not backed memory */
    uint32_t slot;
    uint32_t next; /* next page of the same slot, MEMORY_NO_PAGE at the end */
    union {
        struct dev_chunk *chunk;
        void *host;
        struct holding *holding;
    };
};

enum slot_state {
    SLOT_LANE,         /* the bytes are in the lane */
    SLOT_SPILLED,      /* the bytes are in `chunk` */
    SLOT_SPILLED_HOST, /* the bytes are in `host` */
};

/* A slot of the lane as one client sees it; in use while it has a page or belongs to a segment. */
struct slot {
    uint8_t state;
    uint32_t page;           /* the latest page of the slot; MEMORY_NO_PAGE: none */
    struct holding *holding; /* the holding with this slot as `slots[index]`; NULL: none */
    uint32_t index;
    union {
        struct dev_chunk *chunk;
        void *host;
    };
};

/* A client's part in a segment: memory_segment.h. */
struct holding {
    struct list link; /* memory.holdings, or for a segment of the lane memory.lane_holdings */
    struct segment *segment; /* NULL: slots of the lane */
    uint32_t *slots, slot_count;
    uint32_t pages; /* number of pages that map the segment */
    bool placed;    /* the segment has no number; it was made of the client's own pages */
    bool away;      /* this client does not count in segment.present */
    bool ending;    /* the segment will be closed next, and a part of it is freed */
};

struct memory {
    const struct dev_ops *ops;
    struct dev *dev;
    struct dev_space *space;
    uint64_t base, granule;
    uint32_t page_count; /* the upper half is the ephemeral window */
    struct page *pages;

    struct memory_lane *lane;
    struct list lane_link;
    struct slot *slots;
    uint32_t slot_room, slot_end /* end of the slots in use */;

    struct list holdings, lane_holdings;
    struct holding **numbers; /* holdings by number */
    uint32_t number_room;
    uint64_t held; /* granules of numbered segments, without those of the lane */

    uint32_t persistent; /* pages */
    uint32_t placed;     /* own pages that belong to a segment */
    uint32_t kept;       /* pages of persistent and placed in the ephemeral window */
    uint32_t kept_shown; /* pages of kept that mapped a segment */
    uint32_t ephemeral;  /* slots in use */
    uint32_t lane_held;  /* slots in use of segments */
    uint32_t spilled;    /* slots in use whose bytes are spilled */
    uint32_t hosted;     /* slots spilled to host memory */
    bool swapped;    /* not all of its chunks are on the device: they move, or have moved, to host
                        memory */
    uint32_t away;   /* persistent pages in host memory */
    bool spilling;   /* some of the slots to be spilled are still in the lane */
    bool turned_out; /* the latest part of swapping moved memory out */
    uint32_t next_page; /* the page at which the next part of swapping, or of the end, continues */
    uint32_t part;      /* granules of the latest part of any work */
    struct memory_recovery *recovery_state; /* NULL: nothing is recorded */

    /* saved: the copy of each page at one moment (memory_saved.h); NULL: it had no bytes, or
     * nothing is saved. lent: the copies that are also the client's memory since it went back,
     * sorted; page code must not free these. */
    void **saved, **lent;
    uint32_t saved_count, lent_count;

    uint64_t owner;                 /* owner of the bytes that the client writes */
    uint32_t clear_next, clear_end; /* slots that memory_clear has yet to check */
    uint64_t cleared;               /* chunks cleared for the client */
};

struct memory_lane {
    const struct dev_ops *ops;
    struct dev *dev;
    uint64_t granule;
    struct dev_chunk **chunks;
    uint64_t *owners; /* owner of each chunk's bytes; 0: zeros, or no owner */
    uint32_t count, room;
    struct memory *holder; /* the member that has the turn: memory_enter; NULL: none */
    struct memory *noted;  /* the client whose recovery entries of the lane are valid; NULL: none */
    uint64_t cleared;      /* chunks */
    struct list members;   /* memory.lane_link */
};

static inline bool memory_slot_used(const struct slot *s) {
    return s->page != MEMORY_NO_PAGE || s->holding;
}

/* True when the client's owner wrote the bytes in the lane's chunk. */
static inline bool memory_slot_own(const struct memory *m, uint32_t slot) {
    return m->lane->owners[slot] == m->owner;
}

#endif
