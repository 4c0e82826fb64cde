/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of policies, and one choice among them. Numbers are held to the bounds of the options
 * of the same meaning.
 */
#include "daemon/broker/choice.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

static const struct choice_policy policies[] = {
#define LANE_POLICY(name, sentence) {"lane", #name, sentence},
#define KERNEL_POLICY(name, sentence) {"kernel", #name, sentence},
#include "config/policies.def"
};

const struct choice_policy *choice_policies(int *count) {
    *count = (int)(sizeof(policies) / sizeof(policies[0]));
    return policies;
}

void choice_from_config(struct wire_choice *out, const struct config *c) {
    memset(out, 0, sizeof(*out));
    snprintf(out->lane, sizeof(out->lane), "%.15s", c->lane_policy);
    snprintf(out->kernel, sizeof(out->kernel), "%.15s", c->kernel_policy);
    out->exclusive = strcmp(c->lane_exclusive, "auto") == 0 ? -1 : *c->lane_exclusive == 'y';
    out->swap = *c->swap == 'y';
    out->max_lanes = (uint32_t)c->max_lanes;
    out->overtakes = (uint32_t)c->overtakes;
    out->lease_factor = (uint32_t)c->lease_factor;
    out->lease_ns = c->lease;
}

__attribute__((format(printf, 2, 3))) static int bad(char *why, const char *fmt, ...) {
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(why, CHOICE_WHY_BYTES, fmt, ap);
    va_end(ap);
    return -EINVAL;
}

static int take_policy(char out[16], const char *kind, const char *name, char *why) {
    for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++)
        if (strcmp(policies[i].kind, kind) == 0 && strcmp(policies[i].name, name) == 0) {
            snprintf(out, 16, "%.15s", name);
            return 0;
        }
    return bad(why, "there is no %s policy '%s'", kind, name);
}

/* The argument of that number, if given, within an option's bounds. */
static int take_number(uint64_t *out, const struct ctl_request *r, enum ctl_arg arg, uint64_t n,
                       const char *option, char *why) {
    const struct config_option *o = config_find(option, strlen(option));

    if (!ctl_msg_given(r, arg)) return 0;
    if (n < o->min || n > o->max)
        return bad(why, "%s: %llu is not from %llu to %llu", ctl_arg_info(arg)->name,
                   (unsigned long long)n, (unsigned long long)o->min, (unsigned long long)o->max);
    *out = n;
    return 0;
}

static int take_flags(struct wire_choice *c, const struct ctl_request *r, char *why) {
    const struct ctl_args *a = &r->args;

    if (ctl_msg_given(r, CTL_A_exclusive)) {
        if (a->exclusive < -1 || a->exclusive > 1) return bad(why, "exclusive: not 1, 0 or -1");
        c->exclusive = (int32_t)a->exclusive;
    }
    if (ctl_msg_given(r, CTL_A_swap)) {
        if (a->swap < 0 || a->swap > 1) return bad(why, "swap: not 1 or 0");
        c->swap = (int32_t)a->swap;
    }
    return 0;
}

int choice_change(struct wire_choice *choice, const struct ctl_request *r, char *why) {
    struct wire_choice c = *choice;
    const struct ctl_args *a = &r->args;
    uint64_t lanes = c.max_lanes, overtakes = c.overtakes, factor = c.lease_factor;
    int rc = 0;

    if (ctl_msg_given(r, CTL_A_lane)) rc = take_policy(c.lane, "lane", a->lane, why);
    if (rc == 0 && ctl_msg_given(r, CTL_A_kernel))
        rc = take_policy(c.kernel, "kernel", a->kernel, why);
    if (rc == 0) rc = take_flags(&c, r, why);
    if (rc == 0) rc = take_number(&lanes, r, CTL_A_max_lanes, a->max_lanes, "max_lanes", why);
    if (rc == 0) rc = take_number(&overtakes, r, CTL_A_overtakes, a->overtakes, "overtakes", why);
    if (rc == 0)
        rc = take_number(&factor, r, CTL_A_lease_factor, a->lease_factor, "lease_factor", why);
    if (rc == 0) rc = take_number(&c.lease_ns, r, CTL_A_lease_ns, a->lease_ns, "lease", why);
    if (rc < 0) return rc;
    c.max_lanes = (uint32_t)lanes;
    c.overtakes = (uint32_t)overtakes;
    c.lease_factor = (uint32_t)factor;
    *choice = c;
    return 0;
}

void choice_show(const struct wire_choice *c, struct ctl_choice *out) {
    memset(out, 0, sizeof(*out));
    snprintf(out->lane, sizeof(out->lane), "%.*s", (int)sizeof(c->lane), c->lane);
    snprintf(out->kernel, sizeof(out->kernel), "%.*s", (int)sizeof(c->kernel), c->kernel);
    snprintf(out->exclusive, sizeof(out->exclusive), "%s",
             c->exclusive < 0 ? "auto"
             : c->exclusive   ? "yes"
                              : "no");
    snprintf(out->swap, sizeof(out->swap), "%s", c->swap > 0 ? "yes" : "no");
    out->max_lanes = c->max_lanes;
    out->overtakes = c->overtakes;
    out->lease_factor = c->lease_factor;
    out->lease_ns = c->lease_ns;
}
