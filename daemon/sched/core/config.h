/* SPDX-License-Identifier: Apache-2.0
 *
 * Resolves a policy configuration: its named policies and the value of every parameter.
 */
#ifndef DAEMON_SCHED_CORE_CONFIG_H
#define DAEMON_SCHED_CORE_CONFIG_H

#include <stddef.h>

#include "daemon/policy/policy_config.h"

struct controller;
struct lane_policy;
struct policy;

struct config_named {
    const struct lane_policy *lane;
    const struct policy *kernel;
    const struct controller *control;
};

/* Fills in every parameter (no AUTO remains, unset ones get their default) and looks up the named
 * policies. Returns 0, or -EINVAL with a sentence in `why`. */
int config_resolve(const struct policy_config *in, struct policy_config *out,
                   struct config_named *named, char *why, size_t why_bytes);

/* Checks whether SCHED_POLICY would accept this configuration. Returns 0, or -EINVAL with a
 * sentence in `why` (at least 160 bytes, or NULL). */
int sched_policy_check(const struct policy_config *policy, char *why, size_t why_bytes);

#endif
