/* SPDX-License-Identifier: Apache-2.0 */
#include "test/lib/predict/onnxmake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *take(struct onnxmake *m, size_t count, size_t bytes) {
    void *p = arena_calloc(m->arena, count ? count : 1, bytes);

    if (!p) abort();
    return p;
}

static char *copy(struct onnxmake *m, const char *s) {
    char *p = arena_strdup(m->arena, s);

    if (!p) abort();
    return p;
}

/* Makes space for one more element in a list that protobuf-c stores as a count and an array. */
static size_t grow(size_t *count) {
    if (*count == ONNXMAKE_MAX) abort();
    return (*count)++;
}

void onnxmake_init(struct onnxmake *m) {
    *m = (struct onnxmake){.arena = arena_create()};
    if (!m->arena) abort();
    onnx__model_proto__init(&m->model);
    onnx__graph_proto__init(&m->graph);
    m->model.graph = &m->graph;
    m->model.has_ir_version = true;
    m->model.ir_version = 8;
    m->model.producer_name = copy(m, "salus");
    m->model.opset_import = take(m, 1, sizeof(*m->model.opset_import));
    m->model.opset_import[0] = take(m, 1, sizeof(**m->model.opset_import));
    onnx__operator_set_id_proto__init(m->model.opset_import[0]);
    m->model.opset_import[0]->has_version = true;
    m->model.opset_import[0]->version = 13;
    m->model.opset_import[0]->domain = copy(m, "");
    m->model.n_opset_import = 1;
    m->model.functions = take(m, ONNXMAKE_MAX, sizeof(*m->model.functions));
    m->graph.name = copy(m, "net");
    m->graph.node = take(m, ONNXMAKE_MAX, sizeof(*m->graph.node));
    m->graph.initializer = take(m, ONNXMAKE_MAX, sizeof(*m->graph.initializer));
    m->graph.input = take(m, ONNXMAKE_MAX, sizeof(*m->graph.input));
    m->graph.output = take(m, ONNXMAKE_MAX, sizeof(*m->graph.output));
    m->graph.value_info = take(m, ONNXMAKE_MAX, sizeof(*m->graph.value_info));
}

void onnxmake_finish(struct onnxmake *m) {
    arena_destroy(m->arena);
}

void onnxmake_bytes(struct onnxmake *m, struct buf *out) {
    size_t bytes = onnx__model_proto__get_packed_size(&m->model);
    uint8_t *at = buf_extend(out, bytes);

    if (bytes && !at) abort();
    onnx__model_proto__pack(&m->model, at);
}

static const char *made_up(struct onnxmake *m, const char *what) {
    char name[64];

    snprintf(name, sizeof(name), "%s%u", what, m->named++);
    return copy(m, name);
}

/* ---- values -----------------------------------------------------------------------------------
 */

static Onnx__TensorShapeProto__Dimension *dimension(struct onnxmake *m, const char *word) {
    Onnx__TensorShapeProto__Dimension *d = take(m, 1, sizeof(*d));
    char *end;

    onnx__tensor_shape_proto__dimension__init(d);
    d->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
    d->dim_value = strtoll(word, &end, 10);
    if (*word && !*end) return d;
    d->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
    d->dim_param = copy(m, word);
    return d;
}

static Onnx__ValueInfoProto *info(struct onnxmake *m, const char *name, int type,
                                  const char *sizes) {
    Onnx__ValueInfoProto *v = take(m, 1, sizeof(*v));
    Onnx__TypeProto__Tensor *t = take(m, 1, sizeof(*t));
    char *list = copy(m, sizes), *save = NULL;

    onnx__value_info_proto__init(v);
    v->name = copy(m, name);
    v->type = take(m, 1, sizeof(*v->type));
    onnx__type_proto__init(v->type);
    v->type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    v->type->tensor_type = t;
    onnx__type_proto__tensor__init(t);
    t->has_elem_type = true;
    t->elem_type = type;
    t->shape = take(m, 1, sizeof(*t->shape));
    onnx__tensor_shape_proto__init(t->shape);
    t->shape->dim = take(m, 16, sizeof(*t->shape->dim));
    for (char *w = strtok_r(list, ",", &save); w; w = strtok_r(NULL, ",", &save))
        t->shape->dim[t->shape->n_dim++] = dimension(m, w);
    return v;
}

const char *onnxmake_input(struct onnxmake *m, const char *name, int type, const char *sizes) {
    m->graph.input[grow(&m->graph.n_input)] = info(m, name, type, sizes);
    return copy(m, name);
}

void onnxmake_output(struct onnxmake *m, const char *name, int type, const char *sizes) {
    m->graph.output[grow(&m->graph.n_output)] = info(m, name, type, sizes);
}

void onnxmake_info(struct onnxmake *m, const char *name, int type, const char *sizes) {
    m->graph.value_info[grow(&m->graph.n_value_info)] = info(m, name, type, sizes);
}

Onnx__TensorProto *onnxmake_tensor(struct onnxmake *m, const char *name, int type,
                                   const char *sizes) {
    Onnx__TensorProto *t = take(m, 1, sizeof(*t));
    char *list = copy(m, sizes), *save = NULL;

    onnx__tensor_proto__init(t);
    t->name = copy(m, name);
    t->has_data_type = true;
    t->data_type = type;
    t->dims = take(m, 16, sizeof(*t->dims));
    for (char *w = strtok_r(list, ",", &save); w; w = strtok_r(NULL, ",", &save))
        t->dims[t->n_dims++] = strtoll(w, NULL, 10);
    return t;
}

static const char *add_tensor(struct onnxmake *m, Onnx__TensorProto *t) {
    m->graph.initializer[grow(&m->graph.n_initializer)] = t;
    return t->name;
}

const char *onnxmake_weight(struct onnxmake *m, const char *sizes) {
    return add_tensor(m, onnxmake_tensor(m, made_up(m, "w"), 1, sizes));
}

const char *onnxmake_ints(struct onnxmake *m, int count, const int64_t *ints) {
    char size[16];
    Onnx__TensorProto *t;

    snprintf(size, sizeof(size), "%d", count);
    t = onnxmake_tensor(m, made_up(m, "i"), 7, size);
    t->int64_data = take(m, (size_t)count, sizeof(*ints));
    memcpy(t->int64_data, ints, (size_t)count * sizeof(*ints));
    t->n_int64_data = (size_t)count;
    return add_tensor(m, t);
}

const char *onnxmake_int(struct onnxmake *m, int64_t number) {
    Onnx__TensorProto *t = onnxmake_tensor(m, made_up(m, "i"), 7, "");

    t->has_raw_data = true;
    t->raw_data.len = sizeof(number);
    t->raw_data.data = take(m, 1, sizeof(number));
    memcpy(t->raw_data.data, &number, sizeof(number));
    return add_tensor(m, t);
}

/* ---- nodes ------------------------------------------------------------------------------------
 */

Onnx__NodeProto *onnxmake_last(struct onnxmake *m) {
    return m->graph.node[m->graph.n_node - 1];
}

const char *onnxmake_more(struct onnxmake *m) {
    Onnx__NodeProto *n = onnxmake_last(m);

    n->output[n->n_output] = copy(m, made_up(m, "v"));
    return n->output[n->n_output++];
}

const char *onnxmake_node(struct onnxmake *m, const char *op, const char *output,
                          const char *const *inputs, int count) {
    Onnx__NodeProto *n = take(m, 1, sizeof(*n));

    onnx__node_proto__init(n);
    n->op_type = copy(m, op);
    n->name = copy(m, made_up(m, op));
    n->input = take(m, (size_t)count, sizeof(*n->input));
    n->output = take(m, 16, sizeof(*n->output));
    n->attribute = take(m, 16, sizeof(*n->attribute));
    for (int i = 0; i < count; i++)
        n->input[n->n_input++] = copy(m, inputs[i]);
    n->output[n->n_output++] = copy(m, output ? output : made_up(m, "v"));
    m->graph.node[grow(&m->graph.n_node)] = n;
    return n->output[0];
}

static Onnx__AttributeProto *attribute(struct onnxmake *m, const char *name,
                                       Onnx__AttributeProto__AttributeType type) {
    Onnx__NodeProto *n = onnxmake_last(m);
    Onnx__AttributeProto *a = take(m, 1, sizeof(*a));

    onnx__attribute_proto__init(a);
    a->name = copy(m, name);
    a->has_type = true;
    a->type = type;
    n->attribute[n->n_attribute++] = a;
    return a;
}

#define TYPE(kind) ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__##kind

void onnxmake_attr_int(struct onnxmake *m, const char *name, int64_t i) {
    Onnx__AttributeProto *a = attribute(m, name, TYPE(INT));

    a->has_i = true;
    a->i = i;
}

void onnxmake_attr_ints(struct onnxmake *m, const char *name, const char *list) {
    Onnx__AttributeProto *a = attribute(m, name, TYPE(INTS));
    char *words = copy(m, list), *save = NULL;

    a->ints = take(m, 16, sizeof(*a->ints));
    for (char *w = strtok_r(words, ",", &save); w; w = strtok_r(NULL, ",", &save))
        a->ints[a->n_ints++] = strtoll(w, NULL, 10);
}

void onnxmake_attr_text(struct onnxmake *m, const char *name, const char *text) {
    Onnx__AttributeProto *a = attribute(m, name, TYPE(STRING));

    a->has_s = true;
    a->s.len = strlen(text);
    a->s.data = (uint8_t *)copy(m, text);
}

void onnxmake_attr_graph(struct onnxmake *m, const char *name, Onnx__GraphProto *g) {
    attribute(m, name, TYPE(GRAPH))->g = g;
}

void onnxmake_attr_tensor(struct onnxmake *m, const char *name, Onnx__TensorProto *t) {
    attribute(m, name, TYPE(TENSOR))->t = t;
}

void onnxmake_attr_ref(struct onnxmake *m, const char *name, const char *of_caller) {
    attribute(m, name, TYPE(INT))->ref_attr_name = copy(m, of_caller);
}

static char **words(struct onnxmake *m, const char *list, size_t *count) {
    char *own = copy(m, list), *save = NULL, **out = take(m, 16, sizeof(*out));

    for (char *w = strtok_r(own, ",", &save); w; w = strtok_r(NULL, ",", &save))
        out[(*count)++] = w;
    return out;
}

/* Declares the attributes that the function's nodes take from its caller. */
static void declare_refs(struct onnxmake *m, Onnx__FunctionProto *f) {
    f->attribute = take(m, 16, sizeof(*f->attribute));
    for (size_t i = 0; i < f->n_node; i++)
        for (size_t k = 0; k < f->node[i]->n_attribute && f->n_attribute < 16; k++)
            if (f->node[i]->attribute[k]->ref_attr_name)
                f->attribute[f->n_attribute++] = f->node[i]->attribute[k]->ref_attr_name;
}

void onnxmake_function(struct onnxmake *m, const char *name, const char *inputs,
                       const char *outputs, int nodes) {
    Onnx__FunctionProto *f = take(m, 1, sizeof(*f));

    onnx__function_proto__init(f);
    f->name = copy(m, name);
    f->domain = copy(m, "");
    f->input = words(m, inputs, &f->n_input);
    f->output = words(m, outputs, &f->n_output);
    f->node = take(m, (size_t)nodes, sizeof(*f->node));
    m->graph.n_node -= (size_t)nodes;
    for (int i = 0; i < nodes; i++)
        f->node[f->n_node++] = m->graph.node[m->graph.n_node + (size_t)i];
    declare_refs(m, f);
    m->model.functions[grow(&m->model.n_functions)] = f;
}
