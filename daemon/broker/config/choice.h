/* SPDX-License-Identifier: Apache-2.0
 *
 * Which policies are in effect: from the configuration, changed by requests, told to the worker,
 * shown to people. Pure.
 */
#ifndef DAEMON_BROKER_CONFIG_CHOICE_H
#define DAEMON_BROKER_CONFIG_CHOICE_H

#include "daemon/broker/config/config.h"
#include "proto/ctl_msg.h"
#include "proto/wire.h"

#define CHOICE_WHY_BYTES 200

/* A policy that can be chosen. `kind` is "lane" or "kernel". */
struct choice_policy {
    const char *kind, *name, *sentence;
};
const struct choice_policy *choice_policies(int *count);

void choice_from_config(struct wire_choice *out, const struct config *c);

/* What a policy.set request gives, over *choice: 0, or -EINVAL with the reason and *choice as it
 * was. */
int choice_change(struct wire_choice *choice, const struct ctl_request *r, char *why);

/* `sm_threshold`: as the worker found it; 0: none. */
void choice_show(const struct wire_choice *c, uint64_t sm_threshold, struct ctl_choice *out);

#endif
