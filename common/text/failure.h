/* SPDX-License-Identifier: Apache-2.0
 *
 * An error that is returned together with its reason. Pure.
 */
#ifndef COMMON_TEXT_FAILURE_H
#define COMMON_TEXT_FAILURE_H

#include <stddef.h>

/* Prints the reason into `why`, truncated to fit; returns `err`. */
int failure(int err, char *why, size_t cap, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

#endif
