/* SPDX-License-Identifier: Apache-2.0
 *
 * A key is its argument's name without the unit, which is part of the value.
 */
#include "daemon/ctl/cli/keys.h"

#include <string.h>

#include "common/text/units.h"
#include "daemon/policy/reason.h"

static bool parse(enum ctl_style style, const char *text, int64_t *out) {
    bool negative = style == CTL_STYLE_SIGNED && *text == '-';
    uint64_t n;

    if (style == CTL_STYLE_SWITCH || style == CTL_STYLE_AUTO) {
        *out = strcmp(text, "yes") == 0 ? 1 : strcmp(text, "no") == 0 ? 0 : -1;
        return *out >= 0 || (style == CTL_STYLE_AUTO && strcmp(text, "auto") == 0);
    }
    if (style == CTL_STYLE_SLO_OF) return (*out = reason_find_slo_of(text)) >= 0;
    enum units units = style == CTL_STYLE_TIME   ? UNITS_TIME
                       : style == CTL_STYLE_PART ? UNITS_PART
                                                 : UNITS_NONE;
    if (units_parse(units, text + negative, &n) < 0 || n > INT64_MAX) return false;
    *out = negative ? -(int64_t)n : (int64_t)n;
    return true;
}

static const char *expected(enum ctl_style style) {
    switch (style) {
    case CTL_STYLE_COUNT:
    case CTL_STYLE_SIGNED: return "a whole number";
    case CTL_STYLE_TIME: return "a time; give a number and a unit, such as 30s or 5min";
    case CTL_STYLE_PART: return "a percentage such as 2.5%";
    case CTL_STYLE_SWITCH: return "yes or no";
    case CTL_STYLE_AUTO: return "yes, no or auto";
    case CTL_STYLE_SLO_OF: return "mean, p50, p95 or p99";
    default: return "a value";
    }
}

static bool is_key(const struct ctl_request *r, enum ctl_arg arg) {
    return ctl_verb_takes(r->verb, arg) && ctl_arg_info(arg)->style < CTL_STYLE_PAIRS;
}

/* Length of the key, a prefix of the argument's name. */
static size_t key_bytes(const char *name) {
    size_t n = strlen(name);

    return n > 3 && strcmp(name + n - 3, "_ns") == 0 ? n - 3 : n;
}

/* Returns the verb's option of that name; NULL: there is none. */
static const char *option_named(const struct ctl_request *r, const char *word, size_t n) {
    for (enum ctl_arg arg = 0; arg < CTL_A_COUNT; arg++) {
        const struct ctl_arg_info *a = ctl_arg_info(arg);

        if (a->style == CTL_STYLE_OPTION && ctl_verb_takes(r->verb, arg) && strlen(a->name) == n &&
            memcmp(a->name, word, n) == 0)
            return a->name;
    }
    return NULL;
}

static int unknown(struct cli *c, const struct ctl_request *r, const char *word, size_t n) {
    const char *comma = "", *option = option_named(r, word, n);

    if (option)
        return cli_fail(c, CLI_USAGE, "'%s' is an option and not a key: write --%s %s", option,
                        option, word + n + 1);
    fprintf(c->err, "salusctl: unknown key '%.*s'; the keys are", (int)n, word);
    for (enum ctl_arg arg = 0; arg < CTL_A_COUNT; arg++) {
        const char *name = ctl_arg_info(arg)->name;

        if (!is_key(r, arg)) continue;
        fprintf(c->err, "%s %.*s", comma, (int)key_bytes(name), name);
        comma = ",";
    }
    fputc('\n', c->err);
    return CLI_USAGE;
}

/* Takes a pair without checking its key, which the daemon does. */
static int take_pair(struct cli *c, const char *word, struct ctl_request *r) {
    char joined[CTL_ARG_BYTES];
    int n = snprintf(joined, sizeof(joined), "%s%s%s", r->args.limits, *r->args.limits ? " " : "",
                     word);

    if (n >= (int)sizeof(joined))
        return cli_fail(
            c, CLI_USAGE,
            "the limits have more than %d characters at '%s'; set them with several commands",
            CTL_ARG_BYTES - 1, word);
    ctl_msg_put_text(r, CTL_A_limits, joined);
    return CLI_OK;
}

int keys_take(struct cli *c, const char *word, struct ctl_request *r) {
    const char *equals = strchr(word, '=');
    size_t n = equals ? (size_t)(equals - word) : 0;

    if (!equals) return cli_fail(c, CLI_USAGE, "'%s' is not of the form KEY=VALUE", word);
    if (ctl_verb_takes(r->verb, CTL_A_limits)) return take_pair(c, word, r);
    for (enum ctl_arg arg = 0; arg < CTL_A_COUNT; arg++) {
        const struct ctl_arg_info *a = ctl_arg_info(arg);
        int64_t value;

        if (!is_key(r, arg) || key_bytes(a->name) != n || memcmp(a->name, word, n) != 0) continue;
        if (!parse(a->style, equals + 1, &value))
            return cli_fail(c, CLI_USAGE, "%.*s: '%s' is not %s", (int)n, a->name, equals + 1,
                            expected(a->style));
        ctl_msg_put(r, arg, value);
        return CLI_OK;
    }
    return unknown(c, r, word, n);
}
