/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns a graph into records.
 */
#include "shim/graph_exec/compile.h"

#include <stdlib.h>

#include "shim/code/function.h"
#include "shim/connection/refuse.h"
#include "shim/graph/graph_memory.h"
#include "shim/transfer/fill.h"
#include "shim/transfer/value.h"

/* ---- parts ----------------------------------------------------------------------------------- */

static struct part *add_part(struct compile *c) {
    struct part *p = part_create(c->depth == 0);
    if (!p) return NULL;
    p->next = c->first;
    c->first = p;
    return p;
}

/* Ends the part: the stream's own lane waits for all other lanes, and for work that kernels
 * launched. */
static CUresult end_part(const struct compile *c, struct part *p) {
    struct wire_graph_settle rec = {.rec = {.op = WIRE_GRAPH_SETTLE}, .handle = c->handle};
    struct lanes_place all;
    for (uint32_t i = 0; i < WIRE_GRAPH_LANES; i++)
        all.at[i] = p->lanes.count[i];
    CUresult r = part_put_waits(p, 0, &all);
    if (r || !(c->settles || c->handle)) return r;
    return part_put(p, 0, &rec, sizeof(rec), NULL, 0);
}

/* ---- single nodes ---------------------------------------------------------------------------- */

/* Checks what a kernel launches, by CUDA's rules. */
static CUresult check_launches(struct compile *c, uint32_t launches) {
    bool offered = c->offered && c->current == c->offered;
    if (offered && launches & WIRE_LAUNCHES_KERNELS) return CUDA_ERROR_NOT_SUPPORTED;
    if (!(launches & WIRE_LAUNCHES_GRAPHS)) return CUDA_SUCCESS;
    if (c->depth && !offered)
        return refuse_call("a kernel that launches graphs in the body of a conditional node");
    c->settles = true;
    return CUDA_SUCCESS;
}

/* Puts the body of a node that kernels change: the worker reads it with the values of that moment.
 */
static CUresult put_changing(struct compile *c, uint32_t lane, struct wire_launch *l,
                             const struct params_kernel *k) {
    if (c->depth + 1 >= WIRE_GRAPH_DEPTH)
        return refuse_call("conditional nodes nested deeper than 30 levels");
    CUresult r = condition_share(k->changing, &c->conditions);
    if (r) return r;
    c->depth++;
    struct part *body = add_part(c);
    c->depth--;
    r = body ? part_put(body, 0, l, sizeof(*l), k->values, l->param_bytes)
             : CUDA_ERROR_OUT_OF_MEMORY;
    return r ? r : part_put_changing(c->current, lane, k->changing->addr, body);
}

static CUresult put_kernel(struct compile *c, uint32_t lane, const struct params_kernel *k) {
    struct function *f = function_find(k->function);
    struct wire_launch l = k->launch;
    if (!f) return CUDA_ERROR_INVALID_HANDLE;
    if (!atom_load_acquire(&f->ready)) {
        c->ask = f;
        return CUDA_ERROR_NOT_READY;
    }
    if (l.param_bytes != f->info.param_bytes) return CUDA_ERROR_INVALID_VALUE;
    l.rec = (struct wire_record){.op = WIRE_LAUNCH};
    l.func = f->id;
    c->calls |= f->info.launches & WIRE_CALLS;
    CUresult r = check_launches(c, f->info.launches);
    if (!r && k->changing && f->info.launches & WIRE_LAUNCHES_GRAPHS)
        return refuse_call("a kernel that launches graphs and that kernels change");
    if (!r && k->changing) return put_changing(c, lane, &l, k);
    return r ? r : part_put(c->current, lane, &l, sizeof(l), k->values, l.param_bytes);
}

static CUresult put_fill(struct part *p, uint32_t lane, const struct fill *f) {
    struct wire_memset rec = fill_record(f);
    return part_put(p, lane, &rec, sizeof(rec), NULL, 0);
}

static CUresult put_checked_fill(struct part *p, uint32_t lane, const CUDA_MEMSET_NODE_PARAMS *m) {
    struct fill f = {m->dst, m->pitch, m->width, m->height, m->value, m->elementSize};
    CUresult r = fill_check(&f);
    return r ? r : put_fill(p, lane, &f);
}

static CUresult put_values(struct part *p, uint32_t lane, const struct params_values *v) {
    CUresult r = CUDA_SUCCESS;
    for (unsigned int i = 0; !r && i < v->count; i++) {
        struct wire_value rec;
        r = value_record(&v->list[i], &rec);
        if (!r && rec.rec.op) r = part_put(p, lane, &rec, sizeof(rec), NULL, 0);
    }
    return r;
}

static CUresult put_choice(struct compile *c, uint32_t lane, const struct params_choice *n);

/* Rejects nodes that CUDA does not allow in a body, because the number of its runs is unknown. */
static CUresult check_body(const struct params *n) {
    switch (n->type) {
    case CU_GRAPH_NODE_TYPE_HOST:
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return CUDA_ERROR_NOT_SUPPORTED;
    default: return CUDA_SUCCESS;
    }
}

static CUresult put_copy(struct compile *c, uint32_t lane, const struct params_copy *n) {
    CUresult r = part_put_copy(c->current, lane, &n->transfer, n->flags);
    if (!r && c->depth && c->current->function_count)
        return refuse_call(c->current == c->offered
                               ? "a copy of pageable memory in a graph that kernels launch"
                               : "a copy of pageable memory in the body of a conditional node");
    return r;
}

static CUresult put_node(struct compile *c, uint32_t lane, const struct params *n) {
    struct part *p = c->current;
    CUresult r = c->depth ? check_body(n) : CUDA_SUCCESS;
    if (r) return r;
    switch (n->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return put_kernel(c, lane, &n->kernel);
    case CU_GRAPH_NODE_TYPE_MEMCPY: return put_copy(c, lane, &n->copy);
    case CU_GRAPH_NODE_TYPE_MEMSET: return put_checked_fill(p, lane, &n->fill);
    case CU_GRAPH_NODE_TYPE_HOST: return part_put_function(p, lane, n->host.fn, n->host.userData);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: return put_values(p, lane, &n->values);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return part_put_event_wait(p, lane, n->event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return part_put_record(p, lane, n->event);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: return put_choice(c, lane, &n->choice);
    default: return CUDA_ERROR_NOT_SUPPORTED;
    }
}

/* Chooses a lane for a node after `after`, and makes the lane wait for that place. */
static CUresult enter_lane(struct compile *c, const struct lanes_place *after, uint32_t *lane) {
    *lane = lanes_choose(&c->current->lanes, after);
    return part_put_waits(c->current, *lane, after);
}

static void leave_lane(const struct compile *c, struct lanes_place *s, uint32_t lane) {
    *s = lanes_end(&c->current->lanes, lane);
}

/* Puts one node. `s`: the place that the node comes after, then the place after the node. */
static CUresult put_step(struct compile *c, const struct params *n, struct lanes_place *s) {
    uint32_t lane;
    CUresult r = enter_lane(c, s, &lane);
    if (!r) r = put_node(c, lane, n);
    leave_lane(c, s, lane);
    return r;
}

/* ---- allocations ----------------------------------------------------------------------------- */

static struct compile_effect *effect_on(struct compile *c, struct graph_memory *m, bool before) {
    for (uint32_t i = 0; i < c->effect_count; i++)
        if (c->effects[i].memory == m) return &c->effects[i];
    struct compile_effect *e = part_grow((void **)&c->effects, &c->effect_count, sizeof(*e));
    if (e) *e = (struct compile_effect){m, before, before};
    return e;
}

/* Puts an allocation or a free. The worker notes it when it reads the record, outside of all lanes,
 * as with the calls that allocate and free: so the memory alive at an iteration's end includes that
 * of graphs. The launch itself makes sure that the memory exists. */
static CUresult put_memory(struct compile *c, struct graph_memory *m, bool live) {
    if (c->depth) return CUDA_ERROR_NOT_SUPPORTED; /* the number of runs is unknown */
    struct compile_effect *e = effect_on(c, m, !live);
    if (!e) return CUDA_ERROR_OUT_OF_MEMORY;
    if (e->after == live) return CUDA_ERROR_INVALID_VALUE;
    e->after = live;
    if (!graph_memory_on_device(m)) return CUDA_SUCCESS;
    struct wire_mem rec = {
        .rec = {.op = live ? WIRE_MEM_USE : WIRE_MEM_DROP}, .addr = m->addr, .bytes = m->bytes};
    return part_put_aside(c->current, &rec, sizeof(rec));
}

/* ---- conditions ------------------------------------------------------------------------------ */

static CUresult put_graph(struct compile *c, struct graph *g, struct lanes_place *s);

/* Puts the initial values of one graph's conditions. */
static CUresult put_words(struct compile *c, const struct graph *g, struct lanes_place *s) {
    CUresult r = condition_share(g->conditions, &c->conditions);
    for (const struct condition *w = g->conditions; !r && w; w = w->next) {
        const struct fill f = {w->addr, 0, 1, 1, w->value, sizeof(uint32_t)};
        uint32_t lane;
        if (!w->assigned) continue;
        r = enter_lane(c, s, &lane);
        if (!r) r = put_fill(c->current, lane, &f);
        leave_lane(c, s, lane);
    }
    return r;
}

static CUresult put_conditions(struct compile *c, const struct graph *g, struct lanes_place *s);

static CUresult put_conditions_within(struct compile *c, const struct params *p,
                                      struct lanes_place *s) {
    if (p->type == CU_GRAPH_NODE_TYPE_GRAPH) return put_conditions(c, p->child, s);
    CUresult r = CUDA_SUCCESS;
    for (uint32_t i = 0; p->type == CU_GRAPH_NODE_TYPE_CONDITIONAL && !r && i < p->choice.count;
         i++)
        r = put_conditions(c, p->choice.bodies[i], s);
    return r;
}

/* Puts the conditions of the graph and of all bodies. A body that runs again finds the value last
 * written, as in CUDA. */
static CUresult put_conditions(struct compile *c, const struct graph *g, struct lanes_place *s) {
    struct list *pos;
    CUresult r = put_words(c, g, s);
    list_each(pos, &g->nodes) {
        if (r) break;
        r = put_conditions_within(c, &list_entry(pos, struct graph_node, link)->params, s);
    }
    return r;
}

/* Puts a body. `launched`: the part is a graph that kernels launch. */
static CUresult put_body(struct compile *c, struct graph *g, bool launched, struct part **out) {
    struct part *before = c->current;
    struct lanes_place s = {.at = {0}};
    c->depth++;
    struct part *p = c->current = *out = add_part(c);
    CUresult r = p ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (!r && launched) r = put_conditions(c, g, &s);
    if (!r) r = put_graph(c, g, &s);
    c->depth--;
    c->current = before;
    return r;
}

static CUresult put_choice(struct compile *c, uint32_t lane, const struct params_choice *n) {
    if (c->depth + 1 >= WIRE_GRAPH_DEPTH)
        return refuse_call("conditional nodes nested deeper than 30 levels");
    struct part **bodies = calloc(n->count, sizeof(struct part *));
    CUresult r = bodies ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    for (uint32_t i = 0; !r && i < n->count; i++)
        r = put_body(c, n->bodies[i], false, &bodies[i]);
    if (!r) r = part_put_choice(c->current, lane, n, bodies);
    free(bodies);
    return r;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static CUresult put_any(struct compile *c, const struct graph_node *n, struct lanes_place *s) {
    const struct params *p = &n->params;
    bool changing = p->type == CU_GRAPH_NODE_TYPE_KERNEL && p->kernel.changing;
    if (n->disabled && !changing) return CUDA_SUCCESS;
    switch (p->type) {
    case CU_GRAPH_NODE_TYPE_EMPTY: return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_GRAPH: return put_graph(c, p->child, s);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: return put_memory(c, p->memory, true);
    case CU_GRAPH_NODE_TYPE_MEM_FREE: return put_memory(c, p->memory, false);
    default: return put_step(c, p, s);
    }
}

static CUresult put_ordered(struct compile *c, struct graph_node **order, uint32_t count,
                            struct lanes_place *places, struct lanes_place *s) {
    const struct lanes_place begin = *s;
    for (uint32_t i = 0; i < count; i++) {
        struct graph_node *n = order[i];
        n->mark = i;
        places[i] = begin;
        for (uint32_t k = 0; k < n->before.count; k++)
            lanes_join(&places[i], &places[n->before.list[k].node->mark]);
        CUresult r = put_any(c, n, &places[i]);
        if (r) return r;
        lanes_join(s, &places[i]);
    }
    return CUDA_SUCCESS;
}

static CUresult put_graph(struct compile *c, struct graph *g, struct lanes_place *s) {
    struct graph_node **order;
    CUresult r = graph_order(g, &order);
    if (r) return r;
    struct lanes_place *places = malloc((g->count + 1u) * sizeof(*places));
    r = places ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (!r) r = put_ordered(c, order, g->count, places, s);
    free(places);
    free(order);
    return r;
}

/* Puts the part that kernels launch. The part is known while it is written, because its nodes
 * follow other rules than those of bodies. */
static CUresult put_offered(struct compile *c, struct graph *g) {
    return put_body(c, g, true, &c->offered);
}

CUresult compile_graph(struct graph *g, struct compile *out) {
    struct lanes_place begin = {.at = {1}}; /* after the wait for the previous launch */
    struct part *p = out->current = add_part(out);
    CUresult r = p ? put_conditions(out, g, &begin) : CUDA_ERROR_OUT_OF_MEMORY;
    if (!r) r = put_graph(out, g, &begin);
    if (!r) r = end_part(out, p);
    return r || !out->handle ? r : put_offered(out, g);
}

void compile_free(struct compile *c) {
    for (struct part *p = c->first, *next; p; p = next) {
        next = p->next;
        part_free(p);
    }
    condition_free(c->conditions);
    free(c->effects);
}
