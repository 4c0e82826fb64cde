/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/predict/onnx/netgraph_build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/predict/onnx/tensor.h"

/* How much there is of everything, so that each array is had once. */
struct amounts {
    uint64_t values, nodes, refs, names;
};

/* What a body defines ends with it. */
struct undo {
    uint32_t name, value;
};

struct build {
    struct netgraph *g;
    struct complaint *why;
    const char **names; /* sorted, each once */
    uint32_t names_count;
    uint32_t *bound;       /* by name: the value that it is now */
    const void **declared; /* by name: what value_info says */
    struct undo *undo;
    uint32_t undo_count;
    unsigned depth;
    int err;
};

static const char *text(const char *s) {
    return s ? s : "";
}

/* ---- counting -------------------------------------------------------------------------------- */

typedef void (*name_fn)(void *owner, const char *name);

static void ignore_name(void *owner, const char *name) {}

static void walk_graph(const Onnx__GraphProto *p, struct amounts *a, name_fn name, void *owner);

/* NOLINTNEXTLINE(misc-no-recursion): as deep as slim.h lets anything lie */
static void walk_node(const Onnx__NodeProto *n, struct amounts *a, name_fn name, void *owner) {
    a->nodes++;
    a->values += n->n_output;
    a->refs += n->n_input + n->n_output;
    a->names += n->n_input + n->n_output;
    for (size_t i = 0; i < n->n_input; i++)
        name(owner, text(n->input[i]));
    for (size_t i = 0; i < n->n_output; i++)
        name(owner, text(n->output[i]));
    for (size_t i = 0; i < n->n_attribute; i++) {
        const Onnx__AttributeProto *t = n->attribute[i];

        if (!t->g) continue;
        a->refs += t->g->n_output;
        walk_graph(t->g, a, name, owner);
    }
}

/* NOLINTNEXTLINE(misc-no-recursion) */
static void walk_graph(const Onnx__GraphProto *p, struct amounts *a, name_fn name, void *owner) {
    a->values += p->n_input + p->n_initializer;
    a->names += p->n_input + p->n_initializer + p->n_output + p->n_value_info;
    for (size_t i = 0; i < p->n_input; i++)
        name(owner, text(p->input[i]->name));
    for (size_t i = 0; i < p->n_initializer; i++)
        name(owner, text(p->initializer[i]->name));
    for (size_t i = 0; i < p->n_output; i++)
        name(owner, text(p->output[i]->name));
    for (size_t i = 0; i < p->n_value_info; i++)
        name(owner, text(p->value_info[i]->name));
    for (size_t i = 0; i < p->n_node; i++)
        walk_node(p->node[i], a, name, owner);
}

/* ---- names ----------------------------------------------------------------------------------- */

static void keep_name(void *owner, const char *name) {
    struct build *b = owner;

    b->names[b->names_count++] = name;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void sort_names(struct build *b) {
    uint32_t kept = 0;

    if (b->names_count) qsort(b->names, b->names_count, sizeof(*b->names), by_text);
    for (uint32_t i = 0; i < b->names_count; i++)
        if (kept == 0 || strcmp(b->names[kept - 1], b->names[i]) != 0)
            b->names[kept++] = b->names[i];
    b->names_count = kept;
}

/* Every name that is asked for was kept. */
static uint32_t name_of(const struct build *b, const char *s) {
    const char *key = text(s);
    const char **found = bsearch(&key, b->names, b->names_count, sizeof(*b->names), by_text);

    return (uint32_t)(found - b->names);
}

/* ---- values ---------------------------------------------------------------------------------- */

static void bind(struct build *b, uint32_t name, uint32_t value) {
    b->undo[b->undo_count++] = (struct undo){name, b->bound[name]};
    b->bound[name] = value;
}

static uint32_t add_value(struct build *b, const char *s, enum value_kind kind) {
    uint32_t name = name_of(b, s), number = b->g->values_count++;
    struct value *v = &b->g->values[number];

    *v = (struct value){.name = b->names[name],
                        .kind = kind,
                        .in_body = b->depth > 0,
                        .declared = b->declared[name]};
    bind(b, name, number);
    return number;
}

static const Onnx__TypeProto__Tensor *tensor_type(const Onnx__ValueInfoProto *p) {
    return p->type && p->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE
               ? p->type->tensor_type
               : NULL;
}

static void add_input(struct build *b, const Onnx__ValueInfoProto *p) {
    const Onnx__TypeProto__Tensor *t = tensor_type(p);
    uint32_t was = b->bound[name_of(b, p->name)];
    struct value *v;

    /* Old models name their weights among the inputs as well. */
    if (was != NETGRAPH_NONE && b->g->values[was].kind == VALUE_WEIGHT && b->depth == 0) return;
    v = &b->g->values[add_value(b, p->name, VALUE_INPUT)];
    v->declared = t ? t->shape : NULL;
    v->type = t ? t->elem_type : 0;
}

static int add_weight(struct build *b, const Onnx__TensorProto *p) {
    struct value *v = &b->g->values[add_value(b, p->name, VALUE_WEIGHT)];

    v->type = p->data_type;
    return tensor_read(&b->g->memory, p, &v->shape, &v->data, &v->data_count, b->why);
}

static void declare(struct build *b, Onnx__ValueInfoProto *const *infos, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const Onnx__TypeProto__Tensor *t = tensor_type(infos[i]);

        if (t && t->shape) b->declared[name_of(b, infos[i]->name)] = t->shape;
    }
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static uint32_t add_ref(struct build *b, uint32_t value) {
    b->g->refs[b->g->refs_count] = value;
    return b->g->refs_count++;
}

static void add_graph(struct build *b, const Onnx__GraphProto *p);

/* A body, and where what it gives is noted in `refs`. */
/* NOLINTNEXTLINE(misc-no-recursion) */
static void add_body(struct build *b, const Onnx__GraphProto *p, struct node *n) {
    uint32_t mark = b->undo_count;

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
            add_ref(b, b->bound[name_of(b, p->output[i]->name)]);
    }
    while (b->undo_count > mark) {
        const struct undo *u = &b->undo[--b->undo_count];

        b->bound[u->name] = u->value;
    }
    b->depth--;
}

static int take_inputs(struct build *b, const Onnx__NodeProto *p, struct node *n) {
    n->inputs = b->g->refs_count;
    n->inputs_count = (uint32_t)p->n_input;
    for (size_t i = 0; i < p->n_input; i++) {
        uint32_t value = b->bound[name_of(b, p->input[i])];

        if (value == NETGRAPH_NONE && *text(p->input[i]))
            return complaint_say(b->why,
                                 "its node '%.60s' (%.40s) reads '%.60s', which nothing before it "
                                 "makes: check the file with onnx.checker.check_model",
                                 n->name, n->op, p->input[i]);
        add_ref(b, value);
    }
    return 0;
}

/* NOLINTNEXTLINE(misc-no-recursion) */
static void add_node(struct build *b, const Onnx__NodeProto *p) {
    struct node n = {.name = text(p->name), .op = text(p->op_type), .message = p};

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
static void add_graph(struct build *b, const Onnx__GraphProto *p) {
    declare(b, p->value_info, p->n_value_info);
    declare(b, p->output, p->n_output);
    for (size_t i = 0; i < p->n_initializer && !b->err; i++)
        b->err = add_weight(b, p->initializer[i]);
    for (size_t i = 0; i < p->n_input && !b->err; i++)
        add_input(b, p->input[i]);
    for (size_t i = 0; i < p->n_node && !b->err; i++)
        add_node(b, p->node[i]);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int prepare(struct build *b, const struct amounts *a) {
    struct bounded *m = &b->g->memory;

    if (a->values >= NETGRAPH_NONE || a->refs >= NETGRAPH_NONE || a->names >= NETGRAPH_NONE)
        return complaint_memory(b->why);
    b->names = bounded_alloc(m, a->names, sizeof(*b->names));
    b->bound = bounded_alloc(m, a->names, sizeof(*b->bound));
    b->declared = bounded_alloc(m, a->names, sizeof(*b->declared));
    b->undo = bounded_alloc(m, a->values, sizeof(*b->undo));
    b->g->values = bounded_alloc(m, a->values, sizeof(*b->g->values));
    b->g->nodes = bounded_alloc(m, a->nodes, sizeof(*b->g->nodes));
    b->g->refs = bounded_alloc(m, a->refs, sizeof(*b->g->refs));
    if (b->names && b->bound && b->declared && b->undo && b->g->values && b->g->nodes && b->g->refs)
        return 0;
    return complaint_memory(b->why);
}

int netgraph_build(struct netgraph *g, const Onnx__GraphProto *top, struct complaint *why) {
    struct build b = {.g = g, .why = why};
    struct amounts a = {0}, same = {0};

    walk_graph(top, &a, ignore_name, NULL);
    b.err = prepare(&b, &a);
    if (!b.err) {
        walk_graph(top, &same, keep_name, &b);
        sort_names(&b);
        memset(b.bound, 0xff, b.names_count * sizeof(*b.bound));
        add_graph(&b, top);
    }
    bounded_free(&g->memory, b.names);
    bounded_free(&g->memory, b.bound);
    bounded_free(&g->memory, b.declared);
    bounded_free(&g->memory, b.undo);
    return b.err;
}
