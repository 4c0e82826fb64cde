/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers have no blanks, no signs and no other base.
 */
#include "common/text/scan.h"

#include <stddef.h>

uint64_t scan_number(struct scan *in, uint64_t most) {
    uint64_t value = 0;
    const char *p = in->at;
    for (; p && *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value) || value > most) {
            p = NULL;
            break;
        }
    in->at = p == in->at ? NULL : p;
    return in->at ? value : 0;
}

bool scan_char(struct scan *in, char c) {
    if (!in->at || *in->at != c) return false;
    in->at++;
    return true;
}
