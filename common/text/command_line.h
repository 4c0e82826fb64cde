/* SPDX-License-Identifier: Apache-2.0
 *
 * Command lines of processes as the kernel gives them: words, each with its NUL.
 */
#ifndef COMMON_TEXT_COMMAND_LINE_H
#define COMMON_TEXT_COMMAND_LINE_H

#include <stddef.h>
#include <sys/types.h>

/* Reads the command line of process `pid` (0: this one), or the part that fits. Returns its length,
 * or 0 if it cannot be read. Preserves errno. */
size_t command_line_read(pid_t pid, char *out, size_t cap);

/* Prints the same as one readable line, truncated to fit; empty if it cannot be read. */
void command_line_print(pid_t pid, char *out, size_t cap);

#endif
