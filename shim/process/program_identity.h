/* SPDX-License-Identifier: Apache-2.0
 *
 * Identifies the program, so that measurements of an earlier run serve this one.
 */
#ifndef SHIM_PROCESS_PROGRAM_IDENTITY_H
#define SHIM_PROCESS_PROGRAM_IDENTITY_H

#include <stddef.h>
#include <stdint.h>

/* A number for this process's executable and its arguments; never 0. */
uint64_t program_identity_self(void);

/* The same for a path and arguments that each end with a NUL, the program's own name first. */
uint64_t program_identity_of(const char *path, const char *arguments, size_t bytes);

#endif
