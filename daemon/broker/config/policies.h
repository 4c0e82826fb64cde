/* SPDX-License-Identifier: Apache-2.0
 *
 * Which policies are in effect: from the configuration, changed by requests, told to the worker,
 * shown to people. Pure.
 */
#ifndef DAEMON_BROKER_CONFIG_POLICIES_H
#define DAEMON_BROKER_CONFIG_POLICIES_H

#include "daemon/broker/config/config.h"
#include "proto/ctl_msg.h"
#include "proto/wire.h"

#define POLICIES_WHY_BYTES 200

/* A policy that can be chosen. `kind` is "lane" or "kernel". */
struct policies_one {
    const char *kind, *name, *sentence;
};
const struct policies_one *policies_all(int *count);

void policies_from_config(struct wire_policy_config *out, const struct config *c);

/* What a policy.set request gives, over *policy: 0, or -EINVAL with the reason and *policy as it
 * was. */
int policies_change(struct wire_policy_config *policy, const struct ctl_request *r, char *why);

/* `sm_threshold`: as the worker found it; 0: none. */
void policies_show(const struct wire_policy_config *c, uint64_t sm_threshold,
                   struct ctl_policy_config *out);

#endif
