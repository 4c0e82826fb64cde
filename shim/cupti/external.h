/* SPDX-License-Identifier: Apache-2.0
 *
 * Ids of the program's own for what its thread does just now, a stack for each kind. A profiler
 * finds by them which of its operations launched a kernel. Each thread has its own.
 */
#ifndef SHIM_CUPTI_EXTERNAL_H
#define SHIM_CUPTI_EXTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/cupti/cupti.h"

/* `kind` below CUPTI_EXTERNAL_KINDS. False: there is no memory for it. */
bool external_push(uint32_t kind, uint64_t id);
/* False: there is none. */
bool external_pop(uint32_t kind, uint64_t *id);
bool external_top(uint32_t kind, uint64_t *id);

#endif
