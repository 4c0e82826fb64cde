/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeping every other thread from pages of this process while something else is put in their place:
 * who touches them waits, in a system call too, and goes on with what is there afterwards. None
 * sees an error. By userfaultfd, where the system lets this process catch what the kernel touches
 * for it (userfaultfd(2), /dev/userfaultfd), from Linux 6.8 on.
 *
 * Between hold_away or hold_still and the end of the hold, the caller touches none of these pages
 * itself, which includes the heap: it would wait for itself. Its own signals are held back.
 */
#ifndef SHIM_HOST_MEMORY_HOLD_H
#define SHIM_HOST_MEMORY_HOLD_H

#include <stdint.h>

/* What holds, for hold_close; or -errno: not here. */
int hold_open(void);
void hold_close(int holder);

/* Moves anonymous pages away, `*moved` is where they are; nobody can touch any in their place.
 * -EBUSY when a device is writing to them right now (direct input), which ends; -EINVAL for what is
 * not all anonymous and alike. On failure all is as it was. */
int hold_away(int holder, uint64_t addr, uint64_t bytes, uint64_t *moved);
/* Puts them back: nothing else was put there. */
void hold_undo(int holder, uint64_t addr, uint64_t bytes, uint64_t moved);

/* Nobody can write to these pages, of shared memory, until the hold ends: also after -errno. */
int hold_still(int holder, uint64_t addr, uint64_t bytes);

/* Everybody goes on, with what is there now. */
void hold_end(int holder, uint64_t addr, uint64_t bytes);

#endif
