/* SPDX-License-Identifier: Apache-2.0
 *
 * Selects the kinds of activities that the program wants, and makes their records from traced
 * operations (shim/context/trace.h). Any thread.
 */
#ifndef SHIM_CUPTI_ACTIVITY_H
#define SHIM_CUPTI_ACTIVITY_H

#include <stdbool.h>
#include <stdint.h>

/* Enables or disables a kind. False: there are no records of this kind. */
bool activity_want(uint32_t kind, bool wanted);
/* Disables all kinds. */
void activity_stop(void);

/* Writes records of all completed operations to the buffers. */
void activity_collect(void);

#endif
