/* SPDX-License-Identifier: Apache-2.0
 *
 * The policy configuration as the broker has it: from the options, changed by requests, shown to
 * people. Pure.
 */
#ifndef DAEMON_BROKER_CONFIG_POLICY_CHOICE_H
#define DAEMON_BROKER_CONFIG_POLICY_CHOICE_H

#include "daemon/broker/config/config.h"
#include "daemon/policy/policy_config.h"
#include "proto/control/ctl_msg.h"

#define POLICY_CHOICE_WHY_BYTES 200

/* As the options of section [schedule] say. */
void policy_choice_read(struct policy_config *out, const struct config *c);

/* What a policy.set request gives, over *policy: 0, or -EINVAL with the reason and *policy as it
 * was. */
int policy_choice_change(struct policy_config *policy, const struct ctl_request *r, char *why);

/* `sm_threshold`: as the worker found it; 0: none. */
void policy_choice_show(const struct policy_config *policy, uint64_t sm_threshold,
                        struct ctl_policy_config *out);

#endif
