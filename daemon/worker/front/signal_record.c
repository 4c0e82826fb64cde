/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes, opens, queries and closes signals.
 */
#include "daemon/worker/front/signal_record.h"

#include <errno.h>
#include <string.h>

#include "common/err.h"
#include "daemon/worker/client.h"
#include "daemon/worker/page/reply.h"

static int change(struct client *c, const struct wire_signal *rec) {
    struct list *all = &c->worker->signals.list;
    switch (rec->rec.op) {
    case WIRE_SIGNAL_MAKE: return signal_make(&c->signals, rec->signal, c->uid, all);
    case WIRE_SIGNAL_OPEN: return signal_open(&c->signals, rec->signal, c->uid, rec->key, all);
    case WIRE_SIGNAL_CLOSE: return signal_close(&c->signals, rec->signal);
    default: return signal_find(&c->signals, rec->signal) ? 0 : -ENOENT;
    }
}

static struct wire_signal_reply describe(const struct signal *s) {
    return (struct wire_signal_reply){.key = {s->key[0], s->key[1]},
                                      .done = !s->latest || s->latest->done};
}

void signal_record_run(struct client *c, const struct wire_signal *rec) {
    struct wire_signal_reply reply = {.done = 0};
    int err = client_dead(c) ? c->com.fault : change(c, rec);
    const struct signal *s = signal_find(&c->signals, rec->signal);
    if (!err && s) reply = describe(s);
    bool broken = s && s->latest && s->latest->broken;
    if (!err && broken && rec->rec.op == WIRE_SIGNAL_ASK) err = ERR_PEER_ENDED;
    reply_send(&c->com, &rec->rec, err, &reply, err ? 0 : sizeof(reply));
}
