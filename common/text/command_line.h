/* SPDX-License-Identifier: Apache-2.0
 *
 * Command lines of processes as the kernel has them: words, each with its NUL.
 */
#ifndef COMMON_TEXT_COMMAND_LINE_H
#define COMMON_TEXT_COMMAND_LINE_H

#include <stddef.h>
#include <sys/types.h>

/* Reads the command line of process `pid` (0: this one), or its beginning; returns its bytes, 0
 * where it cannot be read. Keeps errno. */
size_t command_line_read(pid_t pid, char *out, size_t cap);

/* Prints the same as one line for people, cut to fit; empty where it cannot be read. */
void command_line_print(pid_t pid, char *out, size_t cap);

#endif
