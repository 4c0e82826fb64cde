/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of handlers, and the handlers of streams. Stream-ordered records become operations of
 * their stream. The others take effect at once, in the files of their subjects.
 */
#include "daemon/worker/front/exec.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/atomics.h"
#include "common/err.h"
#include "daemon/worker/client.h"
#include "daemon/worker/faults/fault.h"
#include "daemon/worker/front/device_record.h"
#include "daemon/worker/front/graph_record.h"
#include "daemon/worker/front/launchlog.h"
#include "daemon/worker/front/memory_record.h"
#include "daemon/worker/front/module_load.h"
#include "daemon/worker/front/signal_record.h"
#include "daemon/worker/front/texture_record.h"
#include "daemon/worker/operations/iteration_boundary.h"
#include "daemon/worker/operations/progress.h"
#include "daemon/worker/page/reply.h"
#include "daemon/worker/replay/log_replay.h"
#include "daemon/worker/residency/savepoint_writer.h"
#include "daemon/worker/stats.h"
#include "proto/cuda/cuda_abi.h"
#include "proto/wire/record.h"

/* The context of a handler besides its record. */
struct exec {
    struct client *c;
    struct stream *stream;   /* stream-ordered records only */
    struct graph *graph;     /* the graph that has the record; NULL: it came in the ring */
    const struct body *body; /* the body that the graph is; NULL: the client launched it */
    bool again;              /* an earlier worker had given the operation to the device */
    const void *data;        /* a repeated copy's source bytes, as of its first run */
    char *why;
    size_t why_bytes;
};

static __attribute__((cold, format(printf, 2, 3))) int refuse(struct exec *x, const char *fmt,
                                                              ...) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(x->why, x->why_bytes, fmt, args);
    va_end(args);
    return ERR_PROTOCOL;
}

static int drop_op(struct exec *x, struct op *op) {
    progress_drop(x->c, op);
    return refuse(x, "out of memory for an operation");
}

/* Pushes an operation that begins no iteration. */
static int push_op(struct exec *x, struct op *op) {
    int err =
        x->body ? progress_push_inner(x->c, x->stream, op) : progress_push(x->c, x->stream, op);
    return err ? drop_op(x, op) : 0;
}

/* Pushes launches, and operations that stand for launches. */
static int push_launch(struct exec *x, struct op *op, uint64_t fingerprint) {
    if (x->body) return push_op(x, op);
    if (replay_catches_up(&x->c->replay)) { /* repeated operations define no boundary */
        lifetime_launch(&x->c->lifetime);
        return push_op(x, op);
    }
    return iteration_boundary_launch(x->c, x->stream, op, fingerprint) ? drop_op(x, op) : 0;
}

/* Pushes copies and fills. */
static int push_transfer(struct exec *x, struct op *op, bool to_host, uint64_t addr,
                         uint64_t bytes) {
    if (x->body || replay_catches_up(&x->c->replay)) {
        if (!op->dev.result) lifetime_written(&x->c->lifetime, addr, bytes);
        return push_op(x, op);
    }
    return iteration_boundary_transfer(x->c, x->stream, op, to_host, addr, bytes) ? drop_op(x, op)
                                                                                  : 0;
}

static struct op *new_op(struct exec *x, uint16_t kind, uint32_t param_bytes) {
    struct op *op = op_take(&x->c->pool, kind, param_bytes);
    if (!op) {
        refuse(x, "out of memory for an operation");
        return NULL;
    }
    op->again = x->again;
    return op;
}

/* ---- stream-ordered -------------------------------------------------------------------------- */

/* Records may have any size that some device takes (record.c); this device may take less. */
static bool shape_fits(const struct description *d, const struct wire_launch *l) {
    for (uint32_t axis = 0; axis < 3; axis++)
        if (l->grid[axis] > (uint32_t)d->attributes[CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + axis] ||
            l->block[axis] > (uint32_t)d->attributes[CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + axis])
            return false;
    return true;
}

static int check_launch(struct exec *x, const struct wire_launch *l, const struct func *f) {
    uint32_t threads = (uint32_t)l->block[0] * l->block[1] * l->block[2];
    if (!f) return refuse(x, "function %u does not exist", l->func);
    if (l->param_bytes != f->param_bytes)
        return refuse(x, "%u bytes of parameters for %.100s, which takes %u", l->param_bytes,
                      f->name, f->param_bytes);
    if (!shape_fits(&x->c->worker->description, l))
        return refuse(x, "the grid or the block of %.100s exceeds the device's limits", f->name);
    if (threads > f->max_threads)
        return refuse(x, "%u threads a block for %.100s, which allows %u", threads, f->name,
                      f->max_threads);
    if ((uint64_t)l->shared_bytes + f->shared_bytes > x->c->worker->info.shared_optin_bytes)
        return refuse(x, "%u bytes of dynamic shared memory exceed the limit of %.100s",
                      l->shared_bytes, f->name);
    return 0;
}

/* A dead client's launch runs no more: it only takes its place in the stream. */
static int launch_dead(struct exec *x) {
    struct op *op = new_op(x, WIRE_LAUNCH, 0);
    if (!op) return ERR_PROTOCOL;
    op->launch.kernel = NULL;
    return push_op(x, op);
}

/* The environment from which the record's kernels may launch graphs; NULL: they may not. */
static struct environment *environment_of(const struct exec *x) {
    if (x->body) return x->body->launched;
    return x->graph ? x->c->graphs.replay->environment : NULL;
}

static struct op *launch_op(struct exec *x, const struct wire_launch *l, struct func *f) {
    struct op *op = new_op(x, WIRE_LAUNCH, l->param_bytes);
    if (!op) return NULL;
    void *params = op_params(op);
    memcpy(params, l + 1, l->param_bytes);
    op->launch.args = f->shape.launch;
    struct environment *e = environment_of(x);
    op->launch.args.params = params;
    op->launch.args.graph = e ? device_launch_shown(e) : NULL;
    op->launch.func = f;
    op->launch.number = atom_load_relaxed(&x->c->com.page->stats.launches);
    launch_profile_launch(x->c->worker->profiles.kernels, op, f->shape.kernel);
    return op;
}

/* A body's record was right at the graph's launch, or the graph could not have been made. So only a
 * fault follows. */
static int refuse_launch(struct exec *x) {
    if (!x->body) return ERR_PROTOCOL;
    fault_raise(x->c, ERR_LAUNCH_FAILED, x->why);
    return 0;
}

/* Checks that passed for the function's latest shape are not repeated for the same shape. */
static int run_launch(struct exec *x, const void *rec) {
    const struct wire_launch *l = rec;
    struct client *c = x->c;
    struct func *f = c->objects.funcs[l->func];
    if (savepoint_possible(&c->recovery_state.savepoint))
        savepoint_writer_words(c, l + 1, l->param_bytes / 8);
    stats_add(&c->com.page->stats.launches, 1);
    if (client_dead(c)) return launch_dead(x);
    if (!f || !object_again(f, l)) {
        if (check_launch(x, l, f)) return refuse_launch(x);
        launch_profile_shape(&c->profiling, f, l);
    }
    struct op *op = launch_op(x, l, f);
    if (!op) return ERR_PROTOCOL;
    return push_launch(x, op, f->shape.fingerprint);
}

/* Lets an operation fail in stream order, as the hardware would, if the range is not the client's
 * memory. */
static void note_outside(struct op *op, const struct client *c, uint64_t addr, uint64_t bytes) {
    if (client_owns(c, addr, bytes) || op->dev.result) return;
    op->dev.result = ERR_ILLEGAL_ADDRESS;
    op->dev.fault_addr = addr;
    snprintf(op->dev.fault_text, sizeof(op->dev.fault_text),
             "0x%" PRIx64 "+0x%" PRIx64 " is not the client's memory", addr, bytes);
}

static int run_copy(struct exec *x, const void *rec) {
    const struct wire_copy *w = rec;
    struct client *c = x->c;
    struct op *op = new_op(x, WIRE_COPY, 0);
    if (!op) return ERR_PROTOCOL;
    op->copy = (struct dev_copy){.dst = w->dst,
                                 .src = w->src,
                                 .width_bytes = w->width_bytes,
                                 .height = w->height,
                                 .depth = w->depth,
                                 .dst_pitch = w->dst_pitch,
                                 .src_pitch = w->src_pitch,
                                 .dst_slice = w->dst_slice,
                                 .src_slice = w->src_slice};
    uint64_t rows = w->height, slices = w->depth, width = w->width_bytes;
    note_outside(op, c, w->src, record_extent(width, rows, slices, w->src_pitch, w->src_slice));
    if (x->data) {
        op->copy.from_caller = true;
        op->copy.src = (uintptr_t)x->data;
        op->copy.src_pitch = width;
        op->copy.src_slice = width * rows;
    }
    uint64_t bytes = record_extent(width, rows, slices, w->dst_pitch, w->dst_slice);
    note_outside(op, c, w->dst, bytes);
    stats_add(&c->com.page->stats.copies, 1);
    stats_add(&c->com.page->stats.copied_bytes, width * rows * slices);
    return push_transfer(x, op, client_host(c, w->dst, bytes), w->dst, bytes);
}

static int run_memset(struct exec *x, const void *rec) {
    const struct wire_memset *w = rec;
    struct op *op = new_op(x, WIRE_MEMSET, 0);
    if (!op) return ERR_PROTOCOL;
    op->memset = (struct dev_memset){.dst = w->dst,
                                     .pitch = w->pitch,
                                     .width_elems = w->width_elems,
                                     .height = w->height,
                                     .value = w->value,
                                     .elem_bytes = w->elem_bytes};
    uint64_t bytes = record_extent(w->width_elems * w->elem_bytes, w->height, 1, w->pitch, 0);
    note_outside(op, x->c, w->dst, bytes);
    return push_transfer(x, op, false, w->dst, bytes);
}

/* Pushes the record of a signal: its waiters wait for the new point. On failure the point is
 * released, so that its waiters continue. */
static int push_point(struct exec *x, struct op *op, uint32_t id) {
    struct signal *signal = signal_find(&x->c->signals, id);
    struct point *point = signal ? signal_put(signal) : NULL;
    if (!point) {
        drop_op(x, op);
        return refuse(x, signal ? "out of memory for an event" : "signal %u does not exist", id);
    }
    op->event.point = point;
    int err = push_op(x, op);
    if (err) point_done(point, true);
    return err;
}

static int run_event_record(struct exec *x, const void *rec) {
    const struct wire_event_record *e = rec;
    struct op *op = new_op(x, WIRE_EVENT_RECORD, 0);
    if (!op) return ERR_PROTOCOL;
    op->event.id = e->event & ~WIRE_EVENT_MARKS;
    op->event.marks = e->event & WIRE_EVENT_MARKS;
    op->event.arrived_ns = x->c->worker->now_ns;
    op->event.point = NULL;
    if (x->c->worker->info.coarse) stream_time(x->stream);
    return e->signal ? push_point(x, op, e->signal - 1) : push_op(x, op);
}

/* A stream can wait only for earlier records, so no two streams can wait for each other. */
static int wait_signal(struct exec *x, uint32_t id) {
    struct signal *signal = signal_find(&x->c->signals, id);
    if (!signal) return refuse(x, "the client waits for signal %u, which does not exist", id);
    struct op *op = new_op(x, WIRE_STREAM_WAIT, 0);
    if (!op) return ERR_PROTOCOL;
    op->wait.on = x->stream; /* with no recorded point, the stream's own past */
    op->wait.seq = 0;
    struct point *point = op->wait.point = signal_latest(signal);
    int err = push_op(x, op);
    if (err && point) point_drop(point);
    return err;
}

static int wait_stream(struct exec *x, struct stream *on, uint64_t seq) {
    struct op *op = new_op(x, WIRE_STREAM_WAIT, 0);
    if (!op) return ERR_PROTOCOL;
    op->wait.on = on;
    op->wait.seq = seq;
    op->wait.point = NULL;
    return push_op(x, op);
}

static int run_stream_wait(struct exec *x, const void *rec) {
    const struct wire_stream_wait *w = rec;
    const struct body *body = x->body;
    if (body) return wait_stream(x, body->lanes[w->on], body->before[w->on] + w->on_seq);
    if (w->on & WIRE_ON_SIGNAL) return wait_signal(x, w->on & ~WIRE_ON_SIGNAL);
    struct stream *on = x->c->streams.streams[w->on];
    /* the awaited stream's work is complete */
    if (!on && x->c->replay.active) return wait_stream(x, x->stream, 0);
    if (!on || w->on_seq >= on->next)
        return refuse(
            x, "the client waits for operation %" PRIu64 " of stream %u, which was never submitted",
            w->on_seq, w->on);
    return wait_stream(x, on, w->on_seq);
}

static int run_choice(struct exec *x, const void *rec) {
    const struct wire_choice *w = rec;
    if (!x->graph) return refuse(x, "a conditional node must be part of a graph");
    if (!client_host(x->c, w->value, sizeof(uint32_t)))
        return refuse(x, "the value at 0x%" PRIx64 " is outside the host window", w->value);
    struct op *op = new_op(x, WIRE_GRAPH_CHOICE, 0);
    if (!op) return ERR_PROTOCOL;
    op->choice = graph_hold_choice(x->graph, w);
    return push_launch(x, op, graph_choice_fingerprint(&op->choice));
}

static int run_settle(struct exec *x, const void *rec) {
    (void)rec;
    if (!x->graph) return refuse(x, "the end of a graph must be part of a graph");
    struct op *op = new_op(x, WIRE_GRAPH_SETTLE, 0);
    if (!op) return ERR_PROTOCOL;
    struct environment *e = op->environment = x->c->graphs.replay->environment;
    if (e) device_launch_note(e, x->c->boundary.iteration_gate.reading);
    return push_op(x, op);
}

/* Writes the value by a fill of one element. */
static int run_value_write(struct exec *x, const void *rec) {
    const struct wire_value *v = rec;
    struct op *op = new_op(x, WIRE_MEMSET, 0);
    if (!op) return ERR_PROTOCOL;
    savepoint_writer_address(x->c, v->value);
    op->memset = (struct dev_memset){
        .dst = v->addr, .width_elems = 1, .height = 1, .value = v->value, .elem_bytes = v->bytes};
    note_outside(op, x->c, v->addr, v->bytes);
    return push_transfer(x, op, false, v->addr, v->bytes);
}

static int run_value_wait(struct exec *x, const void *rec) {
    const struct wire_value *v = rec;
    struct op *op = new_op(x, WIRE_VALUE_WAIT, 0);
    if (!op) return ERR_PROTOCOL;
    op->value.addr = v->addr;
    op->value.value = v->value;
    op->value.bytes = v->bytes;
    op->value.compare = v->compare;
    note_outside(op, x->c, v->addr, v->bytes);
    x->c->watch.open++;
    return push_op(x, op);
}

static int run_host_func(struct exec *x, const void *rec) {
    const struct wire_host_func *h = rec;
    struct op *op = new_op(x, WIRE_HOST_FUNC, 0);
    if (!op) return ERR_PROTOCOL;
    op->token = h->token;
    if (x->c->replay.active) callback_again(&x->c->callbacks, op, &x->c->com);
    return push_op(x, op);
}

/* ---- immediate ------------------------------------------------------------------------------- */

static int run_stream_create(struct exec *x, const void *rec) {
    const struct wire_stream_create *s = rec;
    int err = stream_open(&x->c->streams, s->rec.stream, s->flags & WIRE_STREAM_NONBLOCKING,
                          s->priority, s->first_seq);
    if (err == ERR_PROTOCOL)
        return refuse(x, "stream %u exists already, or its operation numbers decrease",
                      s->rec.stream);
    if (err) return refuse(x, "stream %u: %s", s->rec.stream, err_text(err));
    reply_status(&x->c->com, &s->rec, x->c->com.fault);
    return 0;
}

static int run_stream_destroy(struct exec *x, const void *rec) {
    const struct wire_stream_destroy *d = rec;
    struct stream *s = stream_find(&x->c->streams, d->rec.stream);
    if (!s) return refuse(x, "stream %u does not exist", d->rec.stream);
    stream_close(s);
    reply_status(&x->c->com, &d->rec, x->c->com.fault);
    return 0;
}

static int run_stream_share(struct exec *x, const void *rec) {
    const struct wire_stream_share *h = rec;
    struct stream *s = stream_find(&x->c->streams, h->rec.stream);
    if (!s) return refuse(x, "stream %u does not exist", h->rec.stream);
    stream_share(s, h->sms);
    reply_status(&x->c->com, &h->rec, x->c->com.fault);
    return 0;
}

static int run_stream_priority(struct exec *x, const void *rec) {
    const struct wire_stream_priority *p = rec;
    struct stream *s = stream_find(&x->c->streams, p->rec.stream);
    if (!s) return refuse(x, "stream %u does not exist", p->rec.stream);
    stream_prioritize(s, p->priority);
    reply_status(&x->c->com, &p->rec, x->c->com.fault);
    return 0;
}

static int run_signal(struct exec *x, const void *rec) {
    signal_record_run(x->c, rec);
    return 0;
}

static int run_ping(struct exec *x, const void *rec) {
    reply_status(&x->c->com, rec, x->c->com.fault);
    return 0;
}

static int run_iteration(struct exec *x, const void *rec) {
    if (!client_dead(x->c)) iteration_boundary_mark(x->c);
    reply_status(&x->c->com, rec, x->c->com.fault);
    return 0;
}

static int run_idle(struct exec *x, const void *rec) {
    if (!client_dead(x->c)) iteration_boundary_idle(x->c);
    reply_status(&x->c->com, rec, x->c->com.fault);
    return 0;
}

/* ---- handled elsewhere ----------------------------------------------------------------------- */

#define EXEC_ELSEWHERE(handler)                                 \
    static int run_##handler(struct exec *x, const void *rec) { \
        return handler(x->c, rec, x->why, x->why_bytes);        \
    }
EXEC_ELSEWHERE(module_load_begin)
EXEC_ELSEWHERE(module_load_unload)
EXEC_ELSEWHERE(module_load_func_get)
EXEC_ELSEWHERE(module_load_func_name_get)
EXEC_ELSEWHERE(module_load_global_get)
EXEC_ELSEWHERE(module_load_show)
EXEC_ELSEWHERE(texture_record_add)
EXEC_ELSEWHERE(texture_record_reference)
EXEC_ELSEWHERE(texture_record_drop)
EXEC_ELSEWHERE(texture_record_array)
EXEC_ELSEWHERE(texture_record_array_drop)
EXEC_ELSEWHERE(memory_record_pages)
EXEC_ELSEWHERE(memory_record_segment)
EXEC_ELSEWHERE(memory_record_file)
EXEC_ELSEWHERE(graph_record_data)
EXEC_ELSEWHERE(graph_record_launch)
EXEC_ELSEWHERE(graph_record_offer)
EXEC_ELSEWHERE(graph_record_drop)
EXEC_ELSEWHERE(device_record_limit)
EXEC_ELSEWHERE(device_record_text)
EXEC_ELSEWHERE(device_record_tensor_map)
EXEC_ELSEWHERE(device_record_clusters)

static int run_mem_use(struct exec *x, const void *rec) {
    return memory_record_use(x->c, rec, x->graph, x->why, x->why_bytes);
}

static int run_mem_drop(struct exec *x, const void *rec) {
    return memory_record_drop(x->c, rec, x->graph, x->why, x->why_bytes);
}

static int (*const handlers[])(struct exec *x, const void *rec) = {
    [WIRE_LAUNCH] = run_launch,
    [WIRE_COPY] = run_copy,
    [WIRE_MEMSET] = run_memset,
    [WIRE_EVENT_RECORD] = run_event_record,
    [WIRE_STREAM_WAIT] = run_stream_wait,
    [WIRE_HOST_FUNC] = run_host_func,
    [WIRE_STREAM_CREATE] = run_stream_create,
    [WIRE_STREAM_DESTROY] = run_stream_destroy,
    [WIRE_MEM_BACK] = run_memory_record_pages,
    [WIRE_MEM_UNBACK] = run_memory_record_pages,
    [WIRE_MODULE_LOAD] = run_module_load_begin,
    [WIRE_MODULE_UNLOAD] = run_module_load_unload,
    [WIRE_FUNC_GET] = run_module_load_func_get,
    [WIRE_GLOBAL_GET] = run_module_load_global_get,
    [WIRE_PING] = run_ping,
    [WIRE_FUNC_NAME] = run_module_load_func_name_get,
    [WIRE_HOST_SHOW] = run_module_load_show,
    [WIRE_MEM_USE] = run_mem_use,
    [WIRE_MEM_DROP] = run_mem_drop,
    [WIRE_ITERATION] = run_iteration,
    [WIRE_IDLE] = run_idle,
    [WIRE_GRAPH_DATA] = run_graph_record_data,
    [WIRE_GRAPH_LAUNCH] = run_graph_record_launch,
    [WIRE_GRAPH_DROP] = run_graph_record_drop,
    [WIRE_GRAPH_CHOICE] = run_choice,
    [WIRE_GRAPH_OFFER] = run_graph_record_offer,
    [WIRE_GRAPH_SETTLE] = run_settle,
    [WIRE_MEM_MAKE] = run_memory_record_segment,
    [WIRE_MEM_OPEN] = run_memory_record_segment,
    [WIRE_MEM_CLOSE] = run_memory_record_segment,
    [WIRE_MEM_SHOW] = run_memory_record_segment,
    [WIRE_MEM_EXPORT] = run_memory_record_segment,
    [WIRE_MEM_SHARE] = run_memory_record_segment,
    [WIRE_TEXTURE] = run_texture_record_add,
    [WIRE_TEXTURE_DROP] = run_texture_record_drop,
    [WIRE_ARRAY_MAKE] = run_texture_record_array,
    [WIRE_ARRAY_DROP] = run_texture_record_array_drop,
    [WIRE_FILE_MAP] = run_memory_record_file,
    [WIRE_FILE_UNMAP] = run_memory_record_file,
    [WIRE_FILE_DROP] = run_memory_record_file,
    [WIRE_SIGNAL_MAKE] = run_signal,
    [WIRE_SIGNAL_OPEN] = run_signal,
    [WIRE_SIGNAL_CLOSE] = run_signal,
    [WIRE_SIGNAL_ASK] = run_signal,
    [WIRE_LIMIT] = run_device_record_limit,
    [WIRE_TEXT] = run_device_record_text,
    [WIRE_VALUE_WAIT] = run_value_wait,
    [WIRE_VALUE_WRITE] = run_value_write,
    [WIRE_STREAM_SHARE] = run_stream_share,
    [WIRE_STREAM_PRIORITY] = run_stream_priority,
    [WIRE_TENSOR_MAP] = run_device_record_tensor_map,
    [WIRE_CLUSTERS] = run_device_record_clusters,
    [WIRE_TEXTURE_REF] = run_texture_record_reference,
};

/* Pushes an operation that is complete at once. */
static int pass(struct exec *x) {
    struct op *op = new_op(x, WIRE_STREAM_WAIT, 0);
    if (!op) return ERR_PROTOCOL;
    op->wait.on = x->stream;
    op->wait.seq = 0;
    op->wait.point = NULL;
    return push_op(x, op);
}

static int run_again(struct exec *x, const struct wire_record *r) {
    enum log_replay_how how = log_replay_how(x->c, r, &x->data);
    if (how == REPLAY_LOST)
        fault_raise(x->c, ERR_WORKER_LOST,
                    "the GPU worker ended, and the data of an unfinished copy was not saved");
    int err = how == REPLAY_RUN || how == REPLAY_DATA ? handlers[r->op](x, r) : pass(x);
    if (!err) log_replay_await(x->c, x->stream, r->seq);
    return err;
}

int exec_record(struct client *c, const void *rec, struct graph *graph, char *why,
                size_t why_bytes) {
    const struct wire_record *r = rec;
    struct exec x = {.c = c, .graph = graph, .why = why, .why_bytes = why_bytes};
    enum log_replay_turn turn = REPLAY_NOW;
    stats_add(&c->com.page->stats.ops, 1);
    if (record_ordered(r->op)) {
        turn = log_replay_turn(c, r);
        if (turn == REPLAY_PAST) return 0; /* the stream may no longer exist */
        x.stream = stream_find(&c->streams, r->stream);
        if (!x.stream) return refuse(&x, "stream %u does not exist", r->stream);
        if (r->seq != x.stream->next)
            return refuse(&x, "stream %u expects operation %" PRIu64 ", the record has %" PRIu64,
                          r->stream, x.stream->next, r->seq);
    }
    if (turn == REPLAY_AGAIN) return run_again(&x, r);
    if (c->replay.active && x.stream) {
        x.again = log_replay_had_begun(c, r);
        log_replay_judge(c, r);
    }
    int err = handlers[r->op](&x, rec);
    if (!err) launchlog_record(c, rec);
    return err;
}

int exec_inner(struct client *c, const struct body *body, const void *rec, struct graph *graph,
               char *why, size_t why_bytes) {
    const struct wire_record *r = rec;
    struct exec x = {.c = c,
                     .stream = body->lanes[r->stream],
                     .graph = graph,
                     .body = body,
                     .why = why,
                     .why_bytes = why_bytes};
    stats_add(&c->com.page->stats.ops, 1);
    return handlers[r->op](&x, rec);
}
