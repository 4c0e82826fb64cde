/* SPDX-License-Identifier: Apache-2.0
 *
 * Sets the reason and returns the error in one statement, where a check ends.
 */
#include "common/text/failure.h"

#include <stdarg.h>
#include <stdio.h>

int failure(int err, char *why, size_t cap, const char *fmt, ...) {
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(why, cap, fmt, ap);
    va_end(ap);
    return err;
}
