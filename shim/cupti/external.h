/* SPDX-License-Identifier: Apache-2.0
 *
 * Ids that the program sets for the current work of a thread, in a stack for each kind. A profiler
 * uses them to find the operation that launched a kernel. Each thread has its own stacks.
 */
#ifndef SHIM_CUPTI_EXTERNAL_H
#define SHIM_CUPTI_EXTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/cupti/cupti.h"

/* `kind` is below CUPTI_EXTERNAL_KINDS. False: out of memory. */
bool external_push(uint32_t kind, uint64_t id);
/* False: the stack is empty. */
bool external_pop(uint32_t kind, uint64_t *id);
bool external_top(uint32_t kind, uint64_t *id);

#endif
