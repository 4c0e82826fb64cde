/* SPDX-License-Identifier: Apache-2.0
 *
 * The callback with which the parts of the scheduler list their memory: sched_memory.h.
 */
#ifndef DAEMON_SCHED_VISIT_H
#define DAEMON_SCHED_VISIT_H

#include <stdbool.h>
#include <stddef.h>

/* Visits a block of `bytes` (0: none), to which `*block` points. False means failure and ends the
 * walk. */
typedef bool memory_visit(void *arg, void **block, size_t bytes);

#endif
