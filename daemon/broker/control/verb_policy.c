/* SPDX-License-Identifier: Apache-2.0
 *
 * Verbs of the scheduling policies.
 */
#include "daemon/broker/control/verb_policy.h"

#include <stdio.h>
#include <string.h>

#include "daemon/broker/config/policy_choice.h"
#include "daemon/broker/worker/board.h"
#include "daemon/policy/parameters.h"
#include "daemon/policy/policies.h"

/* Prints "by_class by_size": parameters of policy.set that only this policy uses. */
static void put_parameters(char *out, size_t cap, const struct policies_entry *p) {
    const struct parameter *k;
    size_t n = 0;

    for (int i = 0; (k = parameters_at(i)); i++)
        if (strcmp(k->policy, p->name) == 0 && n < cap)
            n += (size_t)snprintf(out + n, cap - n, "%s%s", n ? " " : "", k->name);
}

static const char *chosen_of(const struct policy_config *c, enum policies_grain grain) {
    switch (grain) {
    case POLICIES_LANE: return c->lane;
    case POLICIES_KERNEL: return c->kernel;
    default: return c->control;
    }
}

int verb_policy_list(struct control_request *q) {
    int err = 0;
    const struct gpu *g = control_request_gpu(q, &err);
    const struct policy_config *policy;
    const struct policies_entry *p;

    if (!g) return err;
    policy = &g->changes.policy;
    for (int i = 0; (p = policies_at(i)); i++) {
        struct ctl_policy r = {0};

        snprintf(r.kind, sizeof(r.kind), "%s", policies_grain_name(p->grain));
        snprintf(r.name, sizeof(r.name), "%s", p->name);
        snprintf(r.sentence, sizeof(r.sentence), "%s", p->sentence);
        put_parameters(r.parameters, sizeof(r.parameters), p);
        r.chosen = strcmp(chosen_of(policy, p->grain), p->name) == 0;
        ctl_msg_add(q->out, CTL_RECORD_POLICY, &r);
    }
    return control_request_reply(q, 0);
}

/* Describes whether the device has shares, as the worker reports. */
static const char *shares_of(const struct wire_board *board) {
    if (!board) return "unknown";
    return board->whole ? "no: controllers have only pauses" : "yes";
}

static int show(struct control_request *q, const struct gpu *g, const struct policy_config *policy,
                bool now) {
    struct wire_board copy;
    const struct wire_board *board = board_read(g->worker.board, &copy) ? &copy : NULL;
    struct ctl_policy_config r;

    policy_choice_show(policy, board && now ? board->sm_threshold : 0, &r);
    snprintf(r.shares, sizeof(r.shares), "%s", shares_of(board));
    r.gpu = g->number;
    return control_request_record(q, CTL_RECORD_POLICY_CONFIG, &r);
}

int verb_policy_show(struct control_request *q) {
    int err = 0;
    const struct gpu *g = control_request_gpu(q, &err);

    if (!g) return err;
    return show(q, g, &g->changes.policy, true);
}

/* ---- setting --------------------------------------------------------------------------------- */

/* Tells the workers of GPU `one`, or of all (NULL). The reply waits for the last worker's answer; a
 * worker that is not ready will start with the new policy. Returns 1 or -errno. */
static int tell(struct control_request *q, const struct gpu *one) {
    struct gpus *all = &q->broker->gpus;
    struct gpu *last = NULL;
    char why[POLICY_CHOICE_WHY_BYTES];
    int err = 0;

    for (uint32_t i = 0; i < all->count; i++)
        if ((!one || one == &all->items[i]) && worker_ready(&all->items[i].worker))
            last = &all->items[i];
    for (uint32_t i = 0; i < all->count && err == 0; i++) {
        struct gpu *g = &all->items[i];
        struct policy_config policy = g->changes.policy;

        if (one && one != g) continue;
        policy_choice_change(&policy, q->request, why); /* cannot fail: it was tried before */
        if (worker_ready(&g->worker))
            err = changes_policy(&g->changes, &policy, g == last ? q->requester : NULL);
        else
            changes_configure(&g->changes, &policy);
    }
    return err < 0 ? err : 1;
}

static bool sets_nothing(const struct ctl_request *r) {
    return (r->given & ~(1ull << CTL_A_dry_run | 1ull << CTL_A_gpu)) == 0;
}

/* A worker concerned can answer. */
static bool can_answer(const struct control_request *q, const struct gpu *one) {
    return one ? worker_ready(&one->worker) : gpus_any_ready(&q->broker->gpus);
}

int verb_policy_set(struct control_request *q) {
    const struct ctl_request *r = q->request;
    int err = 0;
    const struct gpu *g = control_request_gpu(q, &err);
    const struct gpu *one = ctl_msg_given(r, CTL_A_gpu) ? g : NULL;
    struct policy_config policy;
    char why[POLICY_CHOICE_WHY_BYTES];

    if (!g) return err;
    if (!control_request_admin(q))
        return control_request_refuse(q, CTL_E_NOT_PERMITTED,
                                      "only root and the daemon's user may set the policy",
                                      "see salusctl(1)");
    if (sets_nothing(r))
        return control_request_refuse(q, CTL_E_BAD_REQUEST, "the request names nothing to set",
                                      "see 'salusctl policy show'");
    policy = g->changes.policy;
    if (policy_choice_change(&policy, r, why) < 0)
        return control_request_refuse(q, CTL_E_BAD_REQUEST, why, "see 'salusctl policy list'");
    if (r->args.dry_run) return show(q, g, &policy, false);
    if (!can_answer(q, one))
        return control_request_refuse(q, CTL_E_FAILED, "the GPU worker is not running",
                                      "see 'salusctl status'");
    return tell(q, one);
}
