/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside of memory*.h: what is known of every page (granule) of a client's alloc window, and of the
 * chunks of a lane. Only memory*.c include this, and tests.
 *
 * A page of the ephemeral half that is in use has a slot: it shows the lane's chunk of that number,
 * wherever the bytes are meanwhile. A page that was backed has one of its own; those of a segment
 * are shown at any number of pages, and stay when none does. Slots are taken from the lowest, so
 * that a client never needs more chunks of its lane than it had slots in use at once.
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
    PAGE_PRIVATE, /* `chunk` is its own */
    PAGE_SWAPPED, /* the same, in host memory: `host`, NULL for zeros */
    PAGE_LANE,    /* shows the lane's chunk `slot`, as one of `holding` unless that is NULL */
    PAGE_SEGMENT, /* shows chunk `slot` of the segment of `holding` */
};

struct page {
    uint8_t state;
    /* Shows its chunk. False where it has none at the moment, and after a failed call whose undoing
     * failed as well: a kernel that touches it then faults. */
    bool mapped;
    bool shown; /* of the ephemeral half: it was shown a segment there, not backed */
    uint32_t slot;
    uint32_t next; /* of the pages that show the slot, MEMORY_NO_PAGE behind the last */
    union {
        struct dev_chunk *chunk;
        void *host;
        struct holding *holding;
    };
};

enum slot_state {
    SLOT_LANE,         /* its bytes are in the lane */
    SLOT_SPILLED,      /* in `chunk` */
    SLOT_SPILLED_HOST, /* in `host` */
};

/* In use while a page shows it or a segment has it. */
struct slot {
    uint8_t state;
    uint32_t page;           /* the latest that shows it; MEMORY_NO_PAGE: none does */
    struct holding *holding; /* whose `slots[index]` it is; NULL: nobody's */
    uint32_t index;
    union {
        struct dev_chunk *chunk;
        void *host;
    };
};

/* What a client holds of a segment: memory_segment.h. */
struct holding {
    struct list link;        /* memory.holdings, or of the lane's: memory.lane_holdings */
    struct segment *segment; /* NULL: it is slots of the lane */
    uint32_t *slots, slot_count;
    uint32_t pages; /* that show it */
    bool placed;    /* it has no number, but these pages of the client's own */
    bool away;      /* its client is not one of those who are present */
    bool ending;    /* it is closed next, and some of it is gone */
};

struct memory {
    const struct dev_ops *ops;
    struct dev *dev;
    struct dev_space *space;
    uint64_t base, granule;
    uint32_t page_count; /* the upper half of them: the ephemeral window */
    struct page *pages;

    struct memory_lane *lane;
    struct list lane_link;
    struct slot *slots;
    uint32_t slot_room, slot_end /* behind the last one in use */;

    struct list holdings, lane_holdings;
    struct holding **numbers; /* those that have one */
    uint32_t number_room;
    uint64_t held; /* granules of these, but for the lane's */

    uint32_t persistent; /* pages */
    uint32_t placed;     /* pages of its own that are a segment's */
    uint32_t kept;       /* of the persistent and placed: in the ephemeral window */
    uint32_t kept_shown; /* of these: that were shown there, not backed */
    uint32_t ephemeral;  /* slots in use */
    uint32_t lane_held;  /* of these: segments' */
    uint32_t spilled;    /* of all of them */
    uint32_t hosted;     /* of these: to host memory */
    bool swapped;    /* its chunks go, or went, to host memory: not all of them are on the device */
    uint32_t away;   /* of the persistent pages: in host memory */
    bool spilling;   /* some of what has to be spilled is in the lane still */
    bool turned_out; /* the latest part of swapping was one of going out */
    uint32_t next_page;           /* where the next part of it, or of the end, looks first */
    uint32_t part;                /* granules that the latest part of anything was about */
    struct memory_estate *estate; /* NULL: nothing is kept */

    /* Of each page, how it was at one moment: memory_saved.h; NULL: it had no bytes, or nothing is
     * saved. What the client's own memory is since it went back to that, in order: these are not
     * its own to free. */
    void **saved, **lent;
    uint32_t saved_count, lent_count;

    uint64_t owner;                 /* whose bytes it writes */
    uint32_t clear_next, clear_end; /* slots that memory_clear has yet to look at */
    uint64_t cleared;               /* chunks, for it */
};

struct memory_lane {
    const struct dev_ops *ops;
    struct dev *dev;
    uint64_t granule;
    struct dev_chunk **chunks;
    uint64_t *owners; /* of what is in each; 0: zeros, or nobody's */
    uint32_t count, room;
    struct memory *holder; /* who entered last, while it is a member */
    struct memory *noted;  /* whose bytes are in it: memory_note_lane; NULL: nobody's */
    uint64_t cleared;      /* chunks */
    struct list members;   /* memory.lane_link */
};

static inline bool memory_slot_used(const struct slot *s) {
    return s->page != MEMORY_NO_PAGE || s->holding;
}

/* The bytes in the lane's chunk were written by the client's owner. */
static inline bool memory_slot_own(const struct memory *m, uint32_t slot) {
    return m->lane->owners[slot] == m->owner;
}

#endif
