/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of kernels that outlive their modules: records point to them, and readers keep these as
 * long as they like. Each is kept once, until the process ends. Any thread.
 */
#ifndef SHIM_CUPTI_NAMES_H
#define SHIM_CUPTI_NAMES_H

/* A text for good, the same as `name`; "" where there is no memory. */
const char *names_keep(const char *name);

#endif
