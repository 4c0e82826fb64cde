/* SPDX-License-Identifier: Apache-2.0
 *
 * Sections [gpu N] of the configuration.
 */
#ifndef DAEMON_BROKER_CONFIG_CONFIG_GPUS_H
#define DAEMON_BROKER_CONFIG_CONFIG_GPUS_H

#include "daemon/broker/config/config.h"

/* The section is that of a GPU. */
bool config_gpus_is(const char *section);

/* Sets one value of a section; `origin` is its source. Returns 0, or -EINVAL with the reason in
 * `why`. */
int config_gpus_set(struct config *c, const char *section, const char *name, const char *value,
                    const char *origin, char *why, size_t cap);

/* Prints all sections in the format of a file. */
void config_gpus_print(const struct config *c, FILE *out);

/* Builds the configuration of GPU `gpu`: its section's values over the common ones. */
void config_gpus_apply(const struct config *c, uint32_t gpu, struct config *out);

/* Checks the rules for each GPU. Appends one line per error and returns their number. */
int config_gpus_check(const struct config *c, FILE *errors);

/* config_reload for these sections. */
int config_gpus_reload(struct config *running, const struct config *fresh, FILE *notes);

#endif
