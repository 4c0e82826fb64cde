/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads a process's configuration from all its sources, and reloads it while the process runs.
 */
#ifndef DAEMON_BROKER_CONFIG_CONFIG_LOAD_H
#define DAEMON_BROKER_CONFIG_CONFIG_LOAD_H

#include "daemon/broker/config/config.h"

#define CONFIG_FLAGS_MAX 64

/* The sources of this process's configuration, so that SIGHUP can read them again. */
struct config_sources {
    const char *file; /* --config: only this file; NULL: the default files */
    const char *root; /* prefix of the default files' paths; NULL: none */
    const char *flag_names[CONFIG_FLAGS_MAX];
    const char *flag_values[CONFIG_FLAGS_MAX];
    int flags;
};

/* Loads all sources in order, then checks the rules between options. Returns the number of errors.
 */
int config_load(struct config *c, const struct config_sources *sources, FILE *errors);

/* Applies what can change in a running daemon. Returns how many other options differ, each named in
 * a line of `notes`. */
int config_reload(struct config *running, const struct config *fresh, FILE *notes);

#endif
