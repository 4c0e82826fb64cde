/* SPDX-License-Identifier: Apache-2.0
 *
 * The sweep. A ring is always drained, whatever its streams wait for, up to the client's quota of
 * queued operations: that is the backpressure, and one held stream never blocks another.
 */
#include "daemon/worker/front/chan.h"

#include <stdio.h>

#include "common/err.h"
#include "daemon/worker/client.h"
#include "daemon/worker/fault.h"
#include "daemon/worker/front/callback.h"
#include "daemon/worker/front/exec.h"
#include "daemon/worker/front/reply.h"
#include "proto/record.h"

#define CHAN_SHARE 64 /* records a client and sweep: no flood delays the neighbours by more */

static unsigned chan_drain(struct worker *w, struct client *c) {
    unsigned count = 0;
    uint64_t credit = c->rx.published;
    char why[256];
    while (count < CHAN_SHARE && client_accepts(c)) {
        int bytes = ring_pop(&c->rx, w->record, RING_RECORD_MAX);
        if (bytes == 0) break;
        count++;
        int err = bytes < 0 ? ERR_PROTOCOL : 0;
        if (err) snprintf(why, sizeof(why), "the ring is not as any client leaves it");
        if (!err) err = record_check(w->record, (uint32_t)bytes, why, sizeof(why));
        if (!err) err = exec_record(c, w->record, (uint32_t)bytes, why, sizeof(why));
        if (err) fault_expel(c, why);
    }
    if (c->rx.published != credit) c->published = true; /* one may wait for room */
    return count;
}

unsigned chan_sweep(struct worker *w) {
    unsigned count = 0;
    struct list *pos;
    list_each(pos, &w->clients) {
        struct client *c = list_entry(pos, struct client, link);
        count += chan_drain(w, c);
        if (!client_dead(c)) count += callback_collect(c);
    }
    return count;
}

void chan_idle(struct worker *w) {
    struct list *pos;
    list_each(pos, &w->clients) {
        struct client *c = list_entry(pos, struct client, link);
        if (c->rx.published == c->rx.next) continue;
        ring_publish(&c->rx);
        reply_wake(c);
    }
}

void chan_arm(struct worker *w) {
    struct list *pos;
    list_each(pos, &w->clients)
        doorbell_arm(&list_entry(pos, struct client, link)->sub->worker_sleeping);
}

void chan_disarm(struct worker *w) {
    struct list *pos;
    list_each(pos, &w->clients)
        doorbell_disarm(&list_entry(pos, struct client, link)->sub->worker_sleeping);
}

bool chan_ready(struct worker *w) {
    struct list *pos;
    list_each(pos, &w->clients) {
        struct client *c = list_entry(pos, struct client, link);
        if (client_accepts(c) && ring_ready(&c->rx)) return true;
        if (!client_dead(c) && callback_ready(c)) return true;
    }
    return false;
}
