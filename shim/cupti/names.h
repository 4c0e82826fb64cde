/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of kernels that outlive their modules: records point to them, and readers may use records
 * as long as they like. Each name is stored once, until the process ends. Any thread.
 */
#ifndef SHIM_CUPTI_NAMES_H
#define SHIM_CUPTI_NAMES_H

/* Returns a permanent copy of `name`; "" when out of memory. */
const char *names_keep(const char *name);

#endif
