/* SPDX-License-Identifier: Apache-2.0
 *
 * Implements the rules of limits.h.
 */
#include "daemon/broker/config/limits.h"

#include <stdio.h>
#include <unistd.h>

#include "common/hostmem.h"
#include "daemon/broker/config/config_value.h"

bool limits_admin(uid_t uid) {
    return uid == 0 || uid == geteuid();
}

uint64_t limits_next(const struct config *c, uint64_t least) {
    uint64_t lowest = LIMITS_NONE;

    for (unsigned i = 0; i < c->rule_count; i++) {
        const struct config_rule *r = &c->rules[i];

        if (!r->group && r->id >= least && r->id < lowest) lowest = r->id;
    }
    return lowest;
}

/* Half of the machine's memory, read once. */
static uint64_t half_of_memory(void) {
    static uint64_t half;
    struct hostmem m;

    if (half) return half;
    hostmem_read(&m, "");
    half = hostmem_ram(&m) == HOSTMEM_NONE ? LIMITS_NONE : hostmem_ram(&m) / 2;
    return half;
}

/* Converts a configured value into a limit: 0 means unlimited, or the option's own default;
 * max_priority and max_weight are taken as they are. */
static uint64_t meaning(const struct config *c, int limit, uint64_t value) {
    switch (limit) {
    case LIMIT(user_jobs):
        if (value > 0) return value;
        return c->max_jobs > 3 ? c->max_jobs * 3 / 4 : 1;
    case LIMIT(user_pinned): return value ? value : half_of_memory();
    case LIMIT(max_priority):
    case LIMIT(max_weight): return value;
    default: return value ? value : LIMITS_NONE;
    }
}

static uint64_t everybodys(const struct config *c, int limit) {
    static const size_t offsets[] = {
#define OPTION(section, name, ...) offsetof(struct config, name),
#include "config/options.def"
#undef OPTION
    };

    return *(const uint64_t *)((const char *)c + offsets[CONFIG_LIMIT_FIRST + limit]);
}

static bool is_in(gid_t group, const gid_t *groups, int count) {
    for (int i = 0; i < count; i++)
        if (groups[i] == group) return true;
    return false;
}

static uint64_t resolve(const struct config *c, int limit, uid_t uid, const gid_t *groups,
                        int count) {
    uint64_t most = 0, value;
    bool admin = limits_admin(uid), grouped = false;

    for (unsigned i = 0; i < c->rule_count; i++) {
        const struct config_rule *r = &c->rules[i];

        if (!(r->given >> limit & 1)) continue;
        value = meaning(c, limit, r->values[limit]);
        if (!r->group && r->id == uid) return value;
        if (!r->group || !is_in(r->id, groups, count)) continue;
        if (!grouped || value > most) most = value;
        grouped = true;
    }
    if (admin) return LIMITS_NONE;
    return grouped ? most : meaning(c, limit, everybodys(c, limit));
}

void limits_resolve(const struct config *c, uid_t uid, const gid_t *groups, int count,
                    struct limits *out) {
    for (int i = 0; i < CONFIG_LIMITS; i++)
        out->value[i] = resolve(c, i, uid, groups, count);
}

const char *limits_text(const struct limits *l, int limit, char out[LIMITS_TEXT_BYTES]) {
    int count;
    const struct config_option *o = config_options(&count) + CONFIG_LIMIT_FIRST + limit;
    char value[32];

    config_value_print(o->type, l->value[limit], value, sizeof(value));
    snprintf(out, LIMITS_TEXT_BYTES, "%s = %s", o->name, value);
    return out;
}
