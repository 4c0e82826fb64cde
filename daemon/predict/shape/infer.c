/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/predict/shape/infer.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "daemon/predict/onnx/declared.h"
#include "daemon/predict/shape/fold.h"
#include "daemon/predict/shape/ops.h"

struct infer {
    struct netgraph *g;
    const struct infer_options *o;
    struct complaint *why;
    /* batch_was is 0 if the file has no number for the batch, or the same number. */
    int64_t batch, batch_was;
    const char *symbol; /* name of the batch in this file; NULL: none */
};

/* ---- finding the batch size ------------------------------------------------------------------ */

static bool is_input(const struct value *v) {
    return v->kind == VALUE_INPUT && !v->in_body && declared_rank(v) > 0;
}

static bool names_batch(const char *symbol) {
    return strcasestr(symbol, "batch") || strcmp(symbol, "N") == 0;
}

/* Finds a size whose name means batch, on any axis; else the first named size on axis 0 of an
 * input. */
static const char *batch_symbol(const struct netgraph *g) {
    const char *first = NULL;

    for (uint32_t i = 0; i < g->values_count; i++) {
        const struct value *v = &g->values[i];

        for (uint32_t k = 0; is_input(v) && k < declared_rank(v); k++) {
            const char *symbol = declared_size(v, k).symbol;

            if (symbol && names_batch(symbol)) return symbol;
            if (symbol && k == 0 && !first) first = symbol;
        }
    }
    return first;
}

/* The first number on axis 0 of an input; 0 if there is none. */
static int64_t batch_number(const struct netgraph *g) {
    for (uint32_t i = 0; i < g->values_count; i++)
        if (is_input(&g->values[i]) && declared_size(&g->values[i], 0).size > 0)
            return declared_size(&g->values[i], 0).size;
    return 0;
}

static void find_batch(struct infer *f) {
    int64_t number;

    f->symbol = batch_symbol(f->g);
    number = f->symbol ? 0 : batch_number(f->g);
    f->batch = f->o->batch ? f->o->batch : number ? number : 1;
    f->batch_was = number != f->batch ? number : 0;
}

/* ---- inputs -----------------------------------------------------------------------------------
 */

/* 0 if the options give this name no size. */
static int64_t named_size(const struct infer *f, const char *symbol) {
    for (uint32_t i = 0; i < f->o->sizes_count; i++)
        if (strcmp(f->o->sizes[i].name, symbol) == 0) return f->o->sizes[i].size;
    return f->symbol && strcmp(symbol, f->symbol) == 0 ? f->batch : 0;
}

/* -1 if the size is not known. */
static int64_t resolve(const struct infer *f, const struct value *v, uint32_t axis) {
    struct declared d = declared_size(v, axis);
    int64_t named = d.symbol ? named_size(f, d.symbol) : 0;

    if (d.symbol) return named ? named : -1;
    if (axis == 0 && (d.size < 0 || (f->batch_was && d.size == f->batch_was))) return f->batch;
    return d.size;
}

static int refuse_size(const struct infer *f, const struct value *v, uint32_t axis) {
    const char *symbol = declared_size(v, axis).symbol;

    if (symbol)
        return complaint_say(f->why,
                             "the model's input '%.60s' has a size '%.60s' without a value: give "
                             "it with --dim %.60s=NUMBER",
                             v->name, symbol, symbol);
    return complaint_say(f->why,
                         "the model's input '%.60s' has no size in axis %u: export the model with "
                         "a number or a name there",
                         v->name, axis);
}

static int take_input(struct infer *f, struct value *v) {
    int64_t rank = declared_rank(v);

    if (rank < 0) return 0; /* a sequence, or an input of a body */
    if (rank > SHAPE_RANK_MAX)
        return complaint_say(f->why, "the model's input '%.60s' has more than %u dimensions",
                             v->name, SHAPE_RANK_MAX);
    v->shape = (struct shape){.known = true, .rank = (uint32_t)rank};
    for (uint32_t i = 0; i < rank; i++) {
        v->shape.dim[i] = resolve(f, v, i);
        if (v->shape.dim[i] >= 0) continue;
        v->shape.known = false;
        return v->in_body ? 0 : refuse_size(f, v, i);
    }
    if (shape_sound(&v->shape)) return 0;
    v->shape.known = false;
    return complaint_say(
        f->why, "the model's input '%.60s' has more elements than a tensor can have", v->name);
}

/* ---- nodes ------------------------------------------------------------------------------------
 */

/* Uses the shape that the file declares. A shape for another batch is used only if axis 0 is that
 * batch. */
static void take_declared(const struct infer *f, struct value *v) {
    int64_t rank = declared_rank(v);
    struct shape s = {.known = true, .rank = (uint32_t)rank};

    if (rank < 0 || rank > SHAPE_RANK_MAX) return;
    if (f->batch_was && (rank == 0 || declared_size(v, 0).size != f->batch_was)) return;
    for (uint32_t i = 0; i < rank; i++) {
        s.dim[i] = resolve(f, v, i);
        if (s.dim[i] < 0) return;
    }
    if (shape_sound(&s)) v->shape = s;
}

static int take_node(struct infer *f, const struct node *n) {
    struct op_call c = {
        .g = f->g, .n = n, .why = f->why, .batch = f->batch, .batch_was = f->batch_was};
    const struct op *op = ops_find(n->op);
    bool known = op && !attribute_open(n) && op->shape(&c);

    if (c.err) return c.err;
    if (known) return fold_node(&c);
    for (uint32_t i = 0; i < n->outputs_count; i++) {
        struct value *v = netgraph_output(f->g, n, i);

        if (!v) continue;
        v->shape.known = false;
        take_declared(f, v);
        if (v->type == 0) v->type = op_type(&c, 0);
    }
    return 0;
}

int infer_shapes(struct netgraph *g, const struct infer_options *o, int64_t *batch,
                 struct complaint *why) {
    struct infer f = {.g = g, .o = o, .why = why};
    int err = 0;

    find_batch(&f);
    *batch = f.batch;
    for (uint32_t i = 0; i < g->values_count && !err; i++)
        if (g->values[i].kind == VALUE_INPUT) err = take_input(&f, &g->values[i]);
    for (uint32_t i = 0; i < g->nodes_count && !err; i++)
        err = take_node(&f, &g->nodes[i]);
    return err;
}
