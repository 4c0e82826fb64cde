/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of the program that a length from a header reaches: it may not be there. Any thread.
 */
#ifndef SHIM_CODE_PROGRAM_MEMORY_H
#define SHIM_CODE_PROGRAM_MEMORY_H

#include <stddef.h>

/* Copies like memcpy; -EFAULT, with `to` partly written, where the program cannot read all of it.
 */
int program_memory_read(void *to, const void *from, size_t bytes);

#endif
