/* SPDX-License-Identifier: Apache-2.0
 *
 * Standard output that must not fail silently: a full disk, a reader that has exited.
 */
#ifndef COMMON_STANDARD_OUTPUT_H
#define COMMON_STANDARD_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/* Flushes the buffer. Returns false if this or an earlier write failed; then it writes a line about
 * it to `err` and clears the failure, so that it is reported once. */
bool standard_output_flush(FILE *out, FILE *err, const char *program);

#endif
