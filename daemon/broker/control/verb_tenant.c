/* SPDX-License-Identifier: Apache-2.0
 *
 * Verbs of users: what they have, and may have. A limit that is changed becomes part of the user's
 * own section in the configuration in effect, so that it counts over groups, and a reload ends it.
 */
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "daemon/broker/control/verb.h"
#include "daemon/broker/printable.h"

/* As CTL_KIND_OPT has it. */
static uint64_t shown(const struct user *u, int limit) {
    uint64_t value = u->limits.value[limit];

    return value == LIMITS_NONE ? 0 : value + 1;
}

static void report(const struct broker *b, const struct user *u, struct ctl_tenant *r) {
    *r = (struct ctl_tenant){.uid = u->uid,
                             .connections = users_connections(u),
                             .connections_limit = shown(u, LIMIT(user_connections)),
                             .handshakes = u->count[USERS_HANDSHAKE],
                             .handshakes_limit = shown(u, LIMIT(user_handshakes)),
                             .jobs = u->count[USERS_JOB],
                             .jobs_limit = shown(u, LIMIT(user_jobs)),
                             .controls = u->count[USERS_CONTROL],
                             .controls_limit = shown(u, LIMIT(user_controls)),
                             .pinned_bytes = u->pinned_bytes,
                             .pinned_limit_bytes = shown(u, LIMIT(user_pinned)),
                             .device_bytes = attachments_granted(&b->attachments, u->uid),
                             .device_limit_bytes = shown(u, LIMIT(user_device_memory)),
                             .operations = attachments_operations(&b->attachments, u->uid),
                             .operations_limit = shown(u, LIMIT(user_operations)),
                             .max_priority = shown(u, LIMIT(max_priority)),
                             .max_weight = shown(u, LIMIT(max_weight)),
                             .refused = u->refused};
}

int verb_tenant_list(struct asking *q) {
    const struct user *u;

    for (uint64_t least = q->request->args.after; (u = users_next(&q->broker->users, least));
         least = u->uid + 1ull) {
        struct ctl_tenant r;

        report(q->broker, u, &r);
        if (!ctl_msg_add(q->out, CTL_RECORD_TENANT, &r)) return asking_reply(q, least);
    }
    return asking_reply(q, 0);
}

/* ---- changing -------------------------------------------------------------------------------- */

/* Sets what "KEY=VALUE KEY=VALUE" says in the user's section: false with the reason. `text` is
 * taken apart. */
static bool take_limits(struct config *c, const char *section, char *text, char *why, size_t cap) {
    char *rest = text, *key;

    while ((key = strsep(&rest, " "))) {
        char *value = strchr(key, '=');

        if (!value) {
            snprintf(why, cap, "'%.60s' is not KEY=VALUE", key);
            return false;
        }
        *value++ = '\0';
        if (config_rules_set(c, section, key, value, why, cap) < 0) return false;
    }
    return true;
}

/* The user's record, also when it has no connection. */
static int show(struct asking *q, uid_t uid) {
    const struct user *u = users_find(&q->broker->users, uid);
    struct user absent = {.uid = uid};
    struct ctl_tenant r;

    limits_resolve(&q->broker->config, uid, NULL, 0, &absent.limits);
    report(q->broker, u ? u : &absent, &r);
    return asking_record(q, CTL_RECORD_TENANT, &r);
}

/* All that is given, or nothing. */
int verb_tenant_limit(struct asking *q) {
    const struct ctl_args *a = &q->request->args;
    struct config changed = q->broker->config;
    char section[40], text[CTL_ARG_BYTES], why[CONFIG_WHY_BYTES];

    if (!asking_admin(q))
        return asking_refuse(q, CTL_E_NOT_PERMITTED, "only root and the daemon's user set limits",
                             "see 'salusctl tenant list'");
    if (!ctl_msg_given(q->request, CTL_A_uid) || a->uid >= UINT32_MAX || !*a->limits)
        return asking_refuse(q, CTL_E_BAD_REQUEST, "a user and at least one limit are needed",
                             "see salusctl(1)");
    snprintf(section, sizeof(section), "user %u", (unsigned)a->uid);
    snprintf(text, sizeof(text), "%s", a->limits);
    if (!take_limits(&changed, section, text, why, sizeof(why)))
        return asking_refuse(q, CTL_E_BAD_REQUEST, why, "see section [users] of salus.conf(5)");
    memcpy(q->broker->config.rules, changed.rules, sizeof(changed.rules));
    q->broker->config.rule_count = changed.rule_count;
    users_reload(&q->broker->users);
    printable_copy(text, a->limits, sizeof(text) - 1);
    log_each("user", LOG_INFO, "event=limited uid=%u by=%u limits=\"%s\"", (unsigned)a->uid,
             (unsigned)q->uid, text);
    return show(q, (uid_t)a->uid);
}
