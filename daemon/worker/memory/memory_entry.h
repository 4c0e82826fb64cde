/* SPDX-License-Identifier: Apache-2.0
 *
 * What the next worker finds of a client's memory: a word for each page of its window, and why that
 * may not be all (memory_estate.h). This process writes it (memory_note.h), the next one reads it.
 */
#ifndef DAEMON_WORKER_MEMORY_MEMORY_ENTRY_H
#define DAEMON_WORKER_MEMORY_MEMORY_ENTRY_H

#include <stdint.h>

/* Why it is not all that there is of the client's memory. */
enum memory_loss {
    MEMORY_WHOLE,
    MEMORY_SEGMENTS, /* it holds segments */
    MEMORY_HOST,     /* some of it is in this process's memory: the device has no spares */
    MEMORY_LOSSES
};

/* Shared. */
struct memory_estate {
    uint64_t granule;            /* bytes */
    _Atomic uint64_t page_count; /* of the window; 0: nothing was ever kept */
    _Atomic uint64_t changing;   /* page << 32 | count: of these no entry counts */
    _Atomic uint32_t loss;       /* enum memory_loss */
    _Atomic uint32_t in_lane;    /* 1: entries of chunks of the lane count */
    /* An entry for each page; then a word for what is saved of each: memory_saved.c. */
    _Atomic uint64_t pages[];
};

/* An entry: its kind, flags, and in the upper bits the number of the chunk or spare. */
enum entry_kind {
    ENTRY_NONE,    /* the page shows nothing */
    ENTRY_PRIVATE, /* the chunk is its own */
    ENTRY_LANE,    /* the chunk is the lane's: in_lane */
    ENTRY_SPILLED, /* of the lane; its bytes are in the chunk */
    ENTRY_DEAD,    /* of the lane; it has no bytes */
    ENTRY_LOST,    /* `loss` says how */
    ENTRY_SWAPPED, /* its own; the bytes are in the spare */
    ENTRY_HOSTED,  /* of the lane; the bytes are in the spare */
};
#define ENTRY_KIND 0x7u
#define ENTRY_SHOWN 0x8u  /* of its own: page.shown */
#define ENTRY_ZEROS 0x10u /* of one that is swapped: it has no spare */
#define ENTRY_CHUNK_SHIFT 8

#endif
