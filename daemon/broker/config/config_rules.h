/* SPDX-License-Identifier: Apache-2.0
 *
 * Sections [user NAME] and [group NAME] of the configuration.
 */
#ifndef DAEMON_BROKER_CONFIG_CONFIG_RULES_H
#define DAEMON_BROKER_CONFIG_CONFIG_RULES_H

#include "daemon/broker/config/config.h"

/* The section is that of a user or of a group. */
bool config_rules_is(const char *section);

/* Sets one value of a section. Returns 0, or -EINVAL with the reason in `why`. */
int config_rules_set(struct config *c, const char *section, const char *name, const char *value,
                     char *why, size_t cap);

/* Prints all sections in the format of a file. */
void config_rules_print(const struct config *c, FILE *out);

#endif
