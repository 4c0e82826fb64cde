/* SPDX-License-Identifier: Apache-2.0
 *
 * Records about a client's memory: pages of its windows, segments, files in its host window, and
 * use of its blocks. `rec` passed record_check. Return 0, or ERR_PROTOCOL with `why`.
 */
#ifndef DAEMON_WORKER_FRONT_MEMORY_RECORD_H
#define DAEMON_WORKER_FRONT_MEMORY_RECORD_H

#include <stdbool.h>
#include <stddef.h>

struct client;

/* MEM_BACK and MEM_UNBACK. */
int memory_record_pages(struct client *c, const void *rec, char *why, size_t why_bytes);
/* MEM_MAKE and the other records of segments. */
int memory_record_segment(struct client *c, const void *rec, char *why, size_t why_bytes);
/* FILE_MAP, FILE_UNMAP and FILE_DROP. */
int memory_record_file(struct client *c, const void *rec, char *why, size_t why_bytes);

/* MEM_USE and MEM_DROP. `in_graph`: read from a graph, not from the ring. */
int memory_record_use(struct client *c, const void *rec, bool in_graph, char *why,
                      size_t why_bytes);
int memory_record_drop(struct client *c, const void *rec, bool in_graph, char *why,
                       size_t why_bytes);

#endif
