/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of policies, and one configuration of them. Numbers are held to the bounds of the
 * options of the same meaning.
 */
#include "daemon/broker/config/policies.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "common/units.h"
#include "daemon/broker/config/config_value.h"

static const struct policies_one policies[] = {
#define LANE_POLICY(name, sentence) {"lane", #name, sentence},
#define KERNEL_POLICY(name, sentence) {"kernel", #name, sentence},
#include "config/policies.def"
};

const struct policies_one *policies_all(int *count) {
    *count = (int)(sizeof(policies) / sizeof(policies[0]));
    return policies;
}

/* ---- styles: how each kind of number is kept in the configuration, and shown ------------------
 */

enum style { STYLE_SWITCH, STYLE_AUTO, STYLE_COUNT, STYLE_TIME, STYLE_PART };

static bool is_flag(enum style style) {
    return style == STYLE_SWITCH || style == STYLE_AUTO;
}

static int64_t config_number(const struct config *c, const char *option, enum style style) {
    const struct config_option *o = config_find(option, strlen(option));
    const char *at = (const char *)c + o->offset;
    uint64_t number;

    if (is_flag(style)) return *at == 'a' ? -1 : *at == 'y';
    memcpy(&number, at, sizeof(number));
    return (int64_t)number;
}

void policies_from_config(struct wire_policy_config *out, const struct config *c) {
    memset(out, 0, sizeof(*out));
    snprintf(out->lane, sizeof(out->lane), "%.15s", c->lane_policy);
    snprintf(out->kernel, sizeof(out->kernel), "%.15s", c->kernel_policy);
#define X(field, style, argument, shown, key, option, sentence) \
    out->field = config_number(c, #option, STYLE_##style);
    POLICY_KNOBS(X)
#undef X
}

static void show_text(char *out, int64_t value, enum style style) {
    if (style == STYLE_PART)
        units_print(UNITS_PART, (uint64_t)value, out, CTL_TEXT_BYTES);
    else
        snprintf(out, CTL_TEXT_BYTES, "%s", value < 0 ? "auto" : value ? "yes" : "no");
}

#define SHOW_TEXT(at, value, style) show_text(at, value, style)
#define SHOW_UINT(at, value, style) at = (uint64_t)(value)
#define SHOW_NS(at, value, style) at = (uint64_t)(value)

void policies_show(const struct wire_policy_config *c, uint64_t sm_threshold,
                   struct ctl_policy_config *out) {
    memset(out, 0, sizeof(*out));
    snprintf(out->lane, sizeof(out->lane), "%.*s", (int)sizeof(c->lane), c->lane);
    snprintf(out->kernel, sizeof(out->kernel), "%.*s", (int)sizeof(c->kernel), c->kernel);
#define X(field, style, argument, shown, key, option, sentence) \
    SHOW_##shown(out->field, c->field, STYLE_##style);
    POLICY_KNOBS(X)
#undef X
    out->sm_threshold_now = sm_threshold;
}

/* ---- requests -------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static int bad(char *why, const char *fmt, ...) {
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(why, POLICIES_WHY_BYTES, fmt, ap);
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

/* The argument of that number, if given, within its option's bounds. */
static int take_number(int64_t *out, const struct ctl_request *r, enum ctl_arg arg, int64_t value,
                       enum style style, const char *key, const char *option, char *why) {
    const struct config_option *o = config_find(option, strlen(option));
    char given[32], least[32], most[32];

    if (!ctl_msg_given(r, arg)) return 0;
    if (is_flag(style) && (value < (style == STYLE_AUTO ? -1 : 0) || value > 1))
        return bad(why, "%s: not yes or no%s", key, style == STYLE_AUTO ? " or auto" : "");
    if (!is_flag(style) && ((uint64_t)value < o->min || (uint64_t)value > o->max)) {
        config_value_print(o->type, (uint64_t)value, given, sizeof(given));
        config_value_print(o->type, o->min, least, sizeof(least));
        config_value_print(o->type, o->max, most, sizeof(most));
        return bad(why, "%s: %s is not from %s to %s", key, given, least, most);
    }
    *out = value;
    return 0;
}

int policies_change(struct wire_policy_config *policy, const struct ctl_request *r, char *why) {
    struct wire_policy_config c = *policy;
    const struct ctl_args *a = &r->args;
    int rc = 0;

    if (ctl_msg_given(r, CTL_A_lane)) rc = take_policy(c.lane, "lane", a->lane, why);
    if (rc == 0 && ctl_msg_given(r, CTL_A_kernel))
        rc = take_policy(c.kernel, "kernel", a->kernel, why);
#define X(field, style, argument, shown, key, option, sentence)                              \
    if (rc == 0)                                                                             \
        rc = take_number(&c.field, r, CTL_A_##field, (int64_t)a->field, STYLE_##style, #key, \
                         #option, why);
    POLICY_KNOBS(X)
#undef X
    if (rc < 0) return rc;
    *policy = c;
    return 0;
}
