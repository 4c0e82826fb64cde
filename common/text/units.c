/* SPDX-License-Identifier: Apache-2.0
 *
 * Units of sizes and times.
 */
#include "common/text/units.h"

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
    {"", 1},
    {"B", 1},
    {NULL, 0},
};
static const struct unit time_units[] = {
    {"min", 60000000000ull},
    {"s", 1000000000ull},
    {"ms", 1000000},
    {"us", 1000},
    {"ns", 1},
    {"h", 3600000000000ull},
    {NULL, 0},
};
static const struct unit plain_units[] = {{"", 1}, {NULL, 0}};

static const struct unit *find_units(enum units kind) {
    if (kind == UNITS_BYTES) return byte_units;
    if (kind == UNITS_TIME) return time_units;
    return plain_units;
}

static int parse_digits(const char **at, uint64_t *value) {
    const char *p = *at;

    if (*p < '0' || *p > '9') return -EINVAL;
    for (*value = 0; *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(*value, 10u, value) ||
            __builtin_add_overflow(*value, (uint64_t)(*p - '0'), value))
            return -ERANGE;
    *at = p;
    return 0;
}

/* Parses a percentage as thousandths: "2.5%" with at most one digit after the point. */
static int parse_part(const char *p, uint64_t value, uint64_t *out) {
    unsigned tenth = 0;

    if (*p == '.') {
        if (p[1] < '0' || p[1] > '9') return -EINVAL;
        tenth = (unsigned)(p[1] - '0');
        p += 2;
    }
    if (strcmp(p, "%") != 0 && (value || *p)) return -EINVAL; /* "0" needs no unit */
    return __builtin_mul_overflow(value, 10u, out) || __builtin_add_overflow(*out, tenth, out)
               ? -ERANGE
               : 0;
}

int units_parse(enum units kind, const char *text, uint64_t *out) {
    uint64_t value = 0;
    const char *p = text;
    int err = parse_digits(&p, &value);

    if (err < 0) return err;
    if (kind == UNITS_PART) return parse_part(p, value, out);
    while (*p == ' ')
        p++;
    if (value == 0 && *p == '\0') { /* "0" needs no unit */
        *out = 0;
        return 0;
    }
    for (const struct unit *u = find_units(kind); u->name; u++)
        if (strcmp(u->name, p) == 0)
            return __builtin_mul_overflow(value, u->factor, out) ? -ERANGE : 0;
    return -EINVAL;
}

void units_print(enum units kind, uint64_t value, char *out, size_t cap) {
    const struct unit *u = find_units(kind);

    if (value == 0) {
        snprintf(out, cap, "0");
        return;
    }
    if (kind == UNITS_PART) {
        snprintf(out, cap, "%" PRIu64, value / 10);
        snprintf(out + strlen(out), cap - strlen(out), value % 10 ? ".%u%%" : "%%",
                 (unsigned)(value % 10));
        return;
    }
    while (value % u->factor != 0)
        u++;
    snprintf(out, cap, "%" PRIu64 "%s", value / u->factor, u->name);
}

void units_print_bytes(uint64_t value, char *out, size_t cap) {
    static const char units[][4] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double scaled = (double)value;
    int u = 0;

    for (; scaled >= 1024 && u < 6; u++)
        scaled /= 1024;
    if (u == 0 || scaled >= 100 || scaled == (double)(uint64_t)scaled)
        snprintf(out, cap, "%.0f %s", scaled, units[u]);
    else
        snprintf(out, cap, "%.1f %s", scaled, units[u]);
}
