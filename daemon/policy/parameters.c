/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of parameters made from policies.def, and the conversion of values to and from text.
 */
#include "daemon/policy/parameters.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/text/units.h"

#define STRING(text) #text
#define QUOTED(text) STRING(text)
#define ROW(option, policy, name, type, preset, least, most, sentence) \
    {#name,                                                            \
     QUOTED(PARAMETER_FIELD_##type(name)),                             \
     option,                                                           \
     policy,                                                           \
     PARAMETERS_##type,                                                \
     preset,                                                           \
     least,                                                            \
     most,                                                             \
     sentence,                                                         \
     offsetof(struct policy_config, PARAMETER_FIELD_##type(name))},

static const struct parameter table[] = {
#define PARAMETER(name, ...) ROW(#name, "", name, __VA_ARGS__)
#define PARAMETER_OF(policy, name, ...) ROW(#name, #policy, name, __VA_ARGS__)
#define PARAMETER_AS(option, name, ...) ROW(#option, "", name, __VA_ARGS__)
#include "daemon/policy/policies.def"
};

const struct parameter *parameters_at(int index) {
    return index < PARAMETERS ? &table[index] : NULL;
}

const struct parameter *parameters_find(const char *name) {
    for (int i = 0; i < PARAMETERS; i++)
        if (strcmp(table[i].name, name) == 0) return &table[i];
    return NULL;
}

const struct parameter *parameters_find_field(const char *field) {
    for (int i = 0; i < PARAMETERS; i++)
        if (strcmp(table[i].field, field) == 0) return &table[i];
    return NULL;
}

/* ---- struct members -------------------------------------------------------------------------- */

static bool is_flag(const struct parameter *k) {
    return k->type == PARAMETERS_SWITCH || k->type == PARAMETERS_AUTO;
}

int64_t parameters_get(const struct policy_config *c, const struct parameter *k) {
    const char *at = (const char *)c + k->offset;
    uint32_t narrow;
    int64_t wide;
    if (k->type == PARAMETERS_TIME) {
        memcpy(&wide, at, sizeof(wide));
        return wide;
    }
    memcpy(&narrow, at, sizeof(narrow));
    return is_flag(k) ? (int32_t)narrow : (int64_t)narrow;
}

bool parameters_put(struct policy_config *c, const struct parameter *k, int64_t value) {
    char *at = (char *)c + k->offset;
    uint32_t narrow = (uint32_t)value;
    if (k->type == PARAMETERS_TIME)
        memcpy(at, &value, sizeof(value));
    else
        memcpy(at, &narrow, sizeof(narrow));
    return parameters_get(c, k) == value;
}

bool parameters_same(const struct policy_config *a, const struct policy_config *b) {
    for (int i = 0; i < PARAMETERS; i++)
        if (parameters_get(a, &table[i]) != parameters_get(b, &table[i])) return false;
    return strncmp(a->lane, b->lane, sizeof(a->lane)) == 0 &&
           strncmp(a->kernel, b->kernel, sizeof(a->kernel)) == 0 &&
           strncmp(a->control, b->control, sizeof(a->control)) == 0;
}

int64_t parameters_unset(const struct parameter *k) {
    return is_flag(k) ? -1 : 0;
}

void parameters_clear(struct policy_config *c) {
    memset(c, 0, sizeof(*c));
    for (int i = 0; i < PARAMETERS; i++)
        parameters_put(c, &table[i], parameters_unset(&table[i]));
}

void parameters_fill(struct policy_config *c) {
    for (int i = 0; i < PARAMETERS; i++) {
        int64_t value = 0;
        if (parameters_get(c, &table[i]) != parameters_unset(&table[i])) continue;
        /* a unit test checks that presets parse and are within their bounds. */
        parameters_parse(&table[i], table[i].preset, &value);
        parameters_put(c, &table[i], value);
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

static enum units units_of(enum parameters_type type) {
    if (type == PARAMETERS_PART) return UNITS_PART;
    return type == PARAMETERS_TIME ? UNITS_TIME : UNITS_NONE;
}

int parameters_parse(const struct parameter *k, const char *text, int64_t *out) {
    uint64_t value = 0;
    if (is_flag(k)) {
        *out = strcmp(text, "yes") == 0 ? 1 : strcmp(text, "no") == 0 ? 0 : -1;
        return *out >= 0 || (k->type == PARAMETERS_AUTO && strcmp(text, "auto") == 0) ? 0 : -EINVAL;
    }
    int err = units_parse(units_of(k->type), text, &value);
    if (!err && value > INT64_MAX) err = -ERANGE;
    if (!err) *out = (int64_t)value;
    return err;
}

void parameters_print(const struct parameter *k, int64_t value, char *out, size_t cap) {
    if (is_flag(k))
        snprintf(out, cap, "%s", value < 0 ? "auto" : value ? "yes" : "no");
    else
        units_print(units_of(k->type), (uint64_t)value, out, cap);
}

const char *parameters_expected(enum parameters_type type) {
    switch (type) {
    case PARAMETERS_SWITCH: return "yes or no";
    case PARAMETERS_AUTO: return "yes, no or auto";
    case PARAMETERS_COUNT: return "a whole number";
    case PARAMETERS_TIME: return "a time such as 30s";
    case PARAMETERS_PART: return "a percentage such as 2.5%";
    }
    return "a value";
}

/* ---- bounds ---------------------------------------------------------------------------------- */

static bool within(const struct parameter *k, int64_t value) {
    if (is_flag(k)) return value >= (k->type == PARAMETERS_AUTO ? -1 : 0) && value <= 1;
    return value >= k->least && value <= k->most;
}

static int refuse(const struct parameter *k, int64_t value, char *why, size_t cap) {
    char given[PARAMETERS_TEXT_BYTES], least[PARAMETERS_TEXT_BYTES], most[PARAMETERS_TEXT_BYTES];
    if (why && is_flag(k)) {
        snprintf(why, cap, "%s: not %s", k->name, parameters_expected(k->type));
    } else if (why) {
        parameters_print(k, value, given, sizeof(given));
        parameters_print(k, k->least, least, sizeof(least));
        parameters_print(k, k->most, most, sizeof(most));
        snprintf(why, cap, "%s: %s is not from %s to %s", k->name, given, least, most);
    }
    return -EINVAL;
}

int parameters_check(const struct parameter *k, int64_t value, char *why, size_t cap) {
    return within(k, value) ? 0 : refuse(k, value, why, cap);
}

int parameters_check_all(const struct policy_config *c, char *why, size_t cap) {
    if (!memchr(c->lane, 0, sizeof(c->lane)) || !memchr(c->kernel, 0, sizeof(c->kernel)) ||
        !memchr(c->control, 0, sizeof(c->control))) {
        if (why) snprintf(why, cap, "a policy's name lacks its end");
        return -EINVAL;
    }
    for (int i = 0; i < PARAMETERS; i++) {
        const struct parameter *k = &table[i];
        int64_t value = parameters_get(c, k);
        bool small = !is_flag(k) && value >= 0 && value < k->least;
        if (value == parameters_unset(k) || small) continue;
        int err = parameters_check(k, value, why, cap);
        if (err) return err;
    }
    return 0;
}
