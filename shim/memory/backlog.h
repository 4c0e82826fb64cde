/* SPDX-License-Identifier: Apache-2.0
 *
 * Records that tell the worker about changes of the memory allocators, sent in the order of the
 * changes. When the ring is full, a record and all later ones are stored. The thread that wrote it,
 * or that uses memory which it describes, waits for room once it holds no lock.
 *
 * The lock is the caller's (`books`, in mem.c): functions that add a record are called with it
 * held; those that send take it themselves.
 */
#ifndef SHIM_MEMORY_BACKLOG_H
#define SHIM_MEMORY_BACKLOG_H

#include <pthread.h>
#include <stdint.h>

#include "proto/wire/wire.h"

/* Sends the record or stores it. The caller holds the lock. */
void backlog_tell(uint16_t op, uint64_t addr, uint64_t bytes);
void backlog_tell_segment(const struct wire_segment *segment);

/* Notes that this thread uses memory of which the worker may not have been told: its next
 * backlog_send sends that as well. The caller holds the lock. */
void backlog_need_memory(void);

/* Sends all stored records, if some of them concern this thread. Waits only while the ring is full,
 * and never with `books` held. */
void backlog_send(pthread_mutex_t *books);
/* The same, also when they concern only other threads. */
void backlog_send_all(pthread_mutex_t *books);

#endif
