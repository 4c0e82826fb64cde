/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/predict/features/features.h"

#include <stdio.h>
#include <string.h>

#include "daemon/predict/features/flops.h"

/* Flags of a value, besides its shape. */
enum { MARK_CONSTANT = 1, MARK_STATE = 2 /* an input of BatchNormalization that is not trained */ };

struct taking {
    struct features *f;
    struct netgraph *g;
    unsigned char *marks;
    double activations, gradients; /* sums in bytes */
};

static const char *const counted[] = {
#define X(name) #name,
    FEATURES_COUNTED(X)
#undef X
};

const char *features_count_name(enum features_count i) {
    return counted[i];
}

static double bytes_of(const struct value *v) {
    return v->shape.known ? (double)shape_elements(&v->shape) * netgraph_type_bytes(v->type) : 0;
}

/* Tests for FLOAT, FLOAT16, DOUBLE or BFLOAT16, the types that have gradients. */
static bool is_real(const struct value *v) {
    return v->type == 1 || v->type == 10 || v->type == 11 || v->type == 16;
}

static unsigned char *mark(const struct taking *t, const struct value *v) {
    return &t->marks[v - t->g->values];
}

static void count_kind(struct features *f, const char *op) {
    for (uint32_t i = 0; i < FEATURES_COUNTS; i++)
        if (strcmp(counted[i], op) == 0) f->counts[i]++;
    if (strcmp(op, "Loop") == 0 || strcmp(op, "Scan") == 0) f->bodies++;
}

/* ---- nodes without known shapes -------------------------------------------------------------- */

static void note_unknown(struct features *f, const char *op) {
    char kind[FEATURES_KIND_BYTES];
    uint32_t i = 0;

    f->unknown++;
    snprintf(kind, sizeof(kind), "%s", op);
    complaint_clean(kind);
    while (i < f->kinds_count && strcmp(f->kinds[i].kind, kind) != 0)
        i++;
    if (i == FEATURES_KINDS_MAX) return;
    if (i == f->kinds_count) memcpy(f->kinds[f->kinds_count++].kind, kind, sizeof(kind));
    f->kinds[i].count++;
}

static bool all_known(const struct netgraph *g, const struct node *n) {
    for (uint32_t i = 0; i < n->outputs_count; i++) {
        const struct value *v = netgraph_output(g, n, i);

        if (v && (!v->shape.known || netgraph_type_bytes(v->type) == 0)) return false;
    }
    return true;
}

/* ---- nodes ------------------------------------------------------------------------------------
 */

static bool takes_only_constants(const struct taking *t, const struct node *n) {
    for (uint32_t i = 0; i < n->inputs_count; i++) {
        const struct value *v = netgraph_input(t->g, n, i);

        if (v && !(*mark(t, v) & MARK_CONSTANT)) return false;
    }
    return true;
}

/* Tests whether a node is computed once from weights and numbers, so that it costs nothing in a
 * step. A node with a body is never constant, because the body may use values that are not inputs
 * of the node: an If with a known condition may contain a whole model. */
static bool is_constant(const struct taking *t, const struct node *n) {
    const struct value *v = netgraph_output(t->g, n, 0);

    if (v && v->data) return true;
    return !n->has_body && takes_only_constants(t, n) && strncmp(n->op, "Random", 6) != 0;
}

static void take_outputs(struct taking *t, const struct node *n) {
    for (uint32_t i = 0; i < n->outputs_count; i++) {
        const struct value *v = netgraph_output(t->g, n, i);

        if (!v) continue;
        t->activations += bytes_of(v);
        if (is_real(v)) t->gradients += bytes_of(v);
    }
}

static void take_node(struct taking *t, const struct node *n) {
    const struct op *op = ops_find(n->op);
    bool constant = is_constant(t, n);

    count_kind(t->f, n->op);
    t->f->nodes++;
    if (constant)
        for (uint32_t i = 0; i < n->outputs_count; i++)
            if (netgraph_output(t->g, n, i)) *mark(t, netgraph_output(t->g, n, i)) |= MARK_CONSTANT;
    if (!all_known(t->g, n)) note_unknown(t->f, n->op);
    if (constant) return;
    if (op) t->f->flops += flops_node(t->g, n, op);
    if (!op || !op->view) take_outputs(t, n);
}

/* ---- weights ----------------------------------------------------------------------------------
 */

static void mark_states(const struct taking *t) {
    for (uint32_t i = 0; i < t->g->nodes_count; i++) {
        const struct node *n = &t->g->nodes[i];

        if (strcmp(n->op, "BatchNormalization") != 0) continue;
        for (uint32_t k = 3; k < 5; k++)
            if (netgraph_input(t->g, n, k)) *mark(t, netgraph_input(t->g, n, k)) |= MARK_STATE;
    }
}

static int take_weights(struct taking *t, struct complaint *why) {
    double parameters = 0, count = 0, buffers = 0, input = 0;

    for (uint32_t i = 0; i < t->g->values_count; i++) {
        const struct value *v = &t->g->values[i];

        if (v->kind == VALUE_INPUT && !v->in_body) input += bytes_of(v);
        if (v->kind != VALUE_WEIGHT) continue;
        t->marks[i] |= MARK_CONSTANT;
        if (!is_real(v) || t->marks[i] & MARK_STATE) {
            buffers += bytes_of(v);
            continue;
        }
        parameters += bytes_of(v);
        count += (double)shape_elements(&v->shape);
    }
    if (parameters + buffers + input > (double)FEATURES_BYTES_MAX)
        return complaint_say(why, "the model's weights and inputs would take more than 2^50 bytes");
    t->f->parameters_bytes = (uint64_t)parameters;
    t->f->parameters = (uint64_t)count;
    t->f->buffers_bytes = (uint64_t)buffers;
    t->f->input_bytes = (uint64_t)input;
    t->gradients = parameters;
    return 0;
}

int features_take(struct features *f, struct netgraph *g, int64_t batch, struct complaint *why) {
    struct taking t = {.f = f, .g = g};
    int err;

    *f = (struct features){.batch = (uint64_t)batch};
    t.marks = bounded_alloc(&g->memory, g->values_count, 1);
    if (!t.marks) return complaint_memory(why);
    mark_states(&t);
    err = take_weights(&t, why);
    for (uint32_t i = 0; i < g->nodes_count && !err; i++)
        take_node(&t, &g->nodes[i]);
    bounded_free(&g->memory, t.marks);
    if (err) return err;
    if (t.activations + t.gradients > (double)FEATURES_BYTES_MAX)
        return complaint_say(why, "a step of the model would take more than 2^50 bytes");
    if (!(f->flops >= 0 && f->flops <= FEATURES_FLOPS_MAX))
        return complaint_say(why, "a pass of the model would have more operations than %.0g",
                             FEATURES_FLOPS_MAX);
    f->activations_bytes = (uint64_t)t.activations;
    f->gradients_bytes = (uint64_t)t.gradients;
    return 0;
}
