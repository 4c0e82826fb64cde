/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/device/soft/runtime/nest_state.h"

#include <stdlib.h>

struct nested *nest_state_member(struct nest *n, enum nested_kind kind) {
    struct nested *m = calloc(1, sizeof(*m));
    if (!m) return NULL;
    m->nest = n;
    m->kind = kind;
    m->open = 1;
    list_init(&m->line);
    list_init(&m->tail);
    list_append(&n->all, &m->all);
    return m;
}

struct nested *nest_state_child(struct nested *self, enum nested_kind kind) {
    struct nested *m = nest_state_member(self->nest, kind);
    if (!m) return NULL;
    m->parent = self;
    m->depth = self->depth + 1;
    return m;
}

void nest_state_ready(struct nested *m) {
    list_append(m->kind == NESTED_MARK ? &m->nest->marks : &m->nest->ready, &m->line);
}
