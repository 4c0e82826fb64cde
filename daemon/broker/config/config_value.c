/* SPDX-License-Identifier: Apache-2.0
 *
 * The units of each option type; addresses are parsed here.
 */
#include "daemon/broker/config/config_value.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/text/units.h"

static enum units units_of(enum config_type type) {
    if (type == CONFIG_BYTES) return UNITS_BYTES;
    if (type == CONFIG_PART) return UNITS_PART;
    return type == CONFIG_TIME ? UNITS_TIME : UNITS_NONE;
}

static int digit_of(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return 16;
}

static int parse_address(const char *text, uint64_t *out) {
    uint64_t value = 0;
    const char *p = text + 2;

    if (strncmp(text, "0x", 2) != 0 || digit_of(*p) == 16) return -EINVAL;
    for (; digit_of(*p) < 16; p++) {
        if (value >> 60) return -ERANGE;
        value = value << 4 | (uint64_t)digit_of(*p);
    }
    *out = value;
    return *p ? -EINVAL : 0;
}

int config_value_parse(enum config_type type, const char *text, uint64_t *out) {
    return type == CONFIG_ADDRESS ? parse_address(text, out)
                                  : units_parse(units_of(type), text, out);
}

void config_value_print(enum config_type type, uint64_t value, char *out, size_t cap) {
    if (type == CONFIG_ADDRESS)
        snprintf(out, cap, "0x%" PRIx64, value);
    else
        units_print(units_of(type), value, out, cap);
}

const char *config_value_expected(enum config_type type) {
    switch (type) {
    case CONFIG_PATH: return "an absolute path";
    case CONFIG_FILE: return "an absolute path or a name without '/'";
    case CONFIG_DEVICE: return "an index, or the beginning of a UUID, such as GPU-8932f937";
    case CONFIG_CHOICE: return "one of the choices";
    case CONFIG_BYTES: return "a size such as 512MiB";
    case CONFIG_COUNT: return "a whole number";
    case CONFIG_TIME: return "a time with its unit, such as 500ms";
    case CONFIG_PART: return "a percentage such as 2.5%";
    case CONFIG_ADDRESS: return "an address such as 0x200000000000";
    }
    return "a value";
}
