/* SPDX-License-Identifier: Apache-2.0
 *
 * Sections [gpu N] of the configuration.
 */
#ifndef DAEMON_BROKER_CONFIG_CONFIG_GPUS_H
#define DAEMON_BROKER_CONFIG_CONFIG_GPUS_H

#include "daemon/broker/config/config.h"

/* True if a section is one of a GPU. */
bool config_gpus_is(const char *section);

/* Sets one of its values; `origin` is where it was said: 0, or -EINVAL with the reason in `why`. */
int config_gpus_set(struct config *c, const char *section, const char *name, const char *value,
                    const char *origin, char *why, size_t cap);

/* Prints all of them, as a file would have them. */
void config_gpus_print(const struct config *c, FILE *out);

/* The configuration as GPU `gpu` has it: its section's values over those for all. */
void config_gpus_apply(const struct config *c, uint32_t gpu, struct config *out);

/* Checks the rules that each GPU must keep: appends a line an error, returns how many. */
int config_gpus_check(const struct config *c, FILE *errors);

/* As config_reload, of the sections. */
int config_gpus_reload(struct config *running, const struct config *fresh, FILE *notes);

#endif
