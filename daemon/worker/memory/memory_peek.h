/* SPDX-License-Identifier: Apache-2.0
 *
 * What a client would see at an address, while it need not be able to run: its bytes may be
 * elsewhere, and another client's shown in their place.
 *
 * Owner, thread: memory.h.
 */
#ifndef DAEMON_WORKER_MEMORY_MEMORY_PEEK_H
#define DAEMON_WORKER_MEMORY_MEMORY_PEEK_H

#include <stdint.h>

struct memory;

/* A cell of 4 or 8 bytes, aligned, of its device window, read as a whole. ERR_ILLEGAL_ADDRESS when
 * it is not backed; -EAGAIN when it cannot be said before the client has its memory again. */
int memory_peek(const struct memory *m, uint64_t addr, uint32_t bytes, uint64_t *value);

#endif
