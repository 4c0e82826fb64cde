/* SPDX-License-Identifier: Apache-2.0
 *
 * How the parts of the scheduler list their memory: sched_memory.h.
 */
#ifndef DAEMON_SCHED_VISIT_H
#define DAEMON_SCHED_VISIT_H

#include <stdbool.h>
#include <stddef.h>

/* A block of `bytes` (0: none), to which `*block` points. False ends the walk: it failed. */
typedef bool memory_visit(void *arg, void **block, size_t bytes);

#endif
