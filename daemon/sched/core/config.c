/* SPDX-License-Identifier: Apache-2.0
 *
 * What a policy configuration comes to: the policies that it names, and every knob's value.
 */
#include "daemon/sched/core/config.h"

#include <errno.h>
#include <stdio.h>

#include "common/knobs.h"

static int refuse(char *why, size_t why_bytes, const char *what, const char *name) {
    if (why) snprintf(why, why_bytes, "%s %s", what, name);
    return -EINVAL;
}

static void fill(struct policy_config *c, const struct lane_policy *lane,
                 const struct policy *kernel) {
    knobs_fill(c);
    snprintf(c->lane, sizeof(c->lane), "%s", lane->name);
    snprintf(c->kernel, sizeof(c->kernel), "%s", kernel->name);
    if (c->exclusive < 0) c->exclusive = lane->exclusive || kernel->exclusive;
    if (c->priorities < 0) c->priorities = kernel->priorities;
}

int config_resolve(const struct policy_config *in, struct policy_config *out,
                   const struct lane_policy **lane, const struct policy **kernel, char *why,
                   size_t why_bytes) {
    int err = knobs_check_all(in, why, why_bytes);
    if (err) return err;
    *out = *in;
    *lane = lane_policy_find(in->lane[0] ? in->lane : "fair");
    *kernel = policy_find(in->kernel[0] ? in->kernel : "streams");
    if (!*lane) return refuse(why, why_bytes, "there is no lane policy", in->lane);
    if (!*kernel) return refuse(why, why_bytes, "there is no kernel policy", in->kernel);
    if ((*kernel)->exclusive && in->exclusive == 0)
        return refuse(why, why_bytes, (*kernel)->name,
                      "runs one job at a time: exclusive cannot be 0");
    fill(out, *lane, *kernel);
    return 0;
}

int sched_policy_check(const struct policy_config *policy, char *why, size_t why_bytes) {
    const struct lane_policy *lane;
    const struct policy *kernel;
    struct policy_config resolved;
    return config_resolve(policy, &resolved, &lane, &kernel, why, why_bytes);
}
