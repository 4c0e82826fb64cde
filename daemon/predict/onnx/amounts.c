/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/predict/onnx/amounts.h"

#include <string.h>

#include "daemon/predict/onnx/netgraph.h"

#define LOOK 16u /* fixed cost of looking up a name, besides its bytes */

enum state { NEW, BEGUN, DONE };

/* The counts of a function, by the function's number. */
struct known {
    enum state state;
    struct amounts amounts;
};

struct counting {
    const struct functions *f;
    struct known *known;
    struct complaint *why;
    unsigned depth; /* current depth of calls */
    int err;
};

static void add(uint64_t *to, uint64_t more) {
    *to = *to + more < AMOUNTS_MOST ? *to + more : AMOUNTS_MOST;
}

static void add_all(struct amounts *to, const struct amounts *more) {
    add(&to->values, more->values);
    add(&to->nodes, more->nodes);
    add(&to->refs, more->refs);
    add(&to->calls, more->calls);
    add(&to->binds, more->binds);
    add(&to->asks, more->asks);
    add(&to->looks, more->looks);
}

/* ---- costs of a node's attributes and names -------------------------------------------------- */

static const char *text(const char *s) {
    return s ? s : "";
}

static int check_name(const struct counting *c, const Onnx__NodeProto *n, const char *name) {
    if (strnlen(text(name), AMOUNTS_NAME_BYTES + 1) <= AMOUNTS_NAME_BYTES) return 0;
    return complaint_say(c->why, "its node '%.60s' has a name of more than %u bytes: '%.40s...'",
                         text(n->name), AMOUNTS_NAME_BYTES, name);
}

static int check_names(const struct counting *c, const Onnx__NodeProto *n, char *const *names,
                       size_t count) {
    int err = 0;

    for (size_t i = 0; i < count && !err; i++)
        err = check_name(c, n, names[i]);
    return err;
}

static int check_node(const struct counting *c, const Onnx__NodeProto *n) {
    int err;

    if (n->n_attribute > AMOUNTS_ATTRIBUTES_MAX)
        return complaint_say(c->why,
                             "its node '%.60s' has %zu attributes: no more than %u are read",
                             text(n->name), n->n_attribute, AMOUNTS_ATTRIBUTES_MAX);
    err = check_name(c, n, n->op_type);
    if (!err) err = check_name(c, n, n->domain);
    if (!err) err = check_names(c, n, n->input, n->n_input);
    if (!err) err = check_names(c, n, n->output, n->n_output);
    for (size_t i = 0; i < n->n_attribute && !err; i++) {
        err = check_name(c, n, n->attribute[i]->name);
        if (!err) err = check_name(c, n, n->attribute[i]->ref_attr_name);
    }
    return err;
}

static uint64_t look_names(char *const *names, size_t count) {
    uint64_t looks = 0;

    for (size_t i = 0; i < count; i++)
        looks += LOOK + strlen(text(names[i]));
    return looks;
}

static uint64_t look_attributes(const Onnx__NodeProto *n) {
    uint64_t looks = 0;

    for (size_t i = 0; i < n->n_attribute; i++)
        looks += LOOK + strlen(text(n->attribute[i]->name)) +
                 strlen(text(n->attribute[i]->ref_attr_name));
    return looks;
}

static uint64_t count_asks(const Onnx__NodeProto *n) {
    uint64_t asks = 0;

    for (size_t i = 0; i < n->n_attribute; i++)
        asks += *text(n->attribute[i]->ref_attr_name) != '\0';
    return asks;
}

static uint64_t look_node(const Onnx__NodeProto *n) {
    return strlen(text(n->op_type)) + strlen(text(n->domain)) + look_names(n->input, n->n_input) +
           look_names(n->output, n->n_output) + look_attributes(n);
}

/* ---- the whole model ------------------------------------------------------------------------- */

static void count_nodes(struct counting *c, Onnx__NodeProto *const *nodes, size_t count,
                        struct amounts *a);

/* NOLINTNEXTLINE(misc-no-recursion): bounded by NETGRAPH_CALLS_MAX */
static void count_function(struct counting *c, uint32_t number) {
    const Onnx__FunctionProto *f = c->f->at[number];
    struct known *k = &c->known[number];

    if (k->state == DONE) return;
    if (k->state == BEGUN) {
        c->err = complaint_say(c->why, "its function '%.60s' calls itself", text(f->name));
        return;
    }
    if (++c->depth > NETGRAPH_CALLS_MAX) {
        c->err = complaint_say(c->why, "its functions call each other more than %u deep",
                               NETGRAPH_CALLS_MAX);
        return;
    }
    k->state = BEGUN;
    count_nodes(c, f->node, f->n_node, &k->amounts);
    k->state = DONE;
    c->depth--;
}

/* NOLINTNEXTLINE(misc-no-recursion) */
static void count_call(struct counting *c, const Onnx__NodeProto *n, uint32_t number,
                       struct amounts *a) {
    const Onnx__FunctionProto *f = c->f->at[number];
    const struct amounts *inner = &c->known[number].amounts;

    count_function(c, number);
    add(&a->calls, 1);
    add(&a->binds, f->n_input);
    /* Each inner node may search the caller's attributes and the function's declared ones. */
    add(&a->looks, look_attributes(n) * (inner->nodes + inner->asks));
    add(&a->looks, look_names(f->attribute, f->n_attribute) * inner->asks);
    add(&a->looks, look_names(f->input, f->n_input));
    add_all(a, inner);
}

/* NOLINTNEXTLINE(misc-no-recursion): bounded by slim.h's depth limit, in each function */
static void count_graph(struct counting *c, const Onnx__GraphProto *p, struct amounts *a) {
    size_t own = p->n_input + p->n_initializer + p->n_sparse_initializer;

    add(&a->values, own);
    add(&a->binds, own);
    count_nodes(c, p->node, p->n_node, a);
}

/* NOLINTNEXTLINE(misc-no-recursion) */
static void count_nodes(struct counting *c, Onnx__NodeProto *const *nodes, size_t count,
                        struct amounts *a) {
    for (size_t i = 0; i < count && !c->err; i++) {
        const Onnx__NodeProto *n = nodes[i];
        uint32_t called;

        c->err = check_node(c, n);
        if (c->err) return;
        called = functions_called(c->f, n);
        add(&a->nodes, 1);
        add(&a->values, n->n_output);
        add(&a->binds, n->n_output);
        add(&a->refs, n->n_input + n->n_output);
        add(&a->asks, count_asks(n));
        add(&a->looks, look_node(n));
        if (called != FUNCTIONS_NONE) count_call(c, n, called, a);
        for (size_t k = 0; k < n->n_attribute && !c->err; k++) {
            if (!n->attribute[k]->g) continue;
            add(&a->refs, n->attribute[k]->g->n_output);
            count_graph(c, n->attribute[k]->g, a);
        }
    }
}

int amounts_count(struct amounts *out, const struct functions *f, const Onnx__GraphProto *top,
                  struct bounded *memory, struct complaint *why) {
    struct counting c = {.f = f, .why = why};

    *out = (struct amounts){0};
    c.known = bounded_alloc(memory, f->count, sizeof(*c.known));
    if (!c.known) return complaint_memory(why);
    count_graph(&c, top, out);
    bounded_free(memory, c.known);
    if (!c.err && out->calls && out->nodes > AMOUNTS_NODES_MAX)
        return complaint_say(why, "with its functions the model has more than %u nodes",
                             AMOUNTS_NODES_MAX);
    if (!c.err && out->calls && out->looks > AMOUNTS_LOOKS_MAX)
        return complaint_say(
            why, "with its functions the model has more than %u MiB of names and attributes",
            AMOUNTS_LOOKS_MAX >> 20);
    return c.err;
}
