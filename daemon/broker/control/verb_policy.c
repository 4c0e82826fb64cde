/* SPDX-License-Identifier: Apache-2.0
 *
 * Verbs of the scheduling policies.
 */
#include <stdio.h>
#include <string.h>

#include "common/knobs.h"
#include "common/policies.h"
#include "daemon/broker/config/policy_config.h"
#include "daemon/broker/control/verb.h"
#include "daemon/broker/worker/board.h"

/* "by_class by_size": keys of policy.set that only this policy goes by. */
static void put_knobs(char *out, size_t cap, const struct policies_entry *p) {
    const struct knob *k;
    size_t n = 0;

    for (int i = 0; (k = knobs_at(i)); i++)
        if (strcmp(k->policy, p->name) == 0 && n < cap)
            n += (size_t)snprintf(out + n, cap - n, "%s%s", n ? " " : "", k->name);
}

int verb_policy_list(struct asking *q) {
    const struct policy_config *policy = &q->broker->changes.policy;
    const struct policies_entry *p;

    for (int i = 0; (p = policies_at(i)); i++) {
        struct ctl_policy r = {0};

        snprintf(r.kind, sizeof(r.kind), "%s", p->kernel ? "kernel" : "lane");
        snprintf(r.name, sizeof(r.name), "%s", p->name);
        snprintf(r.sentence, sizeof(r.sentence), "%s", p->sentence);
        put_knobs(r.knobs, sizeof(r.knobs), p);
        r.chosen = strcmp(p->kernel ? policy->kernel : policy->lane, p->name) == 0;
        ctl_msg_add(q->out, CTL_RECORD_POLICY, &r);
    }
    return asking_reply(q, 0);
}

static int show(struct asking *q, const struct policy_config *policy, uint64_t sm_threshold) {
    struct ctl_policy_config r;

    policy_config_show(policy, sm_threshold, &r);
    return asking_record(q, CTL_RECORD_POLICY_CONFIG, &r);
}

int verb_policy_show(struct asking *q) {
    const struct broker *b = q->broker;
    struct wire_board board;
    bool read = board_read(b->worker.board, &board);

    return show(q, &b->changes.policy, read ? board.sm_threshold : 0);
}

int verb_policy_set(struct asking *q) {
    const struct ctl_request *r = q->request;
    struct broker *b = q->broker;
    struct policy_config policy = b->changes.policy;
    char why[POLICY_CONFIG_WHY_BYTES];
    int err;

    if (!asking_admin(q))
        return asking_refuse(q, CTL_E_NOT_PERMITTED,
                             "only root and the daemon's user set the policy", "see salusctl(1)");
    if ((r->given & ~(1ull << CTL_A_dry_run)) == 0)
        return asking_refuse(q, CTL_E_BAD_REQUEST, "nothing is given that could be set",
                             "see 'salusctl policy show'");
    if (policy_config_change(&policy, r, why) < 0)
        return asking_refuse(q, CTL_E_BAD_REQUEST, why, "see 'salusctl policy list'");
    if (r->args.dry_run) return show(q, &policy, 0);
    if (!worker_ready(&b->worker))
        return asking_refuse(q, CTL_E_FAILED, "the GPU worker is not running",
                             "see 'salusctl status'");
    err = changes_policy(&b->changes, &policy, q->requester);
    return err < 0 ? err : 1;
}
