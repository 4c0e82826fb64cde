/* SPDX-License-Identifier: Apache-2.0
 *
 * For memory*.c: the estate says what a client's pages show, entry by entry as they change
 * (memory_estate.h). Without an estate nothing is done.
 *
 * Owner and thread: memory.h.
 */
#ifndef DAEMON_WORKER_MEMORY_MEMORY_NOTE_H
#define DAEMON_WORKER_MEMORY_MEMORY_NOTE_H

#include <stdint.h>

struct memory;
struct page;

/* The page is about to become, or has become, what `as` says; NULL: to show nothing. */
void memory_note(struct memory *m, uint32_t page, const struct page *as);
/* The same of all pages that show the slot, which is as it says. */
void memory_note_slot(struct memory *m, uint32_t slot);
/* All slots that are in use. */
void memory_note_slots(struct memory *m);
/* No entry of these pages counts until memory_note_changed: they change together. */
void memory_note_changing(struct memory *m, uint32_t first, uint32_t count);
void memory_note_changed(struct memory *m);
/* What is in its lane are this client's bytes from now on, where they are its owner's at all:
 * before anything is written there for it. Nobody's: before it leaves the lane, or its slots move.
 */
void memory_note_lane(struct memory *m);
void memory_note_no_lane(struct memory *m);
/* Nothing of it is in a lane: it was just adopted. */
void memory_note_apart(struct memory *m);
/* True if the client lacks anything; before anything goes where it would be lost, and when it is
 * back. */
void memory_note_loss(struct memory *m);

/* NULL, or what of the estate is not so; also without one. */
const char *memory_note_check(const struct memory *m);

#endif
