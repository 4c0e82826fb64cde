/* SPDX-License-Identifier: Apache-2.0
 *
 * What can be chosen: bounds and defaults.
 */
#include <errno.h>
#include <stdio.h>

#include "daemon/sched/core/parts.h"

#define CONFIG_CAP 16u           /* operations of a job on the device */
#define CONFIG_DUR_THRESHOLD 25u /* "empirically set the default to 2.5 %" (Orion, 5.1.1) */
#define CONFIG_SLACK 10u
#define CONFIG_LOOKAHEAD 64u
#define CONFIG_QUEUE 12u /* "a software queue size of 12 kernels" (Orion, 6.1) */

static int refuse(char *why, size_t why_bytes, const char *what, const char *name) {
    if (why) snprintf(why, why_bytes, "%s %s", what, name);
    return -EINVAL;
}

static bool is_flag(int value) {
    return value >= -1 && value <= 1;
}

/* The first number that is out of range, as a sentence; NULL when none is. */
static const char *out_of_range(const struct policy_config *c) {
    if (!is_flag(c->exclusive) || !is_flag(c->swap)) return "exclusive and swap are 0 or 1";
    if (c->lease_factor > SCHED_LEASE_FACTOR_MAX || c->lease_ns > SCHED_LEASE_NS_MAX)
        return "lease_factor is at most 1000, lease at most an hour";
    if (c->inflight_cap > SCHED_CAP_MAX) return "inflight_cap is at most 4096";
    if (c->preempt_ns > SCHED_PREEMPT_NS_MAX) return "preempt is at most 10 s";
    if (!is_flag(c->priorities) || !is_flag(c->by_class) || !is_flag(c->by_size))
        return "priorities, by_class and by_size are 0 or 1";
    if (c->sm_threshold > SCHED_SM_THRESHOLD_MAX) return "sm_threshold is at most 1048576";
    if (c->dur_threshold > SCHED_DUR_THRESHOLD_MAX)
        return "dur_threshold is at most 1000 thousandths";
    if (c->slack > SCHED_SLACK_MAX) return "slack is at most 1000 thousandths";
    if (c->lookahead > SCHED_LOOKAHEAD_MAX) return "lookahead is at most 8192";
    if (c->reef_queue > SCHED_QUEUE_MAX) return "reef_queue is at most 4096";
    return NULL;
}

static uint32_t or_default(uint32_t value, uint32_t other) {
    return value ? value : other;
}

static void fill(struct policy_config *c, const struct lane_policy *lane,
                 const struct policy *kernel) {
    snprintf(c->lane, sizeof(c->lane), "%s", lane->name);
    snprintf(c->kernel, sizeof(c->kernel), "%s", kernel->name);
    if (c->exclusive < 0) c->exclusive = lane->exclusive || kernel->exclusive;
    if (c->swap < 0) c->swap = 0;
    if (c->priorities < 0) c->priorities = kernel->priorities;
    if (c->by_class < 0) c->by_class = 1;
    if (c->by_size < 0) c->by_size = 1;
    c->overtakes = or_default(c->overtakes, SCHED_OVERTAKES);
    c->lease_factor = or_default(c->lease_factor, SCHED_LEASE_FACTOR);
    c->inflight_cap = or_default(c->inflight_cap, CONFIG_CAP);
    c->dur_threshold = or_default(c->dur_threshold, CONFIG_DUR_THRESHOLD);
    c->slack = or_default(c->slack, CONFIG_SLACK);
    c->lookahead = or_default(c->lookahead, CONFIG_LOOKAHEAD);
    c->reef_queue = or_default(c->reef_queue, CONFIG_QUEUE);
    if (!c->lease_ns) c->lease_ns = SCHED_LEASE_NS;
}

int config_resolve(const struct policy_config *in, struct policy_config *out,
                   const struct lane_policy **lane, const struct policy **kernel, char *why,
                   size_t why_bytes) {
    *out = *in;
    out->lane[SCHED_NAME_BYTES - 1] = out->kernel[SCHED_NAME_BYTES - 1] = 0;
    *lane = lane_policy_find(out->lane[0] ? out->lane : "fair");
    *kernel = policy_find(out->kernel[0] ? out->kernel : "streams");
    if (!*lane) return refuse(why, why_bytes, "there is no lane policy", out->lane);
    if (!*kernel) return refuse(why, why_bytes, "there is no kernel policy", out->kernel);
    const char *fault = out_of_range(out);
    if (fault) return refuse(why, why_bytes, "out of range:", fault);
    if ((*kernel)->exclusive && out->exclusive == 0)
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
