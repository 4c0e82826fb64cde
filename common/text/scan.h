/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading a word from its beginning: what is not as it must be ends the reading for good, so that a
 * caller looks once, at the end. Pure.
 */
#ifndef COMMON_TEXT_SCAN_H
#define COMMON_TEXT_SCAN_H

#include <stdbool.h>
#include <stdint.h>

struct scan {
    const char *at; /* the rest; NULL once something was not as it must be */
};

/* Takes the digits that are next. 0 and an end of the reading where there are none, or their number
 * is more than `most`. */
uint64_t scan_number(struct scan *in, uint64_t most);

/* True, and it is taken, when the next character is this one. */
bool scan_char(struct scan *in, char c);

#endif
