/* SPDX-License-Identifier: Apache-2.0
 *
 * A thread that writes log records to stderr, so that whoever reads them, or has stopped to, never
 * holds up those who log: they put a record into a bounded buffer or, where it is full, count it as
 * dropped. How many were is said once there is room again. A record is one write(2).
 *
 * Owner: the process, of the one buffer. Threads: any.
 */
#ifndef COMMON_LOG_WRITER_H
#define COMMON_LOG_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_WRITER_RECORD_BYTES 2048 /* of the longest record */
#define LOG_WRITER_BUFFER_BYTES (256u << 10)

/* Makes the buffer and starts the thread, which calls `idle` about once a second while it has
 * nothing to write. `drops` puts the words for so many dropped records into `line`, of
 * LOG_WRITER_RECORD_BYTES, and returns their length. 0 or -errno. Call once. */
int log_writer_start(void (*idle)(void), size_t (*drops)(char *line, uint64_t count));

/* False when there is no thread: then the caller writes himself. The record ends with its newline.
 */
bool log_writer_put(const char *record, size_t bytes);

/* Waits for what is buffered, but no longer than that: a reader that has stopped may never go on.
 * What is put afterwards is lost. */
void log_writer_finish(uint64_t patience_ns);

#endif
