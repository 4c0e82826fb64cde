/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a word from its beginning. The first error ends reading for good, so that a caller checks
 * once, at the end. Pure.
 */
#ifndef COMMON_TEXT_SCAN_H
#define COMMON_TEXT_SCAN_H

#include <stdbool.h>
#include <stdint.h>

struct scan {
    const char *at; /* the rest; NULL after an error */
};

/* Takes the digits that are next. Returns 0 and sets the error if there are none, or their number
 * exceeds `most`. */
uint64_t scan_number(struct scan *in, uint64_t most);

/* Takes the next character if it is `c`. Returns true if it was. */
bool scan_char(struct scan *in, char c);

#endif
