/* SPDX-License-Identifier: Apache-2.0
 *
 * A thread that writes log records to stderr, so that a slow or stopped reader never delays the
 * threads that log. They put a record into a bounded buffer, or, if it is full, count the record as
 * dropped. The number of dropped records is logged once there is space again. A record is one
 * write(2).
 *
 * Owner: the process, of the one buffer. Threads: any.
 */
#ifndef COMMON_LOG_WRITER_H
#define COMMON_LOG_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_WRITER_RECORD_BYTES 2048 /* longest record */
#define LOG_WRITER_BUFFER_BYTES (256u << 10)

/* Makes the buffer and starts the thread, which calls `idle` about once a second while it has
 * nothing to write. `drops` writes the text for `count` dropped records into `line`, of
 * LOG_WRITER_RECORD_BYTES, and returns its length. Returns 0 or -errno. Call once. */
int log_writer_start(void (*idle)(void), size_t (*drops)(char *line, uint64_t count));

/* Returns false if there is no thread: then the caller writes the record. The record ends with its
 * newline. */
bool log_writer_put(const char *record, size_t bytes);

/* Waits until the buffered records are written, but no longer than `patience_ns`: a stopped reader
 * may never continue. Later records are lost. */
void log_writer_finish(uint64_t patience_ns);

#endif
