/* SPDX-License-Identifier: Apache-2.0
 *
 * Environments: requested, begun, complete.
 */
#include "daemon/worker/stream/device_launch.h"

#include <errno.h>
#include <stdlib.h>

#include "common/atomics.h"
#include "proto/wire/wire.h"

struct environment {
    struct dev_graph shown;
    struct environment *next; /* next in the table's bucket */
    struct list link;         /* asked, a tail, waiting, or none */

    /* The lock guards these, and `next`. */
    struct graph *graph; /* the offered graph, held; NULL: withdrawn, or a client's launch */
    /* the latest call that launched it: the environment whose kernel called, and how */
    struct environment *from;
    enum dev_graph_order how;
    bool running, again;      /* launched; and also in its own tail */
    uint32_t children, tails; /* number of launches by it so far */

    struct graph *reading;      /* the graph of this launch, held */
    struct environment *parent; /* NULL: the outermost, a stream's */
    struct body *body;          /* NULL: it waits, or its own operations are complete */
    struct list tail;
    uint32_t fresh;        /* entries at the front of its tail that the graph itself put there */
    uint32_t open;         /* environments in it, and 1 while its own operations are open */
    struct stream *stream; /* the stream in whose place it runs */
    uint64_t number;
    uint32_t iteration;
};

/* A launch by the client. */
struct root {
    struct environment outer, launch;
    struct list link;    /* launching.roots */
    struct list settled; /* launching.settling, then launching.settled */
};

static struct environment *environment_of(struct dev_graph *shown) {
    return list_entry(shown, struct environment, shown);
}

static struct environment *by_link(struct list *link) {
    return list_entry(link, struct environment, link);
}

static void init_environment(struct environment *e, uint64_t handle) {
    *e = (struct environment){.shown = {.handle = handle}};
    list_init(&e->link);
    list_init(&e->tail);
}

void device_launch_init(struct launching *l, uint64_t seed) {
    *l = (struct launching){.seed = seed};
    pthread_mutex_init(&l->lock, NULL);
    list_init(&l->asked);
    list_init(&l->waiting);
    list_init(&l->bodies);
    list_init(&l->roots);
    list_init(&l->settling);
    list_init(&l->settled);
}

/* ---- offered graphs -------------------------------------------------------------------------- */

static struct environment **place_of(const struct launching *l, uint64_t handle) {
    uint64_t hash = (handle ^ l->seed) * 0x9e3779b97f4a7c15ull;
    struct environment **at = &l->table[(hash ^ l->seed >> 7) >> 54 & (DEVICE_LAUNCH_BUCKETS - 1)];
    while (*at && (*at)->shown.handle != handle)
        at = &(*at)->next;
    return at;
}

static struct environment *find(const struct launching *l, uint64_t handle) {
    return l->table ? *place_of(l, handle) : NULL;
}

/* Frees an entry that is withdrawn and not running. */
static void forget_idle(struct launching *l, struct environment *e) {
    if (e->graph || e->running) return;
    *place_of(l, e->shown.handle) = e->next;
    l->offers--;
    free(e);
}

static int find_or_add(struct launching *l, uint64_t handle, struct environment **out) {
    if (!l->table) l->table = calloc(DEVICE_LAUNCH_BUCKETS, sizeof(struct environment *));
    if (!l->table) return -ENOMEM;
    struct environment **at = place_of(l, handle);
    *out = *at;
    if (*out) return 0;
    if (l->offers == DEVICE_LAUNCH_OFFERS) return -E2BIG;
    struct environment *e = *out = malloc(sizeof(*e));
    if (!e) return -ENOMEM;
    init_environment(e, handle);
    *at = e;
    l->offers++;
    return 0;
}

static void replace_graph(struct environment *e, struct graph *graph) {
    if (graph) graph_hold(graph);
    if (e->graph) graph_release(e->graph);
    e->graph = graph;
}

int device_launch_offer(struct launching *l, uint64_t handle, struct graph *graph) {
    struct environment *e = NULL;
    int err = 0;
    pthread_mutex_lock(&l->lock);
    if (graph)
        err = find_or_add(l, handle, &e);
    else
        e = find(l, handle);
    if (e) replace_graph(e, graph);
    if (e) forget_idle(l, e);
    pthread_mutex_unlock(&l->lock);
    return err;
}

/* ---- requests -------------------------------------------------------------------------------- */

static bool may_launch(const struct environment *e, const struct environment *by,
                       enum dev_graph_order how) {
    if (!e || !e->graph) return false;
    return !e->running || (e == by && how == DEV_GRAPH_TAIL && !e->again);
}

static bool take_turn(uint32_t *count, uint32_t most) {
    if (*count == most) return false;
    ++*count;
    return true;
}

static int ask(struct launching *l, struct environment *by, uint64_t handle,
               enum dev_graph_order how) {
    struct environment *e = find(l, handle);
    if (!may_launch(e, by, how)) return -EINVAL;
    bool counted = how == DEV_GRAPH_TAIL ? take_turn(&by->tails, DEVICE_LAUNCH_TAILS)
                                         : take_turn(&by->children, DEVICE_LAUNCH_CHILDREN);
    if (!counted) return -EAGAIN;
    e->again = e->running;
    e->running = true;
    e->from = by;
    e->how = how;
    list_append(&l->asked, &e->link);
    atom_add_relaxed(&l->calls, 1);
    return 0;
}

int device_launch_ask(struct launching *l, struct dev_graph *from, uint64_t handle,
                      enum dev_graph_order how) {
    pthread_mutex_lock(&l->lock);
    int err = ask(l, environment_of(from), handle, how);
    pthread_mutex_unlock(&l->lock);
    return err;
}

/* ---- beginning a launch ---------------------------------------------------------------------- */

static struct body *take_body(struct launching *l, struct environment *e) {
    struct body *b = NULL;
    if (!list_empty(&l->bodies)) {
        b = list_entry(l->bodies.next, struct body, due);
        list_remove(&b->due);
        b->parent = e->stream;
    } else if ((b = malloc(sizeof(*b)))) {
        body_init(b, e->stream);
    }
    if (!b) return NULL;
    b->launched = e;
    e->body = b;
    l->begun++;
    return b;
}

/* A withdrawn graph has no operations. */
static int start(struct launching *l, struct environment *e) {
    struct body *b = take_body(l, e);
    if (!b) return -ENOMEM;
    body_due(b);
    e->reading = e->graph;
    if (!e->reading) return 0;
    graph_hold(e->reading);
    return body_enter(b, e->reading, e->number, e->iteration);
}

static int start_waiting(struct launching *l) {
    int err = 0;
    while (!err && l->begun < DEVICE_LAUNCH_BEGUN && !list_empty(&l->waiting)) {
        struct environment *e = by_link(l->waiting.next);
        list_remove(&e->link);
        err = start(l, e);
    }
    return err;
}

static void begin(struct launching *l, struct environment *e) {
    pthread_mutex_lock(&l->lock);
    e->children = e->tails = 0;
    pthread_mutex_unlock(&l->lock);
    e->fresh = 0;
    e->open = 1;
    list_append(&l->waiting, &e->link);
}

static void set_place(struct environment *e, const struct environment *as) {
    e->stream = as->stream;
    e->number = as->number;
    e->iteration = as->iteration;
}

static void begin_child(struct launching *l, struct environment *e, struct environment *parent) {
    e->parent = parent;
    parent->open++;
    set_place(e, e->from);
    begin(l, e);
}

/* Inserts it behind the earlier tail launches of this run, and before the older entries. */
static void put_tail(struct environment *e, struct environment *of) {
    struct list *before = of->tail.next;
    for (uint32_t i = 0; i < of->fresh; i++)
        before = before->next;
    list_append(before, &e->link);
    of->fresh++;
}

static void take_calls(struct launching *l) {
    for (;;) {
        struct environment *e = NULL;
        pthread_mutex_lock(&l->lock);
        if (!list_empty(&l->asked)) e = by_link(l->asked.next);
        if (e) list_remove(&e->link);
        if (e) atom_sub_relaxed(&l->calls, 1);
        pthread_mutex_unlock(&l->lock);
        if (!e) return;
        switch (e->how) {
        case DEV_GRAPH_TAIL: put_tail(e, e->from); break;
        case DEV_GRAPH_FORGET: begin_child(l, e, e->from); break;
        case DEV_GRAPH_SIBLING: begin_child(l, e, e->from->parent); break;
        }
    }
}

/* ---- completing a launch --------------------------------------------------------------------- */

/* Allows the graph to be launched again. */
static void end_running(struct launching *l, struct environment *e) {
    pthread_mutex_lock(&l->lock);
    if (e->running) {
        e->running = e->again;
        e->again = false;
        forget_idle(l, e);
    }
    pthread_mutex_unlock(&l->lock);
}

/* The first entry of the tail, possibly the graph itself, replaces this environment. */
static void succeed(struct launching *l, struct environment *e) {
    struct environment *next = by_link(e->tail.next);
    list_remove(&next->link);
    if (next != e) {
        next->parent = e->parent;
        set_place(next, e);
        while (!list_empty(&e->tail)) {
            struct list *left = e->tail.next;
            list_remove(left);
            list_append(&next->tail, left);
        }
    }
    end_running(l, e);
    begin(l, next);
}

/* One of the open parts is complete; likewise upwards. */
static void end_one(struct launching *l, struct environment *e) {
    while (--e->open == 0) {
        struct environment *parent = e->parent;
        if (!list_empty(&e->tail)) {
            succeed(l, e);
            return;
        }
        if (!parent) {
            list_append(&l->settled, &list_entry(e, struct root, outer)->settled);
            return;
        }
        end_running(l, e);
        e = parent;
    }
}

int device_launch_ended(struct launching *l, struct environment *e) {
    struct body *b = e->body;
    e->body = NULL;
    if (e->reading) graph_release(e->reading);
    e->reading = NULL;
    list_append(&l->bodies, &b->due);
    l->begun--;
    end_one(l, e);
    return start_waiting(l);
}

int device_launch_sweep(struct launching *l) {
    take_calls(l);
    while (!list_empty(&l->settling)) {
        struct root *r = list_entry(l->settling.next, struct root, settled);
        list_remove(&r->settled);
        end_one(l, &r->launch);
    }
    return start_waiting(l);
}

/* ---- launches by the client ------------------------------------------------------------------ */

struct environment *device_launch_open(struct launching *l, struct stream *s, uint64_t handle,
                                       uint64_t number) {
    struct root *r = malloc(sizeof(*r));
    if (!r) return NULL;
    init_environment(&r->outer, 0);
    init_environment(&r->launch, handle);
    r->outer.stream = r->launch.stream = s;
    r->launch.number = number;
    r->launch.parent = &r->outer;
    r->outer.open = r->launch.open = 1;
    list_init(&r->settled);
    list_append(&l->roots, &r->link);
    return &r->launch;
}

void device_launch_note(struct environment *e, uint32_t iteration) {
    e->iteration = iteration;
}

struct dev_graph *device_launch_shown(struct environment *e) {
    return &e->shown;
}

void device_launch_settle(struct launching *l, struct environment *e) {
    list_append(&l->settling, &list_entry(e, struct root, launch)->settled);
}

struct stream *device_launch_settled(struct launching *l) {
    if (list_empty(&l->settled)) return NULL;
    struct root *r = list_entry(l->settled.next, struct root, settled);
    struct stream *s = r->outer.stream;
    list_remove(&r->settled);
    list_remove(&r->link);
    free(r);
    return s;
}

/* ---- the end of the client ------------------------------------------------------------------- */

static void free_offered(struct environment *e) {
    if (e->graph) graph_release(e->graph);
    if (e->reading) graph_release(e->reading);
    free(e->body);
    free(e);
}

void device_launch_finish(struct launching *l) {
    for (uint32_t i = 0; l->table && i < DEVICE_LAUNCH_BUCKETS; i++)
        for (struct environment *e = l->table[i], *next; e; e = next) {
            next = e->next;
            free_offered(e);
        }
    free(l->table);
    while (!list_empty(&l->bodies)) {
        struct body *b = list_entry(l->bodies.next, struct body, due);
        list_remove(&b->due);
        free(b);
    }
    while (!list_empty(&l->roots)) {
        struct root *r = list_entry(l->roots.next, struct root, link);
        list_remove(&r->link);
        free(r);
    }
    pthread_mutex_destroy(&l->lock);
}
