/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers with units, as people write them in the configuration. Pure.
 */
#ifndef DAEMON_BROKER_CONFIG_CONFIG_VALUE_H
#define DAEMON_BROKER_CONFIG_CONFIG_VALUE_H

#include <stddef.h>
#include <stdint.h>

/* The type of an option. */
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

/* Returns 0, -EINVAL when `text` is no number with a unit of this type, or -ERANGE above 64 bits.
 */
int config_value_parse(enum config_type type, const char *text, uint64_t *out);

/* Prints the value with the largest unit that divides it. */
void config_value_print(enum config_type type, uint64_t value, char *out, size_t cap);

/* Describes a valid value of this type: "a size such as 512MiB". */
const char *config_value_expected(enum config_type type);

#endif
