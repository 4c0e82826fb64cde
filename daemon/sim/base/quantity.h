/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers of common/text/units.h with decimal fractions: "12.5s", "0.5GiB", "0.6". Exact: fractions
 * are taken in integers and rounded down to the unit kept. Pure.
 */
#ifndef DAEMON_SIM_BASE_QUANTITY_H
#define DAEMON_SIM_BASE_QUANTITY_H

#include <stddef.h>
#include <stdint.h>

#define QUANTITY_MAX (UINT64_MAX >> 2)

enum quantity {
    QUANTITY_BYTES,
    QUANTITY_TIME,
    QUANTITY_COUNT, /* a whole number */
    QUANTITY_MILLI, /* a number without a unit, in thousandths */
};

/* 0; -EINVAL when the text is not such a number, -ERANGE above QUANTITY_MAX. */
int quantity_parse(enum quantity kind, const char *text, uint64_t *out);

/* The same value back when parsed. At least 32 bytes. */
void quantity_print(enum quantity kind, uint64_t value, char *out, size_t cap);

#endif
