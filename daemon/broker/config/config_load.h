/* SPDX-License-Identifier: Apache-2.0
 *
 * The configuration of a process from all that it is said by, and read again while it runs.
 */
#ifndef DAEMON_BROKER_CONFIG_CONFIG_LOAD_H
#define DAEMON_BROKER_CONFIG_CONFIG_LOAD_H

#include "daemon/broker/config/config.h"

#define CONFIG_FLAGS_MAX 64

/* Notes the sources of this process's values, so that SIGHUP can read them again. */
struct config_sources {
    const char *file; /* --config: this file alone; NULL: the default files */
    const char *root; /* put before the default files' paths; NULL for none */
    const char *flag_names[CONFIG_FLAGS_MAX];
    const char *flag_values[CONFIG_FLAGS_MAX];
    int flags;
};

/* Everything, in order, then what must hold between options. Returns the number of errors. */
int config_load(struct config *c, const struct config_sources *sources, FILE *errors);

/* Takes over what can change in a running daemon; returns how many other options differ, each named
 * in a line of `notes`. */
int config_reload(struct config *running, const struct config *fresh, FILE *notes);

#endif
