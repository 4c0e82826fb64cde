/* SPDX-License-Identifier: Apache-2.0
 *
 * The policy configuration in the broker: read from the options, changed by requests, shown to
 * people. Pure.
 */
#ifndef DAEMON_BROKER_CONFIG_POLICY_CHOICE_H
#define DAEMON_BROKER_CONFIG_POLICY_CHOICE_H

#include "daemon/broker/config/config.h"
#include "daemon/policy/policy_config.h"
#include "proto/control/ctl_msg.h"

#define POLICY_CHOICE_WHY_BYTES 200

/* Reads the options of section [schedule]. */
void policy_choice_read(struct policy_config *out, const struct config *c);

/* Applies a policy.set request to *policy. Returns 0, or -EINVAL with the reason and *policy
 * unchanged. */
int policy_choice_change(struct policy_config *policy, const struct ctl_request *r, char *why);

/* Fills the record. `sm_threshold`: as the worker found it; 0: none. */
void policy_choice_show(const struct policy_config *policy, uint64_t sm_threshold,
                        struct ctl_policy_config *out);

#endif
