/* SPDX-License-Identifier: Apache-2.0
 *
 * Members wait in one of two lists: those that may begin, and those that have begun and take turns.
 * A new member goes first, so that small ones are over before more come. As many may have begun at
 * a time as a GPU holds grids. A tail that only follows the end of a grid takes the place of that
 * grid. So a kernel that launches itself again and again needs no more memory each time.
 */
#include "daemon/device/soft/runtime/nest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/runtime/nest_state.h"
#include "daemon/device/soft/runtime/nest_stream.h"

#define NEST_ACTIVE_MAX 128 /* grids that have begun, as on hardware */
#define NEST_TURN_INSTS 256 /* least cost of a turn, in instructions of a slice */
#define NEST_COPY_BYTES 32  /* bytes of a transfer that cost as much as an instruction */

static struct nested *by_line(struct list *line) {
    return list_entry(line, struct nested, line);
}

/* ---- members --------------------------------------------------------------------------------- */

/* Frees the resources for running; other members may still refer to the member. */
static void end_running(struct nested *m) {
    grid_destroy(m->grid);
    m->grid = NULL;
    free(m->room);
    m->room = NULL;
}

static void free_member(struct nested *m) {
    list_remove(&m->line);
    list_remove(&m->all);
    list_remove(&m->tail); /* the tail may outlive it, but only to be freed */
    runtime_give(m->nest->config.runtime, m->params);
    end_running(m);
    nest_names_finish(m);
    nest_moment_unref(m->end);
    free(m);
}

/* ---- completion ------------------------------------------------------------------------------ */

/* Completes ready marks, which may make other members ready. Called before the lock is released. */
static void pass_marks(struct nest *n) {
    while (!list_empty(&n->marks)) {
        struct nested *mark = by_line(n->marks.next);
        n->names_used--;
        nest_moment_come(mark->end);
        free_member(mark);
    }
}

static void complete(struct nested *m) {
    m->nest->live--;
    nest_moment_come(m->end);
    free_member(m);
}

/* Replaces a grid by the last member of its tail: members that wait for the grid wait for that one
 * from now on. */
static void inherit(struct nested *from, struct nested *to) {
    to->parent = from->parent;
    to->end = from->end;
    from->end = NULL;
    from->nest->live--;
    free_member(from);
}

/* Ends one of the things that the member has open, and so on upwards through its parents. */
static void end_one(struct nested *m) {
    while (m && --m->open == 0) {
        struct nested *parent = m->parent;
        if (list_empty(&m->tail)) {
            complete(m);
            m = parent;
            continue;
        }
        struct nested *next = by_line(m->tail.next);
        list_remove(&next->line);
        m->open = 1;
        if (list_empty(&m->tail)) inherit(m, next);
        nest_state_ready(next);
        return;
    }
}

static void fail_nest(struct nest *n, int err, uint64_t addr, const char *text) {
    struct list *pos;
    if (!n->result.err) {
        n->result.err = err;
        n->result.fault_addr = addr;
        snprintf(n->result.text, sizeof(n->result.text), "%s", text);
    }
    list_each(pos, &n->active) if (by_line(pos)->grid) grid_cancel(by_line(pos)->grid, err);
}

static void count(struct grid_result *sum, const struct nested *m) {
    struct grid_result r;
    grid_result(m->grid, &r);
    sum->warp_insts += r.warp_insts;
    sum->thread_insts += r.thread_insts;
    sum->memory_bytes += r.memory_bytes;
}

/* Called when all blocks have ended or the copy is done. */
static void end_run(struct nest *n, struct nested *m) {
    list_remove(&m->line);
    n->active_count--;
    if (m->kind == NESTED_TRANSFER && m->err) {
        fail_nest(n, m->err, m->fault_addr, "a copy or a fill reaches outside the client's memory");
    } else if (m->err) {
        fail_nest(n, m->err, 0, "a grid that a kernel launched could not start");
    } else if (m->kind == NESTED_GRID) {
        struct grid_result r;
        grid_result(m->grid, &r);
        count(&n->result, m);
        if (r.err) fail_nest(n, r.err, r.fault_addr, r.text);
    }
    end_running(m);
    end_one(m);
}

/* ---- turns ----------------------------------------------------------------------------------- */

static bool is_over(const struct nest *n) {
    return n->result.err || !n->live;
}

static struct nested *enter(struct nest *n, struct nested *m) {
    m->inside++;
    n->inside++;
    return m;
}

static bool may_begin(const struct nest *n) {
    return n->active_count < NEST_ACTIVE_MAX && !list_empty(&n->ready);
}

static struct nested *begin_next(struct nest *n) {
    struct nested *m = by_line(n->ready.next);
    list_remove(&m->line);
    list_append(n->active.next, &m->line); /* before all others */
    n->active_count++;
    return enter(n, m);
}

static bool has_use(const struct nested *m) {
    bool alone = m->kind == NESTED_TRANSFER || !m->grid;
    return !m->idle && !m->done && !(alone && m->inside);
}

static struct nested *take(struct nest *n) {
    struct list *pos;
    if (may_begin(n)) return begin_next(n);
    list_each(pos, &n->active) {
        struct nested *m = by_line(pos);
        if (!has_use(m)) continue;
        list_remove(&m->line);
        list_append(&n->active, &m->line);
        return enter(n, m);
    }
    return NULL;
}

/* Creates the grid. The parameters are copied once from memory that kernels can still write; from
 * then on the grid owns the copy. */
static int create_grid(struct nested *m, struct grid **g) {
    const struct code_kernel *k = m->config.kernel;
    const uint32_t bytes = k->entry->ptx->param_bytes;
    m->room = calloc(1, launch_param_room(k, bytes));
    if (!m->room) return -ENOMEM;
    unsigned char *params = launch_param_place(k, m->room);
    const uint32_t given = bytes < m->params_bytes ? bytes : m->params_bytes;
    memcpy(params, (const void *)(uintptr_t)m->params, given);
    m->config.params = params;
    m->config.param_bytes = bytes;
    return grid_create(g, &m->config);
}

/* Begins a grid, without the lock and by one thread. */
static bool begin_grid(struct nest *n, struct nested *m) {
    struct grid *g = NULL;
    int err = create_grid(m, &g);
    runtime_give(n->config.runtime, m->params);
    pthread_mutex_lock(&n->lock);
    m->params = 0;
    m->err = err == -ENOMEM ? ERR_NO_MEMORY : err ? ERR_LAUNCH_FAILED : 0;
    m->grid = g;
    if (g && n->result.err) grid_cancel(g, n->result.err);
    pthread_mutex_unlock(&n->lock);
    return !err;
}

/* Runs a member without the lock. Returns true when it is done. */
static bool run_member(struct nest *n, struct nested *m, int64_t *left, bool *idle) {
    *left -= NEST_TURN_INSTS;
    if (m->kind == NESTED_TRANSFER) {
        runtime_give(n->config.runtime, m->params);
        m->params = 0; /* only its one thread uses it once it has begun */
        uint64_t budget = (uint64_t)(*left > NEST_TURN_INSTS ? *left : NEST_TURN_INSTS);
        int err =
            transfer_step(&m->transfer, n->config.ranges, budget * NEST_COPY_BYTES, &m->fault_addr);
        m->err = err < 0 ? err : 0;
        *left -= err ? NEST_TURN_INSTS : (int64_t)budget;
        return err != 0;
    }
    if (!m->grid && !begin_grid(n, m)) return true;
    enum grid_state state = grid_spend(m->grid, left);
    *idle = state == GRID_IDLE;
    return state == GRID_DONE;
}

static void leave(struct nest *n, struct nested *m, bool done, bool idle) {
    m->inside--;
    n->inside--;
    m->done |= done;
    m->idle = idle && m->inside;
    if (m->done && !m->inside) end_run(n, m);
    pass_marks(n);
}

static bool has_work(const struct nest *n) {
    const struct list *pos;
    if (may_begin(n)) return true;
    list_each(pos, &n->active) if (has_use(list_entry(pos, const struct nested, line))) return true;
    return false;
}

static bool has_asked(const struct nested *m) {
    return m->grid && grid_asked(m->grid);
}

bool nest_asked(const struct nest *n) {
    return n->asked;
}

void nest_settle(struct nest *n) {
    struct list *pos;
    pthread_mutex_lock(&n->lock);
    list_each(pos, &n->active) if (by_line(pos)->grid) grid_settle(by_line(pos)->grid);
    pthread_mutex_unlock(&n->lock);
}

enum grid_state nest_step(struct nest *n, uint32_t budget) {
    int64_t left = budget;
    bool asked = true;
    pthread_mutex_lock(&n->lock);
    while (left > 0 && !is_over(n)) {
        struct nested *m = take(n);
        if (!m) break;
        pthread_mutex_unlock(&n->lock);
        bool idle = false, done = run_member(n, m, &left, &idle);
        pthread_mutex_lock(&n->lock);
        asked &= !done && has_asked(m);
        leave(n, m, done, idle);
    }
    enum grid_state state = is_over(n)    ? (n->inside ? GRID_IDLE : GRID_DONE)
                            : has_work(n) ? GRID_MORE
                                          : GRID_IDLE;
    n->asked = asked;
    pthread_mutex_unlock(&n->lock);
    return state;
}

/* ---- the life of a launch tree --------------------------------------------------------------- */

static void init_nest(struct nest *n, const struct launch_config *config) {
    n->config = *config;
    if (config->ranges) ranges_ref(config->ranges);
    pthread_mutex_init(&n->lock, NULL);
    list_init(&n->all);
    list_init(&n->prepared);
    list_init(&n->ready);
    list_init(&n->active);
    list_init(&n->marks);
}

int nest_create(struct nest **out, const struct launch_config *config) {
    struct nest *n = calloc(1, sizeof(*n));
    if (!n) return -ENOMEM;
    init_nest(n, config);
    struct nested *m = nest_state_member(n, NESTED_GRID);
    int err = m ? 0 : -ENOMEM;
    if (m) {
        m->config = *config;
        m->config.self = m;
        err = grid_create(&m->grid, &m->config);
    }
    if (err) {
        nest_destroy(n);
        return err;
    }
    list_append(&n->active, &m->line);
    n->active_count = n->live = 1;
    *out = n;
    return 0;
}

void nest_cancel(struct nest *n, int err) {
    pthread_mutex_lock(&n->lock);
    if (n->live) fail_nest(n, err, 0, "");
    pthread_mutex_unlock(&n->lock);
}

void nest_result(struct nest *n, struct grid_result *out) {
    struct list *pos;
    pthread_mutex_lock(&n->lock);
    *out = n->result;
    list_each(pos, &n->active) if (by_line(pos)->grid) count(out, by_line(pos));
    pthread_mutex_unlock(&n->lock);
}

void nest_destroy(struct nest *n) {
    if (!n) return;
    while (!list_empty(&n->all))
        free_member(list_entry(n->all.next, struct nested, all));
    ranges_unref(n->config.ranges);
    pthread_mutex_destroy(&n->lock);
    free(n);
}

/* ---- launches -------------------------------------------------------------------------------- */

/* Sets the shape. Everything else is copied from the first grid. */
static void set_shape(struct nested *m, const struct nest_shape *shape) {
    m->config = m->nest->config;
    m->config.kernel = shape->kernel;
    m->config.shared_bytes = shape->shared_bytes;
    m->config.cooperative = 0;
    m->config.self = m;
    memcpy(m->config.grid, shape->grid, sizeof(m->config.grid));
    memcpy(m->config.block, shape->block, sizeof(m->config.block));
    memcpy(m->config.cluster, shape->kernel->entry->ptx->req_cluster, sizeof(m->config.cluster));
}

enum runtime_error nest_prepare(struct nested *self, const struct nest_shape *shape, uint64_t bytes,
                                uint64_t *params) {
    struct nest *n = self->nest;
    enum runtime_error err = runtime_take(n->config.runtime, bytes, params);
    if (err) return err;
    pthread_mutex_lock(&n->lock);
    struct nested *m = nest_state_child(self, NESTED_GRID);
    if (m) {
        m->params = *params;
        m->params_bytes = (uint32_t)bytes;
        if (shape) set_shape(m, shape);
        list_append(&n->prepared, &m->line);
    }
    pthread_mutex_unlock(&n->lock);
    if (m) return RUNTIME_SUCCESS;
    runtime_give(n->config.runtime, *params);
    return RUNTIME_NO_MEMORY;
}

/* Searches in order: launches mostly come in the order of preparation. */
static struct nested *find_prepared(struct nested *self, uint64_t params) {
    struct list *pos;
    list_each(pos, &self->nest->prepared) {
        struct nested *m = by_line(pos);
        if (m->params == params && m->parent == self) return m;
    }
    return NULL;
}

/* Submits a member to a stream of `self`. From then on the member belongs to the stream. */
static enum runtime_error submit(struct nested *self, uint32_t slot, uint64_t stream,
                                 struct nested *m) {
    if (stream == NEST_STREAM_TAIL) {
        m->depth = self->depth;
        list_remove(&m->line);
        list_append(&self->tail, &m->line);
        m->nest->live++;
        return RUNTIME_SUCCESS;
    }
    if (m->depth > NEST_DEPTH_MAX) return RUNTIME_MAX_DEPTH;
    if (stream != NEST_STREAM_FORGET) {
        enum runtime_error err = nest_stream_order(self, slot, stream, m);
        if (err) return err;
    }
    list_remove(&m->line);
    self->open++;
    m->nest->live++;
    if (!m->before) nest_state_ready(m);
    return RUNTIME_SUCCESS;
}

enum runtime_error nest_launch(struct nested *self, uint32_t slot, uint64_t params,
                               const struct nest_shape *shape, uint64_t stream) {
    struct nest *n = self->nest;
    enum runtime_error err = RUNTIME_INVALID_VALUE;
    pthread_mutex_lock(&n->lock);
    struct nested *m = find_prepared(self, params);
    if (m && shape) set_shape(m, shape);
    if (m && m->config.kernel) {
        err = submit(self, slot, stream, m);
        if (err) free_member(m);
    }
    pthread_mutex_unlock(&n->lock);
    return err;
}

enum runtime_error nest_transfer(struct nested *self, uint32_t slot, const struct transfer *t,
                                 uint64_t stream) {
    uint64_t params;
    enum runtime_error err = nest_prepare(self, NULL, 0, &params);
    if (err) return err;
    pthread_mutex_lock(&self->nest->lock);
    struct nested *m = find_prepared(self, params);
    m->kind = NESTED_TRANSFER;
    m->transfer = *t;
    err = submit(self, slot, stream, m);
    if (err) free_member(m);
    pthread_mutex_unlock(&self->nest->lock);
    return err;
}
