/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/predict/onnx/scope.h"

#include <string.h>

int scope_init(struct scope *s, struct bounded *memory, const Onnx__ModelProto *m, uint64_t binds,
               struct complaint *why) {
    int err;

    *s = (struct scope){0};
    err = names_take(&s->names, memory, m, why);
    if (err) return err;
    if (binds >= UINT32_MAX) return complaint_memory(why);
    s->bound = bounded_alloc(memory, s->names.count, sizeof(*s->bound));
    s->bound_in = bounded_alloc(memory, s->names.count, sizeof(*s->bound_in));
    s->undo = bounded_alloc(memory, binds, sizeof(*s->undo));
    if (!s->bound || !s->bound_in || !s->undo) return complaint_memory(why);
    memset(s->bound, 0xff, s->names.count * sizeof(*s->bound));
    return 0;
}

void scope_finish(struct scope *s, struct bounded *memory) {
    names_finish(&s->names, memory);
    bounded_free(memory, s->bound);
    bounded_free(memory, s->bound_in);
    bounded_free(memory, s->undo);
    *s = (struct scope){0};
}

uint32_t scope_find(const struct scope *s, const char *name) {
    uint32_t number = names_find(&s->names, name);

    return s->bound_in[number] == s->frame ? s->bound[number] : SCOPE_NONE;
}

void scope_bind(struct scope *s, const char *name, uint32_t value) {
    uint32_t number = names_find(&s->names, name);

    s->undo[s->undo_count++] = (struct scope_undo){number, s->bound[number], s->bound_in[number]};
    s->bound[number] = value;
    s->bound_in[number] = s->frame;
}

uint32_t scope_mark(const struct scope *s) {
    return s->undo_count;
}

void scope_undo(struct scope *s, uint32_t mark) {
    while (s->undo_count > mark) {
        const struct scope_undo *u = &s->undo[--s->undo_count];

        s->bound[u->name] = u->value;
        s->bound_in[u->name] = u->frame;
    }
}
