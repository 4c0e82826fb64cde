/* SPDX-License-Identifier: Apache-2.0
 *
 * Units of sizes and times.
 */
#include "daemon/broker/config_value.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct unit {
    const char *name;
    uint64_t factor;
};

/* Largest first: printing takes the first that divides. Aliases come after the name printed. */
static const struct unit byte_units[] = {
    {"TiB", 1ull << 40},
    {"GiB", 1ull << 30},
    {"MiB", 1ull << 20},
    {"KiB", 1ull << 10},
    {"T", 1ull << 40},
    {"G", 1ull << 30},
    {"M", 1ull << 20},
    {"K", 1ull << 10},
    {"B", 1},
    {"", 1},
    {NULL, 0},
};
static const struct unit time_units[] = {
    {"min", 60000000000ull},
    {"s", 1000000000ull},
    {"ms", 1000000},
    {"us", 1000},
    {"ns", 1},
    {NULL, 0},
};
static const struct unit plain_units[] = {{"", 1}, {NULL, 0}};

static const struct unit *units_of(enum config_type type) {
    if (type == CONFIG_BYTES) return byte_units;
    if (type == CONFIG_TIME) return time_units;
    return plain_units;
}

static int digit_of(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return 99;
}

int config_value_parse(enum config_type type, const char *text, uint64_t *out) {
    int base = type == CONFIG_ADDRESS ? 16 : 10;
    uint64_t value = 0;
    const char *p = text;

    if (type == CONFIG_ADDRESS) {
        if (strncmp(p, "0x", 2) != 0) return -EINVAL;
        p += 2;
    }
    if (digit_of(*p) >= base) return -EINVAL;
    for (; digit_of(*p) < base; p++)
        if (__builtin_mul_overflow(value, (uint64_t)base, &value) ||
            __builtin_add_overflow(value, (uint64_t)digit_of(*p), &value))
            return -ERANGE;
    while (*p == ' ')
        p++;
    if (type == CONFIG_TIME && value == 0 && *p == '\0') { /* "0" needs no unit */
        *out = 0;
        return 0;
    }
    for (const struct unit *u = units_of(type); u->name; u++)
        if (strcmp(u->name, p) == 0)
            return __builtin_mul_overflow(value, u->factor, out) ? -ERANGE : 0;
    return -EINVAL;
}

void config_value_print(enum config_type type, uint64_t value, char *out, size_t cap) {
    const struct unit *u = units_of(type);

    if (type == CONFIG_ADDRESS) {
        snprintf(out, cap, "0x%" PRIx64, value);
        return;
    }
    if (value == 0) {
        snprintf(out, cap, "0");
        return;
    }
    while (value % u->factor != 0)
        u++;
    if (u->factor == 1 && type == CONFIG_BYTES)
        snprintf(out, cap, "%" PRIu64, value);
    else
        snprintf(out, cap, "%" PRIu64 "%s", value / u->factor, u->name);
}

const char *config_value_expected(enum config_type type) {
    switch (type) {
    case CONFIG_PATH: return "an absolute path";
    case CONFIG_CHOICE: return "one of the choices";
    case CONFIG_BYTES: return "a size such as 512MiB";
    case CONFIG_COUNT: return "a whole number";
    case CONFIG_TIME: return "a time with its unit, such as 500ms";
    case CONFIG_ADDRESS: return "an address such as 0x200000000000";
    }
    return "a value";
}
