/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/predict/onnx/amounts.h"

#include "daemon/predict/onnx/netgraph.h"

enum state { NEW, BEGUN, DONE };

/* Of a function, by its number. */
struct known {
    enum state state;
    struct amounts amounts;
};

struct counting {
    const struct functions *f;
    struct known *known;
    struct complaint *why;
    unsigned depth; /* of calls */
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
}

static void count_nodes(struct counting *c, Onnx__NodeProto *const *nodes, size_t count,
                        struct amounts *a);

/* NOLINTNEXTLINE(misc-no-recursion): as deep as calls may go */
static void count_function(struct counting *c, uint32_t number) {
    const Onnx__FunctionProto *f = c->f->at[number];
    struct known *k = &c->known[number];

    if (k->state == DONE) return;
    if (k->state == BEGUN) {
        c->err = complaint_say(c->why, "its function '%.60s' calls itself", f->name ? f->name : "");
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
static void count_call(struct counting *c, uint32_t number, struct amounts *a) {
    count_function(c, number);
    add(&a->calls, 1);
    add(&a->binds, c->f->at[number]->n_input);
    add_all(a, &c->known[number].amounts);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as slim.h lets anything lie, in each function */
static void count_graph(struct counting *c, const Onnx__GraphProto *p, struct amounts *a) {
    add(&a->values, p->n_input + p->n_initializer);
    add(&a->binds, p->n_input + p->n_initializer);
    count_nodes(c, p->node, p->n_node, a);
}

/* NOLINTNEXTLINE(misc-no-recursion) */
static void count_nodes(struct counting *c, Onnx__NodeProto *const *nodes, size_t count,
                        struct amounts *a) {
    for (size_t i = 0; i < count && !c->err; i++) {
        const Onnx__NodeProto *n = nodes[i];
        uint32_t called = functions_called(c->f, n);

        add(&a->nodes, 1);
        add(&a->values, n->n_output);
        add(&a->binds, n->n_output);
        add(&a->refs, n->n_input + n->n_output);
        if (called != FUNCTIONS_NONE) count_call(c, called, a);
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
        return complaint_say(why, "its functions make more than %u nodes of it", AMOUNTS_NODES_MAX);
    return c.err;
}
