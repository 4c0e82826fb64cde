/* SPDX-License-Identifier: Apache-2.0
 *
 * Verbs of users: their usage and their limits. A changed limit becomes part of the user's own
 * section in the configuration in effect, so that it overrides groups; a reload discards it.
 */
#include "daemon/broker/control/verb_user.h"

#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "daemon/broker/config/config_rules.h"
#include "daemon/broker/jobs/history.h"
#include "daemon/broker/printable.h"

/* The limit as a CTL_KIND_OPT. */
static uint64_t shown(const struct user *u, int limit) {
    uint64_t value = u->limits.value[limit];

    return value == LIMITS_NONE ? 0 : value + 1;
}

static void report(const struct broker *b, const struct user *u, struct ctl_user *r) {
    *r = (struct ctl_user){.uid = u->uid,
                           .ended = history_count(b->history, u->uid),
                           .own_limits = limits_next(&b->config, u->uid) == u->uid,
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
                           .device_bytes = users_device_bytes(&b->users, u->uid),
                           .device_limit_bytes = shown(u, LIMIT(user_device_memory)),
                           .operations = users_operations(&b->users, u->uid),
                           .operations_limit = shown(u, LIMIT(user_operations)),
                           .max_priority = shown(u, LIMIT(max_priority)),
                           .max_weight = shown(u, LIMIT(max_weight)),
                           .refused = u->refused};
}

/* Reports any user. The groups of a user without a connection are unknown. */
static void report_any(const struct broker *b, uid_t uid, struct ctl_user *r) {
    const struct user *u = users_find(&b->users, uid);
    struct user absent = {.uid = uid};

    limits_resolve(&b->config, uid, NULL, 0, &absent.limits);
    report(b, u ? u : &absent, r);
}

static uint64_t lower(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Returns the lowest user from `least` on who is connected, has limits of their own, or had a job
 * in the history; UINT64_MAX: none. */
static uint64_t next_known(const struct broker *b, uint64_t least) {
    const struct user *u = users_next(&b->users, least);

    return lower(u ? u->uid : UINT64_MAX,
                 lower(limits_next(&b->config, least), history_next_user(b->history, least)));
}

int verb_user_list(struct control_request *q) {
    const struct broker *b = q->broker;
    uint64_t uid = next_known(b, q->request->args.after);

    for (; uid != UINT64_MAX; uid = next_known(b, uid + 1)) {
        struct ctl_user r;

        report_any(b, (uid_t)uid, &r);
        if (!ctl_msg_add(q->out, CTL_RECORD_USER, &r)) return control_request_reply(q, uid);
    }
    return control_request_reply(q, 0);
}

/* ---- changing -------------------------------------------------------------------------------- */

/* Applies "KEY=VALUE KEY=VALUE" to the user's section. Returns false with the reason. Modifies
 * `text`. */
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

/* Sets all limits given, or none. */
int verb_user_limit(struct control_request *q) {
    const struct ctl_args *a = &q->request->args;
    struct config changed = q->broker->config;
    char section[40], text[CTL_ARG_BYTES], why[CONFIG_WHY_BYTES];
    struct ctl_user r;

    if (!control_request_admin(q))
        return control_request_refuse(q, CTL_E_NOT_PERMITTED,
                                      "only root and the daemon's user may set limits",
                                      "see 'salusctl user list'");
    if (!ctl_msg_given(q->request, CTL_A_uid) || a->uid >= UINT32_MAX || !*a->limits)
        return control_request_refuse(q, CTL_E_BAD_REQUEST,
                                      "the request needs a user and at least one limit",
                                      "see salusctl(1)");
    snprintf(section, sizeof(section), "user %u", (unsigned)a->uid);
    snprintf(text, sizeof(text), "%s", a->limits);
    if (!take_limits(&changed, section, text, why, sizeof(why)))
        return control_request_refuse(q, CTL_E_BAD_REQUEST, why,
                                      "see section [users] of salus.conf(5)");
    memcpy(q->broker->config.rules, changed.rules, sizeof(changed.rules));
    q->broker->config.rule_count = changed.rule_count;
    users_reload(&q->broker->users);
    printable_copy(text, a->limits, sizeof(text) - 1);
    log_each("user", LOG_INFO, "event=limited uid=%u by=%u limits=\"%s\"", (unsigned)a->uid,
             (unsigned)q->uid, text);
    report_any(q->broker, (uid_t)a->uid, &r);
    return control_request_record(q, CTL_RECORD_USER, &r);
}
