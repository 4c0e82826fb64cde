/* SPDX-License-Identifier: Apache-2.0
 *
 * Compares the ranges that operations read and write. In one stream they are repeated in order. A
 * range that one reads may be written by an earlier one, which writes it again, but not by a later
 * one or by itself. The order between two streams is unknown. Addresses tell memory apart here: a
 * client with memory at two addresses is not restored (RECOVERY_SEGMENTS, RECOVERY_FILES).
 *
 * The host writes to its window by itself. It learns of completion from the completion page, but it
 * may poll memory instead and continue earlier. So a kernel or a value that writes memory of the
 * host may have told it that all earlier work is complete.
 */
#include "daemon/worker/replay/redo.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/device/device_recovery.h"
#include "proto/wire/record.h"

/* ---- ranges of an operation ------------------------------------------------------------------ */

static int add(struct client *c, const struct redone *one) {
    struct replay *r = &c->replay;
    if (r->redone_count == r->redone_room) {
        uint32_t room = 2 * r->redone_room + 64;
        struct redone *more = reallocarray(r->redone, room, sizeof(*more));
        if (!more) return -ENOMEM;
        r->redone = more;
        r->redone_room = room;
    }
    r->redone[r->redone_count++] = *one;
    return 0;
}

struct asking {
    struct client *c;
    struct redone one;
};

static int see(void *arg, const struct dev_touched *t) {
    struct asking *a = arg;
    a->one.touched = *t;
    return add(a->c, &a->one);
}

static int range(struct asking *a, enum dev_touch kind, uint64_t addr, uint64_t bytes) {
    if (!bytes) return 0;
    if (bytes > UINT64_MAX - addr) return -ENOTSUP;
    return see(a, &(struct dev_touched){.kind = kind, .addr = addr, .bytes = bytes});
}

static int touch_copy(struct asking *a, const struct wire_copy *w) {
    uint64_t dst = record_extent(w->width_bytes, w->height, w->depth, w->dst_pitch, w->dst_slice);
    uint64_t src = record_extent(w->width_bytes, w->height, w->depth, w->src_pitch, w->src_slice);
    int err = range(a, DEV_WRITES, w->dst, dst);
    return err ? err : range(a, DEV_READS, w->src, src);
}

static int touch_memset(struct asking *a, const struct wire_memset *w) {
    uint64_t bytes = record_extent(w->width_elems * w->elem_bytes, w->height, 1, w->pitch, 0);
    return range(a, DEV_WRITES, w->dst, bytes);
}

/* The module of the function; NULL: the module is unloaded. */
static const struct module *module_of(const struct client *c, const struct func *f) {
    for (const struct module *m = object_next(&c->objects, 0); m;
         m = object_next(&c->objects, m->id + 1))
        for (const struct func *of = m->funcs; of; of = of->next)
            if (of == f) return m;
    return NULL;
}

/* The latest image loaded under this number, among the records read again so far. */
static struct log_entry *image_of(const struct client *c, uint32_t module) {
    struct log_entry *latest = NULL, *e;
    for (uint64_t at = 0;
         at < c->replay.at && (e = record_log_at(&c->recovery_state.log, at, &at));) {
        const struct wire_module_load *l = (const void *)record_log_record(e);
        if (l->rec.op == WIRE_MODULE_LOAD && l->module == module &&
            !(e->flags & RECORD_LOG_FILLING))
            latest = e;
    }
    return latest;
}

static int touch_launch(struct asking *a, const struct wire_launch *l, char *why,
                        size_t why_bytes) {
    const struct client *c = a->c;
    const struct dev_ops *ops = c->worker->ops;
    const struct func *f = c->objects.funcs[l->func];
    const struct module *m = f && ops->recovery ? module_of(c, f) : NULL;
    struct log_entry *image = m ? image_of(c, m->id) : NULL;
    if (!image || l->param_bytes != f->param_bytes) return -ENOTSUP;
    struct dev_launch launch = {.func = f->dev,
                                .grid = {l->grid[0], l->grid[1], l->grid[2]},
                                .block = {l->block[0], l->block[1], l->block[2]},
                                .shared_bytes = l->shared_bytes,
                                .params = l + 1,
                                .param_bytes = l->param_bytes};
    return ops->recovery->launch_touches(&launch, record_log_tail(image), image->tail_bytes, see, a,
                                         why, why_bytes);
}

static int touch(struct asking *a, const struct wire_record *rec, char *why, size_t why_bytes) {
    const void *r = rec;
    const struct wire_value *v = r;
    switch (rec->op) {
    case WIRE_LAUNCH: return touch_launch(a, r, why, why_bytes);
    case WIRE_COPY: return touch_copy(a, r);
    case WIRE_MEMSET: return touch_memset(a, r);
    case WIRE_VALUE_WRITE: return range(a, DEV_WRITES, v->addr, v->bytes);
    default: return -ENOTSUP;
    }
}

/* ---- comparing two ranges -------------------------------------------------------------------- */

static bool in_window(const struct redone *o, uint64_t base, uint64_t bytes) {
    uint64_t at = o->touched.addr - base;
    return at < bytes && o->touched.bytes <= bytes - at;
}

/* Variables lie outside the memory that a job allocates. */
static bool may_be_variable(const struct client *c, const struct redone *o) {
    const struct wire_windows *w = &c->windows;
    return !in_window(o, w->dev_base, w->alloc_bytes) &&
           !in_window(o, w->host_base, w->host_bytes - WIRE_MANAGED_BYTES(w->host_bytes));
}

static bool writes(const struct redone *o) {
    return o->touched.kind == DEV_WRITES;
}

/* True when one of them reads or writes where the other one writes. */
static bool meet(const struct client *c, const struct redone *o, const struct redone *written) {
    switch (o->touched.kind) {
    case DEV_READS_ALL: return true;
    case DEV_READS_VARIABLES: return may_be_variable(c, written);
    default:
        return o->touched.addr < written->touched.addr + written->touched.bytes &&
               written->touched.addr < o->touched.addr + o->touched.bytes;
    }
}

static bool in_host(const struct client *c, const struct redone *o) {
    const struct redone host = {
        .touched = {.addr = c->windows.host_base, .bytes = c->windows.host_bytes}};
    return o->touched.kind == DEV_READS_VARIABLES || meet(c, o, &host);
}

/* True when `written` may have told the host that the other one is complete, so that the host used
 * its memory. */
static bool tells(const struct client *c, const struct redone *o, const struct redone *written) {
    return (!writes(o) || written->says) && in_host(c, o) && in_host(c, written);
}

/* `o` does not come behind `n`. */
static bool conflict(const struct client *c, const struct redone *o, const struct redone *n) {
    bool same = o->op == n->op, ordered = o->stream == n->stream;
    if (writes(n) && (!writes(o) || !ordered) && meet(c, o, n)) return true;
    if (writes(o) && !writes(n) && (same || !ordered) && meet(c, n, o)) return true;
    if (same) return false;
    return (writes(n) && tells(c, o, n)) || (writes(o) && !ordered && tells(c, n, o));
}

static bool fits(const struct client *c, uint32_t first, char *why, size_t why_bytes) {
    const struct replay *r = &c->replay;
    for (uint32_t n = first; n < r->redone_count; n++)
        for (uint32_t o = 0; o <= n; o++) {
            const struct redone *a = &r->redone[o], *b = &r->redone[n];
            if (!conflict(c, a, b)) continue;
            const struct dev_touched *w = writes(b) ? &b->touched : &a->touched;
            snprintf(why, why_bytes, "%s memory that %s writes, 0x%" PRIx64 "+0x%" PRIx64,
                     a->op == b->op ? "the operation reads" : "other operations use",
                     a->op == b->op ? "it" : "one of them", w->addr, w->bytes);
            return false;
        }
    return true;
}

bool redo_may(struct client *c, const struct wire_record *rec, char *why, size_t why_bytes) {
    uint32_t first = c->replay.redone_count;
    struct asking a = {
        .c = c,
        .one = {.stream = rec->stream,
                .op = ++c->replay.redone_ops,
                .says = rec->op == WIRE_LAUNCH || rec->op == WIRE_VALUE_WRITE},
    };
    why[0] = '\0';
    return !touch(&a, rec, why, why_bytes) && fits(c, first, why, why_bytes);
}
