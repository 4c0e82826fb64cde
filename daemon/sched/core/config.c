/* SPDX-License-Identifier: Apache-2.0
 *
 * Resolves a policy configuration: its named policies and the value of every parameter.
 */
#include "daemon/sched/core/config.h"

#include <errno.h>
#include <stdio.h>

#include "daemon/policy/parameters.h"
#include "daemon/sched/control/controller.h"
#include "daemon/sched/policy/lane_policy.h"
#include "daemon/sched/policy/policy.h"

static int refuse(char *why, size_t why_bytes, const char *what, const char *name) {
    if (why) snprintf(why, why_bytes, "%s %s", what, name);
    return -EINVAL;
}

static void fill(struct policy_config *c, const struct config_named *n) {
    parameters_fill(c);
    snprintf(c->lane, sizeof(c->lane), "%s", n->lane->name);
    snprintf(c->kernel, sizeof(c->kernel), "%s", n->kernel->name);
    snprintf(c->control, sizeof(c->control), "%s", n->control->name);
    if (c->exclusive < 0) c->exclusive = n->lane->exclusive || n->kernel->exclusive;
    if (c->priorities < 0) c->priorities = n->kernel->priorities;
}

int config_resolve(const struct policy_config *in, struct policy_config *out,
                   struct config_named *named, char *why, size_t why_bytes) {
    int err = parameters_check_all(in, why, why_bytes);
    if (err) return err;
    *out = *in;
    *named = (struct config_named){lane_policy_find(in->lane[0] ? in->lane : "fair"),
                                   policy_find(in->kernel[0] ? in->kernel : "streams"),
                                   controller_find(in->control[0] ? in->control : "open")};
    if (!named->lane) return refuse(why, why_bytes, "the scheduler has no lane policy", in->lane);
    if (!named->kernel)
        return refuse(why, why_bytes, "the scheduler has no kernel policy", in->kernel);
    if (!named->control)
        return refuse(why, why_bytes, "the scheduler has no control policy", in->control);
    if (named->kernel->exclusive && in->exclusive == 0)
        return refuse(why, why_bytes, named->kernel->name,
                      "runs one job at a time: exclusive cannot be 0");
    fill(out, named);
    return 0;
}

int sched_policy_check(const struct policy_config *policy, char *why, size_t why_bytes) {
    struct config_named named;
    struct policy_config resolved;
    return config_resolve(policy, &resolved, &named, why, why_bytes);
}
