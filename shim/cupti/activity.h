/* SPDX-License-Identifier: Apache-2.0
 *
 * Which kinds of activities the program wants, and records of these from what is traced
 * (shim/context/trace.h). Any thread.
 */
#ifndef SHIM_CUPTI_ACTIVITY_H
#define SHIM_CUPTI_ACTIVITY_H

#include <stdbool.h>
#include <stdint.h>

/* False: there are no records of this kind. */
bool activity_want(uint32_t kind, bool wanted);
/* No records are wanted any more. */
void activity_stop(void);

/* Records of all that is complete go to the buffers. */
void activity_collect(void);

#endif
