/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks all other threads from pages of this process while other memory is put in their place. A
 * thread that touches them waits, also inside a system call, and then continues with the new
 * contents. No thread sees an error. The means is userfaultfd, where the system lets this process
 * catch the kernel's accesses for it (userfaultfd(2), /dev/userfaultfd), from Linux 6.8 on.
 *
 * Between page_block_away or page_block_still and the end of the hold, the caller must not touch
 * these pages itself, nor the heap if it is among them: it would wait for itself. Its own signals
 * are blocked.
 */
#ifndef SHIM_HOST_MEMORY_PAGE_BLOCK_H
#define SHIM_HOST_MEMORY_PAGE_BLOCK_H

#include <stdint.h>

/* Returns the descriptor of the hold, for page_block_close; or -errno: not available here. */
int page_block_open(void);
void page_block_close(int holder);

/* Moves anonymous pages away to `*moved`, which the caller unmaps; no thread can touch their old
 * addresses. -EBUSY while a device is writing to them (direct input), which is temporary; -EINVAL
 * when the pages are not all anonymous and alike. On failure nothing has changed. */
int page_block_away(int holder, uint64_t addr, uint64_t bytes, uint64_t *moved);
/* Moves the pages back, unmaps `moved` and ends the hold; no other memory was put in their place.
 */
void page_block_undo(int holder, uint64_t addr, uint64_t bytes, uint64_t moved);

/* Write-protects pages of shared memory. 0 or -errno; the caller calls page_block_end in either
 * case. */
int page_block_still(int holder, uint64_t addr, uint64_t bytes);

/* Ends the hold: lets all threads continue, with the pages that are there now. */
void page_block_end(int holder, uint64_t addr, uint64_t bytes);

#endif
