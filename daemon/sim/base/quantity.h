/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses the quantities of common/text/units.h with decimal fractions: "12.5s", "0.5GiB", "0.6".
 * Exact: fractions are computed with integers and rounded down to the stored unit. Pure.
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
    QUANTITY_MILLI, /* a number without a unit, stored in thousandths */
};

/* Returns 0, -EINVAL for an invalid text, or -ERANGE above QUANTITY_MAX. */
int quantity_parse(enum quantity kind, const char *text, uint64_t *out);

/* Prints a text that parses to the same value. `cap` is at least 32. */
void quantity_print(enum quantity kind, uint64_t value, char *out, size_t cap);

#endif
