/* SPDX-License-Identifier: Apache-2.0
 *
 * What can be chosen: bounds and defaults.
 */
#include <errno.h>
#include <stdio.h>

#include "daemon/sched/core/parts.h"

#define CHOICE_CAP 16u           /* operations of a job on the device */
#define CHOICE_DUR_THRESHOLD 25u /* "empirically set the default to 2.5 %" (Orion, 5.1.1) */
#define CHOICE_SLACK 10u
#define CHOICE_LOOKAHEAD 64u
#define CHOICE_QUEUE 12u /* "a software queue size of 12 kernels" (Orion, 6.1) */

static int choice_refuse(char *why, size_t why_bytes, const char *what, const char *name) {
    if (why) snprintf(why, why_bytes, "%s %s", what, name);
    return -EINVAL;
}

static bool choice_flag(int value) {
    return value >= -1 && value <= 1;
}

/* The first number that is out of range, as a sentence; NULL when none is. */
static const char *choice_fault(const struct sched_choice *c) {
    if (!choice_flag(c->exclusive) || !choice_flag(c->swap)) return "exclusive and swap are 0 or 1";
    if (c->lease_factor > SCHED_LEASE_FACTOR_MAX || c->lease_ns > SCHED_LEASE_NS_MAX)
        return "lease_factor is at most 1000, lease at most an hour";
    if (c->inflight_cap > SCHED_CAP_MAX) return "inflight_cap is at most 4096";
    if (c->preempt_ns > SCHED_PREEMPT_NS_MAX) return "preempt is at most 10 s";
    if (!choice_flag(c->priorities) || !choice_flag(c->by_class) || !choice_flag(c->by_size))
        return "priorities, by_class and by_size are 0 or 1";
    if (c->sm_threshold > SCHED_SM_THRESHOLD_MAX) return "sm_threshold is at most 1048576";
    if (c->dur_threshold > SCHED_DUR_THRESHOLD_MAX)
        return "dur_threshold is at most 1000 thousandths";
    if (c->slack > SCHED_SLACK_MAX) return "slack is at most 1000 thousandths";
    if (c->lookahead > SCHED_LOOKAHEAD_MAX) return "lookahead is at most 8192";
    if (c->reef_queue > SCHED_QUEUE_MAX) return "reef_queue is at most 4096";
    return NULL;
}

static uint32_t choice_or(uint32_t value, uint32_t other) {
    return value ? value : other;
}

static void choice_fill(struct sched_choice *c, const struct lane_policy *lane,
                        const struct policy *kernel) {
    snprintf(c->lane, sizeof(c->lane), "%s", lane->name);
    snprintf(c->kernel, sizeof(c->kernel), "%s", kernel->name);
    if (c->exclusive < 0) c->exclusive = lane->exclusive || kernel->exclusive;
    if (c->swap < 0) c->swap = 0;
    if (c->priorities < 0) c->priorities = kernel->priorities;
    if (c->by_class < 0) c->by_class = 1;
    if (c->by_size < 0) c->by_size = 1;
    c->overtakes = choice_or(c->overtakes, SCHED_OVERTAKES);
    c->lease_factor = choice_or(c->lease_factor, SCHED_LEASE_FACTOR);
    c->inflight_cap = choice_or(c->inflight_cap, CHOICE_CAP);
    c->dur_threshold = choice_or(c->dur_threshold, CHOICE_DUR_THRESHOLD);
    c->slack = choice_or(c->slack, CHOICE_SLACK);
    c->lookahead = choice_or(c->lookahead, CHOICE_LOOKAHEAD);
    c->reef_queue = choice_or(c->reef_queue, CHOICE_QUEUE);
    if (!c->lease_ns) c->lease_ns = SCHED_LEASE_NS;
}

int choice_resolve(const struct sched_choice *in, struct sched_choice *out,
                   const struct lane_policy **lane, const struct policy **kernel, char *why,
                   size_t why_bytes) {
    *out = *in;
    out->lane[SCHED_NAME_BYTES - 1] = out->kernel[SCHED_NAME_BYTES - 1] = 0;
    *lane = lane_policy_find(out->lane[0] ? out->lane : "fair");
    *kernel = policy_find(out->kernel[0] ? out->kernel : "streams");
    if (!*lane) return choice_refuse(why, why_bytes, "there is no lane policy", out->lane);
    if (!*kernel) return choice_refuse(why, why_bytes, "there is no kernel policy", out->kernel);
    const char *fault = choice_fault(out);
    if (fault) return choice_refuse(why, why_bytes, "out of range:", fault);
    if ((*kernel)->exclusive && out->exclusive == 0)
        return choice_refuse(why, why_bytes, (*kernel)->name,
                             "runs one job at a time: exclusive cannot be 0");
    choice_fill(out, *lane, *kernel);
    return 0;
}

int sched_choice_check(const struct sched_choice *choice, char *why, size_t why_bytes) {
    const struct lane_policy *lane;
    const struct policy *kernel;
    struct sched_choice resolved;
    return choice_resolve(choice, &resolved, &lane, &kernel, why, why_bytes);
}
