/* SPDX-License-Identifier: Apache-2.0
 *
 * Captures and their streams. A stream has a tail: the nodes on which its next node depends. A
 * recorded event stores the tail of its stream by handle, so that the nodes may be destroyed
 * meanwhile.
 */
#include "shim/capture/capture.h"

#include <stdlib.h>
#include <string.h>

#include "shim/capture/tail.h"
#include "shim/context/ctx.h"
#include "shim/context/event.h"
#include "shim/graph/address_choice.h"
#include "shim/graph/graph.h"
#include "shim/graph/registry.h"
#include "shim/lock.h"

struct capture {
    struct list link, lanes;
    uint64_t id;
    struct graph *graph;
    bool own; /* the capture created the graph */
    bool invalid;
    CUstreamCaptureMode mode;
    const void *thread; /* the thread that began the capture */
    struct capture_lane *first;
};

struct capture_lane {
    struct list link; /* link in capture.lanes */
    struct capture *capture;
    struct stream *stream; /* NULL: the stream was destroyed; its work must still be joined */
    struct tail tail;
};

struct capture_point {
    uint64_t capture;
    CUgraphEdgeData data; /* data of the edges to the node that waits for the event */
    size_t count;
    CUgraphNode nodes[];
};

_Atomic uint32_t capture_careful;

static struct list captures = {&captures, &captures};
static uint64_t last_id;
static struct capture_lane guard; /* the legacy stream's lane while that stream must not be used */
static __thread char here;        /* the address of this variable identifies the thread */

static struct capture_lane *lane_of(const struct stream *s) {
    return atom_load_relaxed(&s->capture);
}

static bool are_of(const struct graph *g, const CUgraphNode *list, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const struct graph_node *n = graph_find_node(list[i]);
        if (!n || n->graph != g) return false;
    }
    return true;
}

/* ---- captures -------------------------------------------------------------------------------- */

static struct capture *find_capture(uint64_t id) {
    struct list *pos;
    list_each(pos, &captures) {
        struct capture *c = list_entry(pos, struct capture, link);
        if (c->id == id) return c;
    }
    return NULL;
}

/* True when the legacy stream would wait for the captured stream. */
static bool is_blocking(const struct capture_lane *lane) {
    return lane->stream && !(lane->stream->flags & CU_STREAM_NON_BLOCKING);
}

static void watch_legacy(void) {
    struct list *c, *l;
    bool blocking = false;
    list_each(c, &captures) list_each(l, &list_entry(c, struct capture, link)->lanes) {
        const struct capture_lane *lane = list_entry(l, struct capture_lane, link);
        blocking |= is_blocking(lane);
    }
    atom_store_release(&stream_find(CU_STREAM_LEGACY)->capture, blocking ? &guard : NULL);
}

static struct capture_lane *join(struct capture *c, struct stream *s) {
    struct capture_lane *lane = calloc(1, sizeof(*lane));
    if (!lane) return NULL;
    lane->capture = c;
    lane->stream = s;
    list_append(&c->lanes, &lane->link);
    atom_store_release(&s->capture, lane);
    watch_legacy();
    return lane;
}

static void let_go(struct capture_lane *lane) {
    if (lane->stream) atom_store_release(&lane->stream->capture, NULL);
    lane->stream = NULL;
}

static void free_lane(struct capture_lane *lane) {
    let_go(lane);
    list_remove(&lane->link);
    tail_free(&lane->tail);
    free(lane);
}

/* Ends a capture: its streams become ordinary ones. The graph stays, unless `drop`. */
static void end(struct capture *c, bool drop) {
    struct list *pos, *next;
    list_each_safe(pos, next, &c->lanes) free_lane(list_entry(pos, struct capture_lane, link));
    list_remove(&c->link);
    watch_legacy();
    if (c->mode != CU_STREAM_CAPTURE_MODE_RELAXED) atom_sub_relaxed(&capture_careful, 1);
    c->graph->capturing = false;
    if (drop && c->own) graph_free(c->graph);
    free(c);
}

static CUresult invalidate(struct capture *c, CUresult why) {
    c->invalid = true;
    return why;
}

/* Called when the legacy stream is used. Invalidates the captures of all streams that it would wait
 * for. */
static CUresult invalidate_blocking(void) {
    struct list *c, *l;
    list_each(c, &captures) list_each(l, &list_entry(c, struct capture, link)->lanes) {
        const struct capture_lane *lane = list_entry(l, struct capture_lane, link);
        if (is_blocking(lane)) lane->capture->invalid = true;
    }
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

/* Finds the lane of a stream to which an operation is sent. */
static CUresult enter_lane(const struct stream *s, struct capture_lane **lane) {
    *lane = lane_of(s);
    if (*lane == &guard) return invalidate_blocking();
    if (!*lane) return CUDA_ERROR_ILLEGAL_STATE; /* the capture has just ended */
    return (*lane)->capture->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
}

/* ---- begin and end --------------------------------------------------------------------------- */

static struct capture *new_capture(CUstreamCaptureMode mode, struct graph *g, bool own) {
    struct capture *c = g ? calloc(1, sizeof(*c)) : NULL;
    if (!c) return NULL;
    *c = (struct capture){.id = ++last_id, .graph = g, .own = own, .mode = mode, .thread = &here};
    list_init(&c->lanes);
    list_append(&captures, &c->link);
    g->capturing = true;
    if (mode != CU_STREAM_CAPTURE_MODE_RELAXED) atom_add_relaxed(&capture_careful, 1);
    return c;
}

static CUresult begin(struct stream *s, CUstreamCaptureMode mode, struct graph *g,
                      const CUgraphNode *before, const CUgraphEdgeData *data, size_t count) {
    if (lane_of(s)) return CUDA_ERROR_ILLEGAL_STATE;
    if (g && (g->capturing || !are_of(g, before, count))) return CUDA_ERROR_INVALID_VALUE;
    struct graph *own = g ? NULL : graph_create(true);
    struct capture *c = new_capture(mode, g ? g : own, !g);
    struct capture_lane *lane = c ? join(c, s) : NULL;
    CUresult r = lane ? tail_add(&lane->tail, before, data, count) : CUDA_ERROR_OUT_OF_MEMORY;
    if (!r)
        c->first = lane;
    else if (c)
        end(c, true);
    else
        graph_free(own);
    return r;
}

CUresult capture_begin(struct stream *s, CUstreamCaptureMode mode, CUgraph graph,
                       const CUgraphNode *before, const CUgraphEdgeData *data, size_t count) {
    if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
    if (s->id == STREAM_LEGACY) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    lock_enter(&graph_lock);
    struct graph *g = graph ? graph_find(graph) : NULL;
    CUresult r = graph && !g ? CUDA_ERROR_INVALID_VALUE : begin(s, mode, g, before, data, count);
    lock_leave(&graph_lock);
    return r;
}

/* Marks all nodes on which the first stream's next node depends. */
static void mark_before(const struct graph_node **todo, size_t count) {
    while (count > 0) {
        const struct graph_node *n = todo[--count];
        for (uint32_t i = 0; i < n->before.count; i++) {
            struct graph_node *b = n->before.list[i].node;
            if (b->mark) continue;
            b->mark = 1;
            todo[count++] = b;
        }
    }
}

static CUresult mark_joined(const struct capture *c) {
    struct list *pos;
    const struct graph_node **todo = malloc((c->graph->count + 1u) * sizeof(struct graph_node *));
    size_t count = 0;
    if (!todo) return CUDA_ERROR_OUT_OF_MEMORY;
    list_each(pos, &c->graph->nodes) list_entry(pos, struct graph_node, link)->mark = 0;
    for (size_t i = 0; i < c->first->tail.count; i++) {
        struct graph_node *n = graph_find_node(c->first->tail.list[i]);
        if (!n || n->mark) continue;
        n->mark = 1;
        todo[count++] = n;
    }
    mark_before(todo, count);
    free(todo);
    return CUDA_SUCCESS;
}

/* Checks that the work in all other streams comes before the end of the first stream. */
static CUresult check_joined(const struct capture *c) {
    struct list *pos;
    CUresult r = mark_joined(c);
    if (r) return r;
    list_each(pos, &c->lanes) {
        const struct capture_lane *lane = list_entry(pos, struct capture_lane, link);
        for (size_t i = 0; i < lane->tail.count; i++) {
            const struct graph_node *n = graph_find_node(lane->tail.list[i]);
            if (n && !n->mark) return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
        }
    }
    return CUDA_SUCCESS;
}

static CUresult finish(struct capture_lane *lane, CUgraph *out) {
    struct capture *c = lane->capture;
    bool foreign = c->mode != CU_STREAM_CAPTURE_MODE_RELAXED && c->thread != &here;
    if (!foreign && !out && c->own) return CUDA_ERROR_INVALID_VALUE;
    if (!foreign && lane != c->first) return invalidate(c, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    CUresult r = foreign      ? CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD
                 : c->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                              : check_joined(c);
    if (out) *out = r ? NULL : c->graph->handle;
    end(c, r != CUDA_SUCCESS);
    return r;
}

CUresult capture_end(struct stream *s, CUgraph *out) {
    lock_enter(&graph_lock);
    struct capture_lane *lane = lane_of(s);
    CUresult r = lane && lane != &guard ? finish(lane, out) : CUDA_ERROR_ILLEGAL_STATE;
    lock_leave(&graph_lock);
    return r;
}

/* ---- queries --------------------------------------------------------------------------------- */

static void describe(const struct capture_lane *lane, struct capture_info *info) {
    const struct capture *c = lane->capture;
    info->status =
        c->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    if (c->invalid) return;
    info->id = c->id;
    info->graph = c->graph->handle;
    info->nodes = lane->tail.list;
    info->data = lane->tail.data;
    info->count = lane->tail.count;
    info->plain = tail_is_plain(&lane->tail);
}

CUresult capture_info(const struct stream *s, struct capture_info *info) {
    CUresult r = CUDA_SUCCESS;
    *info = (struct capture_info){.status = CU_STREAM_CAPTURE_STATUS_NONE, .plain = true};
    if (!stream_captured(s)) return r;
    lock_enter(&graph_lock);
    const struct capture_lane *lane = lane_of(s);
    if (lane == &guard)
        r = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    else if (lane)
        describe(lane, info);
    lock_leave(&graph_lock);
    return r;
}

static CUresult depend(struct stream *s, const CUgraphNode *nodes, const CUgraphEdgeData *data,
                       size_t count, bool as_well) {
    struct capture_lane *lane = lane_of(s);
    if (!lane || lane == &guard) return CUDA_ERROR_ILLEGAL_STATE;
    if (lane->capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (!are_of(lane->capture->graph, nodes, count)) return CUDA_ERROR_INVALID_VALUE;
    if (!as_well) lane->tail.count = 0;
    return tail_add(&lane->tail, nodes, data, count);
}

CUresult capture_depend(struct stream *s, const CUgraphNode *nodes, const CUgraphEdgeData *data,
                        size_t count, bool as_well) {
    if (count && !nodes) return CUDA_ERROR_INVALID_VALUE;
    lock_enter(&graph_lock);
    CUresult r = depend(s, nodes, data, count, as_well);
    lock_leave(&graph_lock);
    return r;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* True for a kernel that may begin before its predecessors end. */
static bool begins_early(const struct params *p) {
    const CUlaunchAttributeID early = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    const CUlaunchAttributeValue *v =
        p->type == CU_GRAPH_NODE_TYPE_KERNEL ? params_attribute(&p->kernel, early) : NULL;
    return v && v->programmaticStreamSerializationAllowed;
}

static CUresult add(struct stream *s, struct params *params) {
    struct capture_lane *lane;
    struct graph_node *n;
    CUresult r = enter_lane(s, &lane);
    if (r) return r;
    struct tail *tail = &lane->tail;
    tail_tidy(tail);
    if (params->type != CU_GRAPH_NODE_TYPE_KERNEL) tail_make_plain(tail);
    if (begins_early(params)) tail_begin_early(tail);
    r = address_choice_add(lane->capture->graph, tail->list, tail->data, tail->count, params, &n);
    if (r) return invalidate(lane->capture, r);
    params->type = CU_GRAPH_NODE_TYPE_EMPTY;
    tail->count = 0;
    r = tail_add(tail, &n->handle, NULL, 1);
    return r ? invalidate(lane->capture, r) : CUDA_SUCCESS;
}

CUresult capture_add(struct stream *s, struct params *params) {
    lock_enter(&graph_lock);
    CUresult r = add(s, params);
    if (r) graph_free_params(params);
    lock_leave(&graph_lock);
    return r;
}

CUresult capture_refuse(struct stream *s) {
    struct capture_lane *lane;
    lock_enter(&graph_lock);
    CUresult r = enter_lane(s, &lane);
    if (!r) r = invalidate(lane->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    lock_leave(&graph_lock);
    return r;
}

/* ---- events ---------------------------------------------------------------------------------- */

static CUresult record(struct stream *s, struct event *e, CUgraphEdgeData data) {
    struct capture_lane *lane;
    CUresult r = enter_lane(s, &lane);
    if (r) return r;
    const struct tail *tail = &lane->tail;
    struct capture_point *p = malloc(sizeof(*p) + (tail->count + 1) * sizeof(CUgraphNode));
    if (!p) return CUDA_ERROR_OUT_OF_MEMORY;
    p->capture = lane->capture->id;
    p->data = data;
    p->count = tail->count;
    if (p->count) memcpy(p->nodes, tail->list, p->count * sizeof(CUgraphNode));
    free(atom_load_relaxed(&e->captured));
    atom_store_relaxed(&e->captured, p);
    return CUDA_SUCCESS;
}

CUresult capture_record(struct stream *s, struct event *e, bool external) {
    if (external) {
        struct params p = {.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD, .event = e->handle};
        return capture_add(s, &p);
    }
    lock_enter(&graph_lock);
    CUresult r = record(s, e, (CUgraphEdgeData){0});
    lock_leave(&graph_lock);
    return r;
}

CUresult capture_record_port(struct stream *s, struct event *e, CUgraphEdgeData data) {
    lock_enter(&graph_lock);
    CUresult r = record(s, e, data);
    lock_leave(&graph_lock);
    return r;
}

CUresult capture_refuse_event(const struct event *e, bool time) {
    lock_enter(&graph_lock);
    const struct capture_point *p = atom_load_relaxed(&e->captured);
    struct capture *c = p ? find_capture(p->capture) : NULL;
    CUresult r = c && !c->invalid ? CUDA_ERROR_CAPTURED_EVENT : CUDA_ERROR_INVALID_VALUE;
    if (c && !time) c->invalid = true;
    lock_leave(&graph_lock);
    return r;
}

void capture_forget(struct event *e) {
    lock_enter(&graph_lock);
    free(atom_load_relaxed(&e->captured));
    atom_store_relaxed(&e->captured, NULL);
    lock_leave(&graph_lock);
}

/* Makes the stream wait for a captured event, by which it joins the capture. */
static CUresult wait_captured(struct stream *s, const struct capture_point *p) {
    struct capture *c = find_capture(p->capture);
    struct capture_lane *lane = lane_of(s);
    if (!c)
        return lane && lane != &guard ? invalidate(lane->capture, CUDA_ERROR_INVALID_VALUE)
                                      : CUDA_ERROR_INVALID_VALUE;
    if (c->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (s->id == STREAM_LEGACY) return invalidate(c, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    if (lane && lane->capture != c) {
        lane->capture->invalid = true;
        return invalidate(c, CUDA_ERROR_STREAM_CAPTURE_MERGE);
    }
    if (!lane) lane = join(c, s);
    CUresult r =
        lane ? tail_wait(&lane->tail, p->nodes, p->data, p->count) : CUDA_ERROR_OUT_OF_MEMORY;
    return r ? invalidate(c, r) : CUDA_SUCCESS;
}

/* Waits for an event outside of the capture, which is an error if the event was ever recorded. */
static CUresult wait_outside(struct stream *s, const struct event *e) {
    struct capture_lane *lane;
    CUresult r = enter_lane(s, &lane);
    if (r || event_point(e).seq == 0) return r;
    return invalidate(lane->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
}

CUresult capture_wait(struct stream *s, const struct event *e, bool external) {
    if (external && stream_captured(s)) {
        struct params p = {.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT, .event = e->handle};
        return capture_add(s, &p);
    }
    lock_enter(&graph_lock);
    const struct capture_point *p = atom_load_relaxed(&e->captured);
    CUresult r = p ? wait_captured(s, p) : wait_outside(s, e);
    lock_leave(&graph_lock);
    return r;
}

/* ---- other calls ----------------------------------------------------------------------------- */

/* CUDA's rule, as documented at cuThreadExchangeStreamCaptureMode. */
static bool forbids(const struct capture *c, CUstreamCaptureMode mode) {
    if (mode == CU_STREAM_CAPTURE_MODE_RELAXED || c->invalid) return false;
    if (c->thread == &here) return c->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    return mode == CU_STREAM_CAPTURE_MODE_GLOBAL && c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

CUresult capture_forbid(void) {
    CUstreamCaptureMode mode = ctx_self ? ctx_self->capture_mode : CU_STREAM_CAPTURE_MODE_GLOBAL;
    CUresult r = CUDA_SUCCESS;
    struct list *pos;
    lock_enter(&graph_lock);
    list_each(pos, &captures) {
        struct capture *c = list_entry(pos, struct capture, link);
        if (forbids(c, mode)) r = invalidate(c, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    lock_leave(&graph_lock);
    return r;
}

CUresult capture_forbid_waiting(void) {
    CUresult r = CUDA_SUCCESS;
    struct list *pos;
    lock_enter(&graph_lock);
    list_each(pos, &captures) {
        struct capture *c = list_entry(pos, struct capture, link);
        if (c->thread == &here && !c->invalid)
            r = invalidate(c, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    lock_leave(&graph_lock);
    return r ? r : capture_gate();
}

/* Removes a destroyed stream from its capture. A program may destroy a stream that it has joined
 * before the capture ends, as NVIDIA's sample graphMemoryNodes does. A capture without its first
 * stream can only be ended. The caller holds the lock. */
static void leave(struct capture_lane *lane) {
    if (lane == lane->capture->first)
        end(lane->capture, true);
    else
        let_go(lane);
    watch_legacy();
}

void capture_leave(struct stream *s) {
    lock_enter(&graph_lock);
    struct capture_lane *lane = lane_of(s);
    if (lane && lane != &guard) leave(lane);
    lock_leave(&graph_lock);
}

/* Begins anew after each lane, because the lists have changed. */
void capture_release(uint32_t owner) {
    struct list *c, *l;
    lock_enter(&graph_lock);
again:
    list_each(c, &captures) list_each(l, &list_entry(c, struct capture, link)->lanes) {
        struct capture_lane *lane = list_entry(l, struct capture_lane, link);
        if (!lane->stream || lane->stream->owner != owner) continue;
        lane->capture->invalid = true;
        leave(lane);
        goto again;
    }
    lock_leave(&graph_lock);
}
