/* SPDX-License-Identifier: Apache-2.0
 *
 * Each parameter has an option, an argument of policy.set and a field of its reply, all of the same
 * name.
 */
#include "daemon/broker/config/policy_choice.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/policy/parameters.h"
#include "daemon/policy/policies.h"

void policy_choice_read(struct policy_config *out, const struct config *c) {
    const struct parameter *k;

    parameters_clear(out);
    snprintf(out->lane, sizeof(out->lane), "%.15s", c->lane_policy);
    snprintf(out->kernel, sizeof(out->kernel), "%.15s", c->kernel_policy);
    snprintf(out->control, sizeof(out->control), "%.15s", c->control_policy);
    for (int i = 0; (k = parameters_at(i)); i++) {
        char text[CONFIG_TEXT_BYTES];
        int64_t value;

        config_show(c, config_find(k->option, strlen(k->option)), text, sizeof(text));
        if (parameters_parse(k, text, &value) == 0) parameters_put(out, k, value);
    }
}

/* ---- showing --------------------------------------------------------------------------------- */

static void show_parameter(const struct ctl_field *f, const struct policy_config *policy,
                           struct ctl_policy_config *out) {
    const struct parameter *k = parameters_find_field(f->name);
    void *at = (char *)out + f->offset;
    int64_t value;

    if (!k) return;
    value = parameters_get(policy, k);
    if (f->kind == CTL_KIND_TEXT)
        parameters_print(k, value, at, CTL_TEXT_BYTES);
    else
        memcpy(at, &value, sizeof(value));
}

void policy_choice_show(const struct policy_config *policy, uint64_t sm_threshold,
                        struct ctl_policy_config *out) {
    int count;
    const struct ctl_field *fields = ctl_fields(CTL_RECORD_POLICY_CONFIG, &count);

    memset(out, 0, sizeof(*out));
    snprintf(out->lane, sizeof(out->lane), "%.*s", POLICY_NAME_BYTES, policy->lane);
    snprintf(out->kernel, sizeof(out->kernel), "%.*s", POLICY_NAME_BYTES, policy->kernel);
    snprintf(out->control, sizeof(out->control), "%.*s", POLICY_NAME_BYTES, policy->control);
    for (int i = 0; i < count; i++)
        show_parameter(&fields[i], policy, out);
    out->sm_threshold_now = sm_threshold;
}

/* ---- requests -------------------------------------------------------------------------------- */

static int take_policy(char out[POLICY_NAME_BYTES], enum policies_grain grain, const char *name,
                       char *why) {
    if (!policies_find(grain, name)) {
        snprintf(why, POLICY_CHOICE_WHY_BYTES, "salusd has no %s policy '%.100s'",
                 policies_grain_name(grain), name);
        return -EINVAL;
    }
    snprintf(out, POLICY_NAME_BYTES, "%.15s", name);
    return 0;
}

/* Applies the argument, if it is given and is a parameter's. */
static int take_parameter(struct policy_config *c, const struct ctl_request *r, enum ctl_arg arg,
                          char *why) {
    const struct ctl_arg_info *a = ctl_arg_info(arg);
    const struct parameter *k = ctl_msg_given(r, arg) ? parameters_find_field(a->name) : NULL;
    int64_t value;
    int err;

    if (!k) return 0;
    memcpy(&value, (const char *)&r->args + a->offset, sizeof(value));
    err = parameters_check(k, value, why, POLICY_CHOICE_WHY_BYTES);
    if (err == 0) parameters_put(c, k, value);
    return err;
}

int policy_choice_change(struct policy_config *policy, const struct ctl_request *r, char *why) {
    struct policy_config c = *policy;
    int err = 0;

    if (ctl_msg_given(r, CTL_A_lane)) err = take_policy(c.lane, POLICIES_LANE, r->args.lane, why);
    if (err == 0 && ctl_msg_given(r, CTL_A_kernel))
        err = take_policy(c.kernel, POLICIES_KERNEL, r->args.kernel, why);
    if (err == 0 && ctl_msg_given(r, CTL_A_control))
        err = take_policy(c.control, POLICIES_CONTROL, r->args.control, why);
    for (enum ctl_arg arg = 0; err == 0 && arg < CTL_A_COUNT; arg++)
        err = take_parameter(&c, r, arg, why);
    if (err < 0) return err;
    *policy = c;
    return 0;
}
