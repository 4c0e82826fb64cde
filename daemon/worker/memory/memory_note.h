/* SPDX-License-Identifier: Apache-2.0
 *
 * For memory*.c: writes the recovery state of a client's pages, entry by entry as they change
 * (memory_recovery.h). Does nothing without recovery state.
 *
 * Owner and thread: memory.h.
 */
#ifndef DAEMON_WORKER_MEMORY_MEMORY_NOTE_H
#define DAEMON_WORKER_MEMORY_MEMORY_NOTE_H

#include <stdint.h>

struct memory;
struct page;

/* Records that the page becomes, or has become, as `as` describes; NULL: unused. */
void memory_note(struct memory *m, uint32_t page, const struct page *as);
/* Records the slot's present state for all pages of the slot. */
void memory_note_slot(struct memory *m, uint32_t slot);
/* Records all slots in use. */
void memory_note_slots(struct memory *m);
/* Makes the entries of these pages invalid until memory_note_changed: they change together. */
void memory_note_changing(struct memory *m, uint32_t first, uint32_t count);
void memory_note_changed(struct memory *m);
/* memory_note_lane: the lane has this client's bytes from now on, in the chunks of its owner;
 * called before anything is written there for it. memory_note_no_lane: the lane's entries become
 * invalid; called before the client leaves the lane, or its slots move. */
void memory_note_lane(struct memory *m);
void memory_note_no_lane(struct memory *m);
/* The client has no bytes in a lane: it was just adopted. */
void memory_note_apart(struct memory *m);
/* Records whether the client has memory that would be lost. Called before anything moves where it
 * would be lost, and after it is back. */
void memory_note_loss(struct memory *m);

/* NULL, or the first wrong entry; also without recovery state. */
const char *memory_note_check(const struct memory *m);

#endif
