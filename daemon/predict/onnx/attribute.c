/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/predict/onnx/attribute.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/predict/onnx/tensor.h"

#define TYPE(name) ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__##name

static const Onnx__AttributeProto *said(const Onnx__NodeProto *p, const char *name) {
    for (size_t i = 0; i < p->n_attribute; i++)
        if (p->attribute[i]->name && strcmp(p->attribute[i]->name, name) == 0)
            return p->attribute[i];
    return NULL;
}

/* Tests the attribute's declared type. */
static bool is_kind(const Onnx__AttributeProto *a, Onnx__AttributeProto__AttributeType type) {
    return a->has_type && a->type == type;
}

/* Tests whether the function declares the attribute without a default. */
static bool is_declared(const Onnx__FunctionProto *f, const char *name) {
    for (size_t i = 0; i < f->n_attribute; i++)
        if (strcmp(f->attribute[i], name) == 0) return true;
    return false;
}

/* Follows references: within a function, an attribute may refer to one of the calling node, under
 * another name. Sets *open if the caller omits an attribute for which the function has a
 * default. */
static const Onnx__AttributeProto *resolve(const struct node *n, const Onnx__AttributeProto *a,
                                           bool *open) {
    const struct call *c = n->call;

    for (; a && a->ref_attr_name && *a->ref_attr_name; c = c->outer) {
        const char *name = a->ref_attr_name;

        if (!c) return NULL;
        a = said(c->message, name);
        if (!a) *open = !is_declared(c->function, name);
    }
    return a;
}

static const Onnx__AttributeProto *find(const struct node *n, const char *name) {
    bool open;

    return resolve(n, said(n->message, name), &open);
}

bool attribute_open(const struct node *n) {
    const Onnx__NodeProto *p = n->message;
    bool open = false;

    for (size_t i = 0; n->call && i < p->n_attribute && !open; i++)
        if (!is_kind(p->attribute[i], TYPE(FLOAT))) resolve(n, p->attribute[i], &open);
    return open;
}

bool attribute_is(const struct node *n, const char *name) {
    return find(n, name) != NULL;
}

int64_t attribute_int(const struct node *n, const char *name, int64_t otherwise) {
    const Onnx__AttributeProto *a = find(n, name);

    if (!a || (!a->has_i && !is_kind(a, TYPE(INT)))) return otherwise;
    return a->has_i ? a->i : 0;
}

float attribute_float(const struct node *n, const char *name, float otherwise) {
    const Onnx__AttributeProto *a = find(n, name);

    if (!a || (!a->has_f && !is_kind(a, TYPE(FLOAT)))) return otherwise;
    return a->has_f ? a->f : 0;
}

const int64_t *attribute_ints(const struct node *n, const char *name, uint32_t *count) {
    const Onnx__AttributeProto *a = find(n, name);

    *count = a ? (uint32_t)a->n_ints : 0;
    return *count ? a->ints : NULL;
}

const float *attribute_floats(const struct node *n, const char *name, uint32_t *count) {
    const Onnx__AttributeProto *a = find(n, name);

    *count = a ? (uint32_t)a->n_floats : 0;
    return *count ? a->floats : NULL;
}

bool attribute_says(const struct node *n, const char *name, const char *text) {
    const Onnx__AttributeProto *a = find(n, name);

    return a && a->has_s && a->s.len == strlen(text) && memcmp(a->s.data, text, a->s.len) == 0;
}

void attribute_text(const struct node *n, const char *name, char *out, size_t cap) {
    const Onnx__AttributeProto *a = find(n, name);

    if (a && a->has_s && a->s.len < cap)
        snprintf(out, cap, "%.*s", (int)a->s.len, (const char *)a->s.data);
    else
        out[0] = '\0';
}

int attribute_tensor(struct netgraph *g, const struct node *n, const char *name, struct value *out,
                     struct complaint *why) {
    const Onnx__AttributeProto *a = find(n, name);

    if (!a || !a->t) return -ENOENT;
    bounded_free(&g->memory, out->data);
    out->type = a->t->data_type;
    return tensor_read(&g->memory, a->t, &out->shape, &out->data, &out->data_count, why);
}
