/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/predict/onnx/netgraph_build.h"

#include <errno.h>
#include <string.h>

#include "daemon/predict/onnx/amounts.h"
#include "daemon/predict/onnx/scope.h"
#include "daemon/predict/onnx/tensor.h"

struct build {
    struct netgraph *g;
    struct complaint *why;
    struct functions functions;
    struct scope scope;
    const void **declared;   /* indexed by name: value_info of the file's main graph */
    const struct call *call; /* NULL: in the main graph */
    unsigned depth, calls;   /* depth of bodies, depth of calls */
    int err;
};

static const char *text(const char *s) {
    return s ? s : "";
}

/* ---- values ---------------------------------------------------------------------------------- */

/* The file's declarations apply to values of the main graph, not to values within a function
 * call. */
static void name_value(const struct build *b, struct value *v, const char *s) {
    uint32_t name = names_find(&b->scope.names, s);

    v->name = b->scope.names.at[name];
    v->declared = b->call ? NULL : b->declared[name];
}

static uint32_t add_value(struct build *b, const char *s, enum value_kind kind) {
    uint32_t number = b->g->values_count++;
    struct value *v = &b->g->values[number];

    *v = (struct value){.kind = kind, .in_body = b->depth > 0};
    name_value(b, v, s);
    scope_bind(&b->scope, s, number);
    return number;
}

static const Onnx__TypeProto__Tensor *tensor_type(const Onnx__ValueInfoProto *p) {
    return p->type && p->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE
               ? p->type->tensor_type
               : NULL;
}

static void add_input(struct build *b, const Onnx__ValueInfoProto *p) {
    const Onnx__TypeProto__Tensor *t = tensor_type(p);
    uint32_t was = scope_find(&b->scope, p->name);
    struct value *v;

    /* Old models list their weights among the inputs as well. */
    if (b->depth == 0 && was != SCOPE_NONE && b->g->values[was].kind == VALUE_WEIGHT) return;
    v = &b->g->values[add_value(b, p->name, VALUE_INPUT)];
    v->declared = t ? t->shape : NULL;
    v->type = t ? t->elem_type : 0;
}

static int add_weight(struct build *b, const Onnx__TensorProto *p) {
    struct value *v = &b->g->values[add_value(b, p->name, VALUE_WEIGHT)];

    v->type = p->data_type;
    return tensor_read(&b->g->memory, p, &v->shape, &v->data, &v->data_count, b->why);
}

/* A sparse tensor without values has no name, and no node reads it. */
static int add_sparse_weight(struct build *b, const Onnx__SparseTensorProto *p) {
    struct value *v;

    if (!p->values) return 0;
    v = &b->g->values[add_value(b, p->values->name, VALUE_WEIGHT)];
    v->type = p->values->data_type;
    return tensor_read_sparse(p, &v->shape, b->why);
}

static void declare(struct build *b, Onnx__ValueInfoProto *const *infos, size_t count) {
    for (size_t i = 0; i < count && !b->call; i++) {
        const Onnx__TypeProto__Tensor *t = tensor_type(infos[i]);

        if (t && t->shape) b->declared[names_find(&b->scope.names, infos[i]->name)] = t->shape;
    }
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static uint32_t add_ref(struct build *b, uint32_t value) {
    b->g->refs[b->g->refs_count] = value == SCOPE_LEFT_OUT ? NETGRAPH_NONE : value;
    return b->g->refs_count++;
}

static void add_graph(struct build *b, const Onnx__GraphProto *p);

/* Adds a body and records its outputs in `refs`. */
/* NOLINTNEXTLINE(misc-no-recursion) */
static void add_body(struct build *b, const Onnx__GraphProto *p, struct node *n) {
    uint32_t mark = scope_mark(&b->scope);

    n->has_body = true;
    if (++b->depth > NETGRAPH_BODIES_MAX) {
        b->err = complaint_say(b->why, "its graphs lie more than %u deep within each other",
                               NETGRAPH_BODIES_MAX);
        return;
    }
    add_graph(b, p);
    if (!b->err && n->body_count == 0) {
        n->body = b->g->refs_count;
        n->body_count = (uint32_t)p->n_output;
        for (size_t i = 0; i < p->n_output; i++)
            add_ref(b, scope_find(&b->scope, p->output[i]->name));
    }
    scope_undo(&b->scope, mark);
    b->depth--;
}

static int take_inputs(struct build *b, const Onnx__NodeProto *p, struct node *n) {
    n->inputs = b->g->refs_count;
    n->inputs_count = (uint32_t)p->n_input;
    for (size_t i = 0; i < p->n_input; i++) {
        uint32_t value = scope_find(&b->scope, p->input[i]);

        if (value == NETGRAPH_NONE && *text(p->input[i]))
            return complaint_say(b->why,
                                 "its node '%.60s' (%.40s) reads '%.60s', which nothing before it "
                                 "makes: check the file with onnx.checker.check_model",
                                 n->name, n->op, p->input[i]);
        add_ref(b, value);
    }
    return 0;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void add_node(struct build *b, const Onnx__NodeProto *p);

/* Binds an output of the calling node to a value. A value that the function created gets the node's
 * name for it. */
static void give_output(struct build *b, const char *s, uint32_t value, uint32_t first_new) {
    if (value != NETGRAPH_NONE && value >= first_new) name_value(b, &b->g->values[value], s);
    scope_bind(&b->scope, s, value);
}

static int check_call(const struct build *b, const Onnx__NodeProto *p,
                      const Onnx__FunctionProto *f) {
    if (b->calls == NETGRAPH_CALLS_MAX)
        return complaint_say(b->why, "its functions call each other more than %u deep",
                             NETGRAPH_CALLS_MAX);
    if (p->n_input <= f->n_input && p->n_output <= f->n_output) return 0;
    return complaint_say(b->why,
                         "its node '%.60s' gives or takes more than its function '%.60s' does",
                         text(p->name), text(f->name));
}

/* Enters a function and binds its inputs to the calling node's inputs, whose numbers are in refs
 * from `inputs` on. */
static void enter(struct build *b, const Onnx__NodeProto *p, const Onnx__FunctionProto *f,
                  uint32_t inputs) {
    struct call *call = &b->g->calls[b->g->calls_count++];

    *call = (struct call){p, f, b->call};
    b->call = call;
    b->scope.frame = b->g->calls_count;
    b->calls++;
    for (size_t i = 0; i < f->n_input; i++) {
        uint32_t value = i < p->n_input ? b->g->refs[inputs + i] : NETGRAPH_NONE;

        scope_bind(&b->scope, f->input[i], value == NETGRAPH_NONE ? SCOPE_LEFT_OUT : value);
    }
}

static int take_results(struct build *b, const Onnx__NodeProto *p, const Onnx__FunctionProto *f) {
    for (size_t i = 0; i < p->n_output; i++) {
        uint32_t value = scope_find(&b->scope, f->output[i]);

        if (value == NETGRAPH_NONE)
            return complaint_say(b->why, "its function '%.60s' does not make its '%.60s'",
                                 text(f->name), text(f->output[i]));
        add_ref(b, value);
    }
    return 0;
}

/* NOLINTNEXTLINE(misc-no-recursion): bounded by NETGRAPH_CALLS_MAX */
static void add_call(struct build *b, const Onnx__NodeProto *p, const Onnx__FunctionProto *f) {
    uint32_t mark = scope_mark(&b->scope), outer = b->scope.frame;
    uint32_t first_new = b->g->values_count, results;
    struct node n = {.name = text(p->name), .op = text(p->op_type)};

    b->err = check_call(b, p, f);
    if (!b->err) b->err = take_inputs(b, p, &n);
    if (b->err) return;
    enter(b, p, f, n.inputs);
    for (size_t i = 0; i < f->n_node && !b->err; i++)
        add_node(b, f->node[i]);
    results = b->g->refs_count;
    if (!b->err) b->err = take_results(b, p, f);
    scope_undo(&b->scope, mark);
    b->call = b->call->outer;
    b->scope.frame = outer;
    b->calls--;
    for (size_t i = 0; i < p->n_output && !b->err; i++)
        if (*text(p->output[i])) give_output(b, p->output[i], b->g->refs[results + i], first_new);
}

/* ---- nodes and graphs ------------------------------------------------------------------------ */

/* NOLINTNEXTLINE(misc-no-recursion) */
static void add_own_node(struct build *b, const Onnx__NodeProto *p) {
    struct node n = {.name = text(p->name), .op = text(p->op_type), .message = p, .call = b->call};

    if (!*n.op) {
        b->err = complaint_say(b->why, "its node '%.60s' does not say what it computes", n.name);
        return;
    }
    for (size_t i = 0; i < p->n_attribute && !b->err; i++)
        if (p->attribute[i]->g) add_body(b, p->attribute[i]->g, &n);
    if (!b->err) b->err = take_inputs(b, p, &n);
    if (b->err) return;
    n.outputs = b->g->refs_count;
    n.outputs_count = (uint32_t)p->n_output;
    for (size_t i = 0; i < p->n_output; i++)
        add_ref(b, *text(p->output[i]) ? add_value(b, p->output[i], VALUE_MADE) : NETGRAPH_NONE);
    b->g->nodes[b->g->nodes_count++] = n;
}

/* NOLINTNEXTLINE(misc-no-recursion) */
static void add_node(struct build *b, const Onnx__NodeProto *p) {
    uint32_t called = functions_called(&b->functions, p);

    if (called == FUNCTIONS_NONE)
        add_own_node(b, p);
    else
        add_call(b, p, b->functions.at[called]);
}

/* NOLINTNEXTLINE(misc-no-recursion) */
static void add_graph(struct build *b, const Onnx__GraphProto *p) {
    declare(b, p->value_info, p->n_value_info);
    declare(b, p->output, p->n_output);
    for (size_t i = 0; i < p->n_initializer && !b->err; i++)
        b->err = add_weight(b, p->initializer[i]);
    for (size_t i = 0; i < p->n_sparse_initializer && !b->err; i++)
        b->err = add_sparse_weight(b, p->sparse_initializer[i]);
    for (size_t i = 0; i < p->n_input && !b->err; i++)
        add_input(b, p->input[i]);
    for (size_t i = 0; i < p->n_node && !b->err; i++)
        add_node(b, p->node[i]);
}

/* ---- the whole model ------------------------------------------------------------------------- */

static int prepare(struct build *b, const Onnx__ModelProto *m) {
    struct netgraph *g = b->g;
    struct amounts a = {0};
    int err = functions_take(&b->functions, &g->memory, m, b->why);

    if (!err) err = amounts_count(&a, &b->functions, m->graph, &g->memory, b->why);
    if (!err) err = scope_init(&b->scope, &g->memory, m, a.binds, b->why);
    if (err) return err;
    if (a.values >= SCOPE_LEFT_OUT || a.refs >= SCOPE_LEFT_OUT) return complaint_memory(b->why);
    b->declared = bounded_alloc(&g->memory, b->scope.names.count, sizeof(*b->declared));
    g->values = bounded_alloc(&g->memory, a.values, sizeof(*g->values));
    g->nodes = bounded_alloc(&g->memory, a.nodes, sizeof(*g->nodes));
    g->refs = bounded_alloc(&g->memory, a.refs, sizeof(*g->refs));
    g->calls = bounded_alloc(&g->memory, a.calls, sizeof(*g->calls));
    if (b->declared && g->values && g->nodes && g->refs && g->calls) return 0;
    return complaint_memory(b->why);
}

int netgraph_build(struct netgraph *g, const Onnx__ModelProto *m, struct complaint *why) {
    struct build b = {.g = g, .why = why};

    b.err = prepare(&b, m);
    if (!b.err) add_graph(&b, m->graph);
    functions_finish(&b.functions, &g->memory);
    scope_finish(&b.scope, &g->memory);
    bounded_free(&g->memory, b.declared);
    return b.err;
}
