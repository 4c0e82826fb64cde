/* SPDX-License-Identifier: Apache-2.0
 *
 * The scope of names while a model is walked: which value a name denotes. Names defined in a body
 * end with it. A function sees only its own names, so each call is a frame. Owner: the caller. Not
 * thread-safe.
 */
#ifndef DAEMON_PREDICT_ONNX_SCOPE_H
#define DAEMON_PREDICT_ONNX_SCOPE_H

#include "daemon/predict/onnx/names.h"

#define SCOPE_NONE UINT32_MAX            /* the name has no value */
#define SCOPE_LEFT_OUT (UINT32_MAX - 1u) /* a function's input that the caller omits */

/* Previous binding of a name. */
struct scope_undo {
    uint32_t name, value, frame;
};

struct scope {
    struct names names;
    uint32_t *bound;    /* indexed by name: the value */
    uint32_t *bound_in; /* indexed by name: the frame in which the binding is valid */
    struct scope_undo *undo;
    uint32_t undo_count;
    uint32_t frame; /* 0: the main graph */
};

/* Allocates a scope for a model's names and at most `binds` calls of scope_bind that are not
 * undone. Returns 0, or -ENOMEM with the reason in `why`; the caller finishes the scope in either
 * case. */
int scope_init(struct scope *s, struct bounded *memory, const Onnx__ModelProto *m, uint64_t binds,
               struct complaint *why);
void scope_finish(struct scope *s, struct bounded *memory);

uint32_t scope_find(const struct scope *s, const char *name);
void scope_bind(struct scope *s, const char *name, uint32_t value);
/* scope_undo reverts all bindings since scope_mark. */
uint32_t scope_mark(const struct scope *s);
void scope_undo(struct scope *s, uint32_t mark);

#endif
