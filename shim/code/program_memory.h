/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads memory of the program at a length that a header gave: the memory may not exist. Any thread.
 */
#ifndef SHIM_CODE_PROGRAM_MEMORY_H
#define SHIM_CODE_PROGRAM_MEMORY_H

#include <stddef.h>

/* Copies like memcpy. -EFAULT, with `to` partly written, when the program cannot read all of it. */
int program_memory_read(void *to, const void *from, size_t bytes);

#endif
