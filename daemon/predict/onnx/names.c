/* SPDX-License-Identifier: Apache-2.0
 *
 * The model is walked twice: first to count the names, then to store them.
 */
#include "daemon/predict/onnx/names.h"

#include <stdlib.h>
#include <string.h>

/* With `at` NULL, names are only counted. */
struct taking {
    const char **at;
    uint64_t count;
};

static void take(struct taking *t, const char *name) {
    if (t->at) t->at[t->count] = name ? name : "";
    t->count++;
}

static void take_list(struct taking *t, char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        take(t, names[i]);
}

static void take_infos(struct taking *t, Onnx__ValueInfoProto *const *infos, size_t count) {
    for (size_t i = 0; i < count; i++)
        take(t, infos[i]->name);
}

static void take_graph(struct taking *t, const Onnx__GraphProto *p);

/* NOLINTNEXTLINE(misc-no-recursion): bounded by slim.h's depth limit */
static void take_node(struct taking *t, const Onnx__NodeProto *n) {
    take_list(t, n->input, n->n_input);
    take_list(t, n->output, n->n_output);
    for (size_t i = 0; i < n->n_attribute; i++)
        if (n->attribute[i]->g) take_graph(t, n->attribute[i]->g);
}

/* NOLINTNEXTLINE(misc-no-recursion) */
static void take_graph(struct taking *t, const Onnx__GraphProto *p) {
    take_infos(t, p->input, p->n_input);
    take_infos(t, p->output, p->n_output);
    take_infos(t, p->value_info, p->n_value_info);
    for (size_t i = 0; i < p->n_initializer; i++)
        take(t, p->initializer[i]->name);
    for (size_t i = 0; i < p->n_sparse_initializer; i++)
        if (p->sparse_initializer[i]->values) take(t, p->sparse_initializer[i]->values->name);
    for (size_t i = 0; i < p->n_node; i++)
        take_node(t, p->node[i]);
}

static uint64_t take_model(const Onnx__ModelProto *m, const char **at) {
    struct taking t = {at, 0};

    take_graph(&t, m->graph);
    for (size_t i = 0; i < m->n_functions; i++) {
        const Onnx__FunctionProto *f = m->functions[i];

        take_list(&t, f->input, f->n_input);
        take_list(&t, f->output, f->n_output);
        for (size_t k = 0; k < f->n_node; k++)
            take_node(&t, f->node[k]);
    }
    return t.count;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int names_take(struct names *n, struct bounded *memory, const Onnx__ModelProto *m,
               struct complaint *why) {
    uint64_t count = take_model(m, NULL);

    *n = (struct names){0};
    if (count >= UINT32_MAX) return complaint_memory(why);
    n->at = bounded_alloc(memory, count, sizeof(*n->at));
    if (!n->at) return complaint_memory(why);
    take_model(m, n->at);
    if (count) qsort(n->at, count, sizeof(*n->at), by_text);
    for (uint64_t i = 0; i < count; i++)
        if (n->count == 0 || strcmp(n->at[n->count - 1], n->at[i]) != 0)
            n->at[n->count++] = n->at[i];
    return 0;
}

void names_finish(struct names *n, struct bounded *memory) {
    bounded_free(memory, n->at);
    *n = (struct names){0};
}

uint32_t names_find(const struct names *n, const char *name) {
    const char *key = name ? name : "";
    const char **found = bsearch(&key, n->at, n->count, sizeof(*n->at), by_text);

    return (uint32_t)(found - n->at);
}
