/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses digits with a decimal point, and the factor of the unit.
 */
#include "daemon/sim/base/quantity.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "common/text/units.h"

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static int factor_of(enum quantity kind, const char *unit, uint64_t *out) {
    static const enum units units[] = {
        [QUANTITY_BYTES] = UNITS_BYTES, [QUANTITY_TIME] = UNITS_TIME};
    char one[8];
    if (kind >= QUANTITY_COUNT) {
        *out = kind == QUANTITY_MILLI ? 1000 : 1;
        return *unit ? -EINVAL : 0;
    }
    int n = snprintf(one, sizeof(one), "1%s", unit);
    return n < (int)sizeof(one) ? units_parse(units[kind], one, out) : -EINVAL;
}

int quantity_parse(enum quantity kind, const char *text, uint64_t *out) {
    __extension__ typedef unsigned __int128 wide; /* for digits times a factor */
    uint64_t digits = 0, scale = 1, factor = 1;
    const char *p = text;

    if (!is_digit(*p)) return -EINVAL;
    for (bool fraction = false; is_digit(*p) || (*p == '.' && !fraction && is_digit(p[1])); p++) {
        if (*p == '.') {
            fraction = true;
            continue;
        }
        if (digits > (UINT64_MAX - 9) / 10 || scale > UINT64_MAX / 10) return -ERANGE;
        digits = digits * 10 + (uint64_t)(*p - '0');
        if (fraction) scale *= 10;
    }
    if ((digits || *p) && factor_of(kind, p, &factor)) return -EINVAL; /* 0 needs no unit */
    if (kind == QUANTITY_COUNT && scale != 1) return -EINVAL;
    wide value = (wide)digits * factor / scale;
    if (value > QUANTITY_MAX) return -ERANGE;
    *out = (uint64_t)value;
    return 0;
}

void quantity_print(enum quantity kind, uint64_t value, char *out, size_t cap) {
    if (kind == QUANTITY_MILLI)
        snprintf(out, cap, "%" PRIu64 ".%03u", value / 1000, (unsigned)(value % 1000));
    else
        units_print(kind == QUANTITY_TIME    ? UNITS_TIME
                    : kind == QUANTITY_BYTES ? UNITS_BYTES
                                             : UNITS_NONE,
                    value, out, cap);
}
