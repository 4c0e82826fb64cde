/* SPDX-License-Identifier: Apache-2.0
 *
 * Records that tell the worker what the books of memory say, sent in the order of the books. A
 * record that finds the ring full is kept back, and those behind it with it. The thread that wrote
 * it, or that builds on memory of which it tells, waits for room once it holds no lock.
 *
 * The lock of the books is the caller's (mem.c): the functions that add a record are called with it
 * held, those that send take it themselves.
 */
#ifndef SHIM_MEMORY_BACKLOG_H
#define SHIM_MEMORY_BACKLOG_H

#include <pthread.h>
#include <stdint.h>

#include "proto/wire/wire.h"

/* Sends the record or keeps it back; with the lock of the books held. */
void backlog_tell(uint16_t op, uint64_t addr, uint64_t bytes);
void backlog_tell_segment(const struct wire_segment *segment);

/* The thread builds on memory of which the worker may not have been told: its next backlog_send
 * sends that as well. With the lock of the books held. */
void backlog_need_memory(void);

/* Sends all that is kept back, if some of it concerns this thread. Waits only while the ring is
 * full, and never with `books`, the lock of the books, held. */
void backlog_send(pthread_mutex_t *books);
/* The same, whomever it concerns. */
void backlog_send_all(pthread_mutex_t *books);

#endif
