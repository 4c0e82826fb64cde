/* SPDX-License-Identifier: Apache-2.0
 *
 * Which program this is, so that what was measured of an earlier run serves this one.
 */
#ifndef SHIM_PROCESS_PROFILE_H
#define SHIM_PROCESS_PROFILE_H

#include <stddef.h>
#include <stdint.h>

/* A number for this process's executable and its arguments; never 0. */
uint64_t profile_self(void);

/* The same, of a path and of arguments that each end with a NUL, the program's own name first. */
uint64_t profile_of(const char *path, const char *arguments, size_t bytes);

#endif
