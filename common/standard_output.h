/* SPDX-License-Identifier: Apache-2.0
 *
 * Standard output that must not fail in silence: a full disk, a reader that is gone.
 */
#ifndef COMMON_STANDARD_OUTPUT_H
#define COMMON_STANDARD_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/* Writes what is buffered. False if this, or an earlier write, failed: then `err` has got a line
 * that says so, and the failure is forgotten, so that it is said once. */
bool standard_output_flush(FILE *out, FILE *err, const char *program);

#endif
