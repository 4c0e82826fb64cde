/* SPDX-License-Identifier: Apache-2.0
 *
 * The growing code of a function, and the error that ends the work.
 */
#include "daemon/device/soft/lower/lowering.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/err.h"

/* Characters of a name in a message. C++ and Numba have longer names, which would fill it. */
#define NAME_SHOWN 100

void lowering_fail(struct lowering *l, int err, const char *fmt, ...) {
    if (l->err) return;
    l->err = err;
    if (!l->why_bytes) return;
    char what[128];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof(what), fmt, ap);
    va_end(ap);
    if (l->inst)
        snprintf(l->why, l->why_bytes, "%s at line %u of %.*s: %s", l->inst->text, l->inst->line,
                 NAME_SHOWN, l->func->name, what);
    else
        snprintf(l->why, l->why_bytes, "%.*s: %s", NAME_SHOWN, l->func->name, what);
}

void lowering_refuse(struct lowering *l) {
    lowering_fail(l, ERR_ILLEGAL_INSTRUCTION, "not supported by the software GPU");
}

void lowering_emit(struct lowering *l, const struct code_inst *c) {
    if (l->err) return;
    if (l->count == l->room) {
        uint32_t room = l->room ? l->room * 2 : 256;
        struct code_inst *insts = realloc(l->insts, room * sizeof(*insts));
        if (!insts) {
            lowering_fail(l, -ENOMEM, "out of memory");
            return;
        }
        l->insts = insts;
        l->room = room;
    }
    l->insts[l->count++] = *c;
}

int32_t lowering_temp(struct lowering *l, uint32_t bytes) {
    if (l->reg_count == l->reg_room) {
        uint32_t room = l->reg_room ? l->reg_room * 2 : 64;
        uint8_t *widths = realloc(l->reg_bytes, room);
        if (!widths) {
            lowering_fail(l, -ENOMEM, "out of memory");
            return 0;
        }
        l->reg_bytes = widths;
        l->reg_room = room;
    }
    l->reg_bytes[l->reg_count] = (uint8_t)bytes;
    return (int32_t)l->reg_count++;
}

struct code_extra *lowering_extra(struct lowering *l, struct code_inst *c, uint32_t defs,
                                  uint32_t uses) {
    struct code_extra *x = arena_calloc(l->arena, 1, sizeof(*x));
    struct code_elem *elems = arena_calloc(l->arena, (size_t)defs + uses + 1, sizeof(*elems));
    if (!x || !elems) {
        lowering_fail(l, -ENOMEM, "out of memory");
        return NULL;
    }
    x->defs = elems;
    x->uses = elems + defs;
    x->func = -1;
    c->extra = x;
    return x;
}
