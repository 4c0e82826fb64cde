/* SPDX-License-Identifier: Apache-2.0
 *
 * Verbs of the scheduling policies.
 */
#include <stdio.h>
#include <string.h>

#include "daemon/broker/config/choice.h"
#include "daemon/broker/control/verb.h"
#include "daemon/broker/worker/board.h"

int verb_policy_list(struct asking *q) {
    const struct wire_choice *choice = &q->broker->changes.choice;
    int count;
    const struct choice_policy *p = choice_policies(&count);

    for (int i = 0; i < count; i++) {
        struct ctl_policy r = {0};
        const char *chosen = *p[i].kind == 'l' ? choice->lane : choice->kernel;

        snprintf(r.kind, sizeof(r.kind), "%s", p[i].kind);
        snprintf(r.name, sizeof(r.name), "%s", p[i].name);
        snprintf(r.sentence, sizeof(r.sentence), "%s", p[i].sentence);
        r.chosen = strcmp(chosen, p[i].name) == 0;
        ctl_msg_add(q->out, CTL_RECORD_POLICY, &r);
    }
    return asking_reply(q, 0);
}

static int show(struct asking *q, const struct wire_choice *choice, uint64_t sm_threshold) {
    struct ctl_choice r;

    choice_show(choice, sm_threshold, &r);
    return asking_record(q, CTL_RECORD_CHOICE, &r);
}

int verb_policy_show(struct asking *q) {
    const struct broker *b = q->broker;
    struct wire_board board;
    bool read = board_read(b->worker.board, &board);

    return show(q, &b->changes.choice, read ? board.sm_threshold : 0);
}

int verb_policy_set(struct asking *q) {
    const struct ctl_request *r = q->request;
    struct broker *b = q->broker;
    struct wire_choice choice = b->changes.choice;
    char why[CHOICE_WHY_BYTES];
    int rc;

    if (!asking_admin(q))
        return asking_refuse(q, CTL_E_NOT_PERMITTED,
                             "only root and the daemon's user set the policy", "see salusctl(1)");
    if ((r->given & ~(1ull << CTL_A_dry_run)) == 0)
        return asking_refuse(q, CTL_E_BAD_REQUEST, "nothing is given that could be set",
                             "see 'salusctl policy show'");
    if (choice_change(&choice, r, why) < 0)
        return asking_refuse(q, CTL_E_BAD_REQUEST, why, "see 'salusctl policy list'");
    if (r->args.dry_run) return show(q, &choice, 0);
    if (!worker_ready(&b->worker))
        return asking_refuse(q, CTL_E_FAILED, "the GPU worker is not running",
                             "see 'salusctl status'");
    rc = changes_policy(&b->changes, &choice, q->requester);
    return rc < 0 ? rc : 1;
}
