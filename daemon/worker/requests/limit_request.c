/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks for memory, then sets the limit.
 */
#include "daemon/worker/requests/limit_request.h"

#include "daemon/worker/client.h"
#include "daemon/worker/page/reply.h"
#include "daemon/worker/requests/memory_grant.h"

/* A device that applies no client's limits has its own. */
static uint64_t limit_in_force(const struct worker *w, const struct wire_limit *l) {
    return w->ops->settings || l->limit >= DESCRIPTION_LIMITS ? l->value
                                                              : w->description.limits[l->limit];
}

static void run(struct client *c) {
    const struct wire_limit *l = &c->limit;
    const uint64_t force = limit_in_force(c->worker, l);
    struct memory_ask *ask = &c->asks[MEMORY_ASK_LIMIT];
    int err = c->com.fault;
    ask->resume = run;
    if (!err) err = memory_grant_limit(c, l->limit, l->value);
    if (err == MEMORY_GRANT_WAITS) {
        c->throttled |= CLIENT_ASKS;
        return;
    }
    memory_ask_end(ask);
    c->throttled &= (uint8_t)~CLIENT_ASKS;
    reply_send(&c->com, &l->rec, err, &force, err ? 0 : sizeof(force));
}

void limit_request_take(struct client *c, const struct wire_limit *rec) {
    c->limit = *rec;
    run(c);
}
