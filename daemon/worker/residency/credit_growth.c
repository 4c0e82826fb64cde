/* SPDX-License-Identifier: Apache-2.0
 *
 * A request's way from its list to its answer.
 */
#include "daemon/worker/residency/credit_growth.h"

#include "daemon/worker/client.h"
#include "daemon/worker/residency/user_limits.h"

bool credit_growth_begin(struct memory_ask *a) {
    struct client *c = a->client;
    memory_ask_end(a);
    if (client_dead(c)) return false;
    a->p = credit_p(&c->credit, c->memory) + a->more_p;
    a->e = credit_e(c->memory) + a->more_e;
    bool lacks = credit_lacks(&c->credit, &a->p, &a->e);
    if (lacks) c->credit.bounded = !user_limits_allows(c, a->p, a->e);
    bool asks = lacks && !c->credit.bounded;
    a->state = asks ? MEMORY_ASK_TOLD : lacks ? MEMORY_ASK_DENIED : MEMORY_ASK_GRANTED;
    return asks;
}

static struct memory_ask *find_ask(struct client *c, enum memory_ask_state state) {
    for (int by = 0; by < MEMORY_ASK_NOBODY; by++)
        if (c->asks[by].state == state) return &c->asks[by];
    return NULL;
}

static void answer_told(struct memory_ask *a, enum sched_action_kind answer) {
    a->state = answer == SCHED_GRANT  ? MEMORY_ASK_GRANTED
               : answer == SCHED_WAIT ? MEMORY_ASK_WAITS
                                      : MEMORY_ASK_DENIED;
    if (a->state == MEMORY_ASK_GRANTED) credit_grant(&a->client->credit, a->p, a->e);
}

/* The memory exists only once all earlier moves are done; the client asks again then. */
static void answer_waiting(struct memory_ask *a, enum sched_action_kind answer) {
    struct client *c = a->client;
    a->state = answer == SCHED_GRANT ? MEMORY_ASK_NONE : MEMORY_ASK_DENIED;
    list_remove(&c->parts);
    list_append(&c->worker->work.parts, &c->parts);
}

void credit_growth_answer(struct client *c, enum sched_action_kind answer) {
    struct memory_ask *told = find_ask(c, MEMORY_ASK_TOLD);
    struct memory_ask *waits = told ? NULL : find_ask(c, MEMORY_ASK_WAITS);
    if (told) answer_told(told, answer);
    if (waits) answer_waiting(waits, answer);
}
