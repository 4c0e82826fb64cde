/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a cell as the client would, although the client may be unable to run: its bytes may be
 * elsewhere, and another client's bytes in their place.
 *
 * Owner, thread: memory.h.
 */
#ifndef DAEMON_WORKER_MEMORY_MEMORY_PEEK_H
#define DAEMON_WORKER_MEMORY_MEMORY_PEEK_H

#include <stdint.h>

struct memory;

/* Reads an aligned cell of 4 or 8 bytes of the device window in one access. ERR_ILLEGAL_ADDRESS
 * when it is not backed; -EAGAIN when the value is unknown until the client has its memory again.
 */
int memory_peek(const struct memory *m, uint64_t addr, uint32_t bytes, uint64_t *value);

#endif
