/* SPDX-License-Identifier: Apache-2.0
 *
 * Sections [user NAME] and [group NAME]: limits of some users. Names are resolved to numbers while
 * the configuration is read, so that the serving broker looks nothing up.
 */
#include "daemon/broker/config/config_rules.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/broker/config/config_value.h"

/* Returns the text after the word; NULL: the section does not begin with it. */
static const char *after_word(const char *section, const char *word) {
    size_t n = strlen(word);

    if (strncmp(section, word, n) != 0 || section[n] != ' ') return NULL;
    section += n;
    return section + strspn(section, " ");
}

bool config_rules_is(const char *section) {
    return after_word(section, "user") || after_word(section, "group");
}

static int look_up(bool group, const char *name, uint32_t *id) {
    const struct passwd *user = NULL;
    const struct group *g = NULL;

    if (*name >= '0' && *name <= '9') {
        uint64_t n;
        int err = config_value_parse(CONFIG_COUNT, name, &n);

        *id = (uint32_t)n;
        return err < 0 || n >= UINT32_MAX ? -EINVAL : 0;
    }
    if (group)
        g = getgrnam(name);
    else
        user = getpwnam(name);
    if (!g && !user) return -EINVAL;
    *id = group ? g->gr_gid : user->pw_uid;
    return 0;
}

/* Returns the section's rule, or a new one; NULL with the reason in `why`. */
static struct config_rule *find(struct config *c, bool group, const char *name, char *why,
                                size_t cap) {
    const char *kind = group ? "group" : "user";
    uint32_t id;

    if (!*name || strlen(name) >= CONFIG_RULE_NAME_BYTES || look_up(group, name, &id) < 0) {
        snprintf(
            why, cap,
            "section [%s %.60s]: this machine has no such %s; correct the name, or give the number",
            kind, name, kind);
        return NULL;
    }
    for (unsigned i = 0; i < c->rule_count; i++)
        if (c->rules[i].group == group && c->rules[i].id == id) return &c->rules[i];
    if (c->rule_count == CONFIG_RULES_MAX) {
        snprintf(why, cap,
                 "section [%s %s]: the configuration has more than %d sections of users and "
                 "groups; remove one",
                 kind, name, CONFIG_RULES_MAX);
        return NULL;
    }
    c->rules[c->rule_count] = (struct config_rule){.group = group, .id = id};
    strcpy(c->rules[c->rule_count].name, name);
    return &c->rules[c->rule_count++];
}

int config_rules_set(struct config *c, const char *section, const char *name, const char *value,
                     char *why, size_t cap) {
    const char *user = after_word(section, "user"), *group = after_word(section, "group");
    const struct config_option *o = config_find(name, strlen(name));
    int count, place = o ? (int)(o - config_options(&count)) - CONFIG_LIMIT_FIRST : -1, err;
    struct config_rule *rule;
    uint64_t number;

    if (place < 0 || place >= CONFIG_LIMITS) {
        snprintf(why, cap,
                 "key '%.64s' cannot be set in [%.50s]; the sections of users and groups take keys "
                 "of [users]",
                 name, section);
        return -EINVAL;
    }
    err = config_parse(o, value, &number, why, cap);
    rule = err < 0 ? NULL : find(c, !user, user ? user : group, why, cap);
    if (!rule) return -EINVAL;
    rule->values[place] = number;
    rule->given |= 1u << place;
    return 0;
}

void config_rules_print(const struct config *c, FILE *out) {
    int count;
    const struct config_option *o = config_options(&count) + CONFIG_LIMIT_FIRST;

    for (unsigned i = 0; i < c->rule_count; i++) {
        const struct config_rule *r = &c->rules[i];

        fprintf(out, "\n[%s %s]\n", r->group ? "group" : "user", r->name);
        for (int k = 0; k < CONFIG_LIMITS; k++) {
            char value[64];

            if (!(r->given >> k & 1)) continue;
            config_value_print(o[k].type, r->values[k], value, sizeof(value));
            fprintf(out, "%s = %s\n", o[k].name, value);
        }
    }
}
