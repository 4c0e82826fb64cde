/* SPDX-License-Identifier: Apache-2.0
 *
 * Verbs of the scheduling policies.
 */
#include <stdio.h>
#include <string.h>

#include "daemon/broker/config/policies.h"
#include "daemon/broker/control/verb.h"
#include "daemon/broker/worker/board.h"

int verb_policy_list(struct asking *q) {
    const struct wire_policy_config *policy = &q->broker->changes.policy;
    int count;
    const struct policies_one *p = policies_all(&count);

    for (int i = 0; i < count; i++) {
        struct ctl_policy r = {0};
        const char *chosen = *p[i].kind == 'l' ? policy->lane : policy->kernel;

        snprintf(r.kind, sizeof(r.kind), "%s", p[i].kind);
        snprintf(r.name, sizeof(r.name), "%s", p[i].name);
        snprintf(r.sentence, sizeof(r.sentence), "%s", p[i].sentence);
        r.chosen = strcmp(chosen, p[i].name) == 0;
        ctl_msg_add(q->out, CTL_RECORD_POLICY, &r);
    }
    return asking_reply(q, 0);
}

static int show(struct asking *q, const struct wire_policy_config *policy, uint64_t sm_threshold) {
    struct ctl_policy_config r;

    policies_show(policy, sm_threshold, &r);
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
    struct wire_policy_config policy = b->changes.policy;
    char why[POLICIES_WHY_BYTES];
    int rc;

    if (!asking_admin(q))
        return asking_refuse(q, CTL_E_NOT_PERMITTED,
                             "only root and the daemon's user set the policy", "see salusctl(1)");
    if ((r->given & ~(1ull << CTL_A_dry_run)) == 0)
        return asking_refuse(q, CTL_E_BAD_REQUEST, "nothing is given that could be set",
                             "see 'salusctl policy show'");
    if (policies_change(&policy, r, why) < 0)
        return asking_refuse(q, CTL_E_BAD_REQUEST, why, "see 'salusctl policy list'");
    if (r->args.dry_run) return show(q, &policy, 0);
    if (!worker_ready(&b->worker))
        return asking_refuse(q, CTL_E_FAILED, "the GPU worker is not running",
                             "see 'salusctl status'");
    rc = changes_policy(&b->changes, &policy, q->requester);
    return rc < 0 ? rc : 1;
}
