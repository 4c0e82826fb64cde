/* SPDX-License-Identifier: Apache-2.0
 *
 * Which value a name stands for, while a model is gone through. What a body defines ends with it,
 * and a function sees its own names alone: each call is a frame. Owner: the caller. It belongs to
 * one thread.
 */
#ifndef DAEMON_PREDICT_ONNX_SCOPE_H
#define DAEMON_PREDICT_ONNX_SCOPE_H

#include "daemon/predict/onnx/names.h"

#define SCOPE_NONE UINT32_MAX            /* nothing makes it */
#define SCOPE_LEFT_OUT (UINT32_MAX - 1u) /* an input of a function that its caller does without */

/* What a name was before. */
struct scope_undo {
    uint32_t name, value, frame;
};

struct scope {
    struct names names;
    uint32_t *bound;    /* by name: a value */
    uint32_t *bound_in; /* by name: the frame in which it is that */
    struct scope_undo *undo;
    uint32_t undo_count;
    uint32_t frame; /* 0: the file's own graph */
};

/* Of a model's names, for so many calls of scope_bind that are not undone. 0; or -ENOMEM and why.
 * Then too the caller finishes it. */
int scope_init(struct scope *s, struct bounded *memory, const Onnx__ModelProto *m, uint64_t binds,
               struct complaint *why);
void scope_finish(struct scope *s, struct bounded *memory);

uint32_t scope_find(const struct scope *s, const char *name);
void scope_bind(struct scope *s, const char *name, uint32_t value);
/* What was bound since scope_mark is as it was then. */
uint32_t scope_mark(const struct scope *s);
void scope_undo(struct scope *s, uint32_t mark);

#endif
