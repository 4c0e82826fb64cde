/* SPDX-License-Identifier: Apache-2.0
 *
 * Verbs of users: what they have, and may have.
 */
#include "daemon/broker/control/verb.h"

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
