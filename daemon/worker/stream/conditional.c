/* SPDX-License-Identifier: Apache-2.0
 *
 * Conditional nodes.
 */
#include "daemon/worker/stream/conditional.h"

#include <errno.h>
#include <stdlib.h>

int conditional_begin(struct stream *s) {
    if (!s->choice) {
        s->choice = malloc(sizeof(*s->choice));
        if (!s->choice) return -ENOMEM;
        body_init(&s->choice->body, s);
    }
    s->choice->turns = 0;
    stream_at(s, s->cursor)->state = OP_POSTED;
    body_due(&s->choice->body);
    return 0;
}

int conditional_enter(struct choice *c, struct graph *body) {
    const struct stream *s = c->body.parent;
    const struct op *node = stream_at(s, s->cursor);
    int err = body_enter(&c->body, body, node->number, node->iteration);
    if (!err) c->turns++;
    return err;
}
