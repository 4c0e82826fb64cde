/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes text of another process safe to show: bounded, and without characters that a terminal or a
 * log record would interpret. Pure.
 */
#ifndef DAEMON_BROKER_PRINTABLE_H
#define DAEMON_BROKER_PRINTABLE_H

#include <stddef.h>

/* Copies at most `cap` bytes; `out` has one more. */
void printable_copy(char *out, const char *text, size_t cap);

/* Terminates the text within its `cap` bytes, and replaces characters that would end a log record
 * or the surrounding quotes. */
void printable_quote(char *text, size_t cap);

#endif
