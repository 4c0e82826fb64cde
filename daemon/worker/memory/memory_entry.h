/* SPDX-License-Identifier: Apache-2.0
 *
 * The record of a client's memory for the next worker: a word for each page of its window, and why
 * the words may not describe all of it (memory_recovery.h). This process writes it (memory_note.h),
 * the next one reads it.
 */
#ifndef DAEMON_WORKER_MEMORY_MEMORY_ENTRY_H
#define DAEMON_WORKER_MEMORY_MEMORY_ENTRY_H

#include <stdint.h>

/* Reasons why the record does not describe all of the client's memory. */
enum memory_loss {
    MEMORY_WHOLE,
    MEMORY_SEGMENTS, /* the client holds segments */
    MEMORY_HOST,     /* some of it is in this process's memory: the device has no spares */
    MEMORY_LOSSES
};

/* Shared with the next worker. */
struct memory_recovery {
    uint64_t granule;            /* bytes */
    _Atomic uint64_t page_count; /* pages of the window; 0: nothing was ever recorded */
    _Atomic uint64_t changing;   /* page << 32 | count: the entries of these pages are not valid */
    _Atomic uint32_t loss;       /* enum memory_loss */
    _Atomic uint32_t in_lane;    /* 1: entries of chunks of the lane are valid */
    /* An entry for each page; then a word for each page's saved copy: memory_saved.c. */
    _Atomic uint64_t pages[];
};

/* An entry: its kind, flags, and in the upper bits the number of the chunk or spare. */
enum entry_kind {
    ENTRY_NONE,    /* the page is unused */
    ENTRY_PRIVATE, /* a private chunk */
    ENTRY_LANE,    /* a chunk of the lane, if in_lane is set */
    ENTRY_SPILLED, /* page of the lane; the bytes are in the chunk */
    ENTRY_DEAD,    /* page of the lane; it has no bytes */
    ENTRY_LOST,    /* `loss` has the reason */
    ENTRY_SWAPPED, /* private page; the bytes are in the spare */
    ENTRY_HOSTED,  /* page of the lane; the bytes are in the spare */
};
#define ENTRY_KIND 0x7u
#define ENTRY_SHOWN 0x8u  /* for private pages: page.shown */
#define ENTRY_ZEROS 0x10u /* for swapped pages: zeros, without a spare */
#define ENTRY_CHUNK_SHIFT 8

#endif
