/* SPDX-License-Identifier: Apache-2.0
 *
 * Text that another process wrote, made fit to be shown: bounded, and nothing in it that a terminal
 * or a log record would obey. Pure.
 */
#ifndef DAEMON_BROKER_PRINTABLE_H
#define DAEMON_BROKER_PRINTABLE_H

#include <stddef.h>

/* A copy of at most `cap` bytes; `out` has one more. */
void printable_copy(char *out, const char *text, size_t cap);

/* Ends the text within its `cap` bytes, and leaves nothing in it that would end a log record or the
 * quotes it stands in. */
void printable_quote(char *text, size_t cap);

#endif
