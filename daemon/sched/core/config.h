/* SPDX-License-Identifier: Apache-2.0
 *
 * What a policy configuration comes to: every knob's value, and the policies that it names.
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

/* The configuration with every knob's value (no AUTO is left, nothing is said of none), and the
 * policies that it names. 0, or -EINVAL and a sentence. */
int config_resolve(const struct policy_config *in, struct policy_config *out,
                   struct config_named *named, char *why, size_t why_bytes);

/* Checks if POLICY would take this configuration: 0, or -EINVAL and a sentence in `why` (>= 160
 * bytes, or NULL). */
int sched_policy_check(const struct policy_config *policy, char *why, size_t why_bytes);

#endif
