/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers with units, as people write them in configuration. Pure.
 */
#ifndef DAEMON_BROKER_CONFIG_CONFIG_VALUE_H
#define DAEMON_BROKER_CONFIG_CONFIG_VALUE_H

#include <stddef.h>
#include <stdint.h>

/* What an option holds. */
enum config_type {
    CONFIG_PATH,
    CONFIG_FILE,
    CONFIG_DEVICE,
    CONFIG_CHOICE,
    CONFIG_BYTES,
    CONFIG_COUNT,
    CONFIG_TIME,
    CONFIG_PART,
    CONFIG_ADDRESS
};

/* 0, -EINVAL when `text` is not a number with a unit of this type, -ERANGE above 64 bits. */
int config_value_parse(enum config_type type, const char *text, uint64_t *out);

/* The largest unit that divides the value. */
void config_value_print(enum config_type type, uint64_t value, char *out, size_t cap);

/* What is expected of a value of this type: "a size such as 512MiB". */
const char *config_value_expected(enum config_type type);

#endif
