/* SPDX-License-Identifier: Apache-2.0
 *
 * Validates one ring record in private memory.
 */
#include "proto/wire/record.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/err.h"
#include "proto/cuda/array_layout.h"
#include "proto/cuda/capability.h"

struct why {
    char *text;
    size_t cap;
};

static __attribute__((cold, format(printf, 2, 3))) int refuse(struct why *why, const char *fmt,
                                                              ...) {
    va_list args;
    va_start(args, fmt);
    if (why->cap) vsnprintf(why->text, why->cap, fmt, args);
    va_end(args);
    return ERR_PROTOCOL;
}

const char *record_name(uint16_t op) {
    switch (op) {
#define X(name, number, type) \
    case number: return #name;
        WIRE_OPS(X)
#undef X
    }
    return "?";
}

/* True if [addr, addr + bytes) does not wrap; an empty range is fine. */
static bool range_ok(uint64_t addr, uint64_t bytes) {
    return addr + bytes >= addr;
}

static bool flags_ok(uint16_t flags) {
    uint32_t size = 1;
    if (!(flags & WIRE_LAUNCH_CLUSTER)) return !(flags & ~WIRE_LAUNCH_COOPERATIVE);
    for (uint32_t axis = 0; axis < 3; axis++)
        size *= wire_cluster_side(flags, axis);
    return !(flags & 0xc) && size <= WIRE_CLUSTER_MAX;
}

static bool divides(const struct wire_launch *l) {
    for (uint32_t axis = 0; l->flags & WIRE_LAUNCH_CLUSTER && axis < 3; axis++)
        if (l->grid[axis] % wire_cluster_side(l->flags, axis)) return false;
    return true;
}

static int check_launch(const struct wire_launch *l, uint32_t bytes, struct why *why) {
    if (l->param_bytes > WIRE_PARAM_MAX)
        return refuse(why, "%u bytes of parameters, at most %u", l->param_bytes, WIRE_PARAM_MAX);
    if (bytes != sizeof(*l) + l->param_bytes)
        return refuse(why, "%u bytes do not fit %u bytes of parameters", bytes, l->param_bytes);
    if (l->func >= WIRE_FUNCS) return refuse(why, "function %u is out of range", l->func);
    if (!flags_ok(l->flags)) return refuse(why, "unknown flags 0x%x", l->flags);
    if (l->grid[0] - 1 >= DESCRIPTION_GRID_X_MAX || l->grid[1] - 1 >= DESCRIPTION_GRID_YZ_MAX ||
        l->grid[2] - 1 >= DESCRIPTION_GRID_YZ_MAX)
        return refuse(why, "grid %ux%ux%u is out of range", l->grid[0], l->grid[1], l->grid[2]);
    if (!divides(l)) return refuse(why, "the grid is not made of whole clusters");
    uint32_t x = l->block[0], y = l->block[1], z = l->block[2];
    if (x - 1 >= DESCRIPTION_BLOCK_XY_MAX || y - 1 >= DESCRIPTION_BLOCK_XY_MAX ||
        z - 1 >= DESCRIPTION_BLOCK_Z_MAX || x * y * z > DESCRIPTION_THREADS_MAX)
        return refuse(why, "block %ux%ux%u is out of range", x, y, z);
    return 0;
}

/* Checks one side of a copy: rows and slices do not overlap, and the total does not wrap. */
static bool side_ok(uint64_t addr, const struct wire_copy *c, uint64_t pitch, uint64_t slice) {
    uint64_t rows, slices, plane, all;
    if (c->height == 1) pitch = 0;
    if (c->height > 1 && pitch < c->width_bytes) return false;
    if (__builtin_mul_overflow(c->height - 1, pitch, &rows) ||
        __builtin_add_overflow(rows, c->width_bytes, &plane))
        return false;
    if (c->depth == 1) slice = 0;
    if (c->depth > 1 && slice < plane) return false;
    if (__builtin_mul_overflow(c->depth - 1, slice, &slices) ||
        __builtin_add_overflow(slices, plane, &all))
        return false;
    return all <= RECORD_EXTENT_MAX && range_ok(addr, all);
}

static int check_copy(const struct wire_copy *c, struct why *why) {
    if (!c->width_bytes || !c->height || !c->depth)
        return refuse(why, "empty copy %" PRIu64 "x%" PRIu64 "x%" PRIu64, c->width_bytes, c->height,
                      c->depth);
    if (!side_ok(c->dst, c, c->dst_pitch, c->dst_slice))
        return refuse(why, "destination rows overlap or wrap");
    if (!side_ok(c->src, c, c->src_pitch, c->src_slice))
        return refuse(why, "source rows overlap or wrap");
    return 0;
}

static int check_memset(const struct wire_memset *m, struct why *why) {
    uint64_t width, rows, all, align;
    if (m->elem_bytes != 1 && m->elem_bytes != 2 && m->elem_bytes != 4)
        return refuse(why, "elements of %u bytes", m->elem_bytes);
    if (!m->width_elems || !m->height) return refuse(why, "empty memset");
    align = m->dst | (m->height > 1 ? m->pitch : 0);
    if (align & (m->elem_bytes - 1)) return refuse(why, "misaligned memset");
    if (__builtin_mul_overflow(m->width_elems, m->elem_bytes, &width) ||
        __builtin_mul_overflow(m->height - 1, m->pitch, &rows) ||
        __builtin_add_overflow(rows, width, &all) || all > RECORD_EXTENT_MAX ||
        !range_ok(m->dst, all) || (m->height > 1 && m->pitch < width))
        return refuse(why, "rows overlap or wrap");
    return 0;
}

static int check_stream_create(const struct wire_stream_create *s, struct why *why) {
    if (s->rec.stream == 0) return refuse(why, "stream 0 always exists");
    if (s->flags & ~WIRE_STREAM_NONBLOCKING) return refuse(why, "unknown flags 0x%x", s->flags);
    if (s->first_seq == 0) return refuse(why, "sequence numbers begin at 1");
    return 0;
}

static int check_mem(const struct wire_mem *m, struct why *why) {
    if (m->bytes == 0 || !range_ok(m->addr, m->bytes))
        return refuse(why, "range 0x%" PRIx64 "+0x%" PRIx64 " is empty or wraps", m->addr,
                      m->bytes);
    return 0;
}

static int check_segment(const struct wire_segment *s, struct why *why) {
    bool asks = s->rec.op != WIRE_MEM_CLOSE && s->rec.op != WIRE_MEM_SHOW;
    bool sized =
        s->rec.op == WIRE_MEM_MAKE || s->rec.op == WIRE_MEM_SHOW || s->rec.op == WIRE_MEM_SHARE;
    if (s->segment >= WIRE_SEGMENTS) return refuse(why, "segment %u is out of range", s->segment);
    if (asks && !s->rec.ticket) return refuse(why, "%s asks for nothing", record_name(s->rec.op));
    if ((s->bytes != 0) != sized || !range_ok(s->addr, s->bytes))
        return refuse(why, "%s of 0x%" PRIx64 "+0x%" PRIx64, record_name(s->rec.op), s->addr,
                      s->bytes);
    return 0;
}

static int check_file_range(const struct wire_file_range *f, struct why *why) {
    bool asks = f->rec.op != WIRE_FILE_UNMAP, drop = f->rec.op == WIRE_FILE_DROP;
    if (f->file >= WIRE_FILES) return refuse(why, "file %u is out of range", f->file);
    if (asks && !f->rec.ticket) return refuse(why, "%s asks for nothing", record_name(f->rec.op));
    if ((f->addr | f->bytes | f->offset) % WIRE_FILE_PAGE || drop != !f->bytes ||
        !range_ok(f->addr, f->bytes) || !range_ok(f->offset, f->bytes))
        return refuse(why, "%s of 0x%" PRIx64 "+0x%" PRIx64 " at 0x%" PRIx64,
                      record_name(f->rec.op), f->addr, f->bytes, f->offset);
    return 0;
}

static int check_event(const struct wire_event_record *e, struct why *why) {
    uint32_t id = e->event & ~WIRE_EVENT_MARKS;
    if ((e->event & WIRE_EVENT_MARKS) == WIRE_EVENT_MARKS)
        return refuse(why, "event %u asks for two times", id);
    if (id >= WIRE_EVENTS) return refuse(why, "event %u is out of range", id);
    if (e->signal > WIRE_SIGNALS) return refuse(why, "signal %u is out of range", e->signal);
    return 0;
}

static int check_wait(const struct wire_stream_wait *w, struct why *why) {
    if (w->on & WIRE_ON_SIGNAL) {
        uint32_t signal = w->on & ~WIRE_ON_SIGNAL;
        if (signal >= WIRE_SIGNALS) return refuse(why, "signal %u is out of range", signal);
        return 0;
    }
    return w->on < WIRE_STREAMS ? 0 : refuse(why, "stream %u is out of range", w->on);
}

static int check_value(const struct wire_value *v, struct why *why) {
    uint32_t most = v->rec.op == WIRE_VALUE_WAIT ? WIRE_VALUE_NOR : 0;
    if (v->bytes != 4 && v->bytes != 8) return refuse(why, "a cell of %u bytes", v->bytes);
    if (v->addr % v->bytes || !range_ok(v->addr, v->bytes))
        return refuse(why, "a cell at 0x%" PRIx64, v->addr);
    if (v->bytes == 4 && v->value > UINT32_MAX)
        return refuse(why, "0x%" PRIx64 " does not fit the cell", v->value);
    if (v->compare > most) return refuse(why, "unknown comparison %u", v->compare);
    return 0;
}

static int check_signal(const struct wire_signal *s, struct why *why) {
    if (s->signal >= WIRE_SIGNALS) return refuse(why, "signal %u is out of range", s->signal);
    if (s->rec.op != WIRE_SIGNAL_CLOSE && !s->rec.ticket)
        return refuse(why, "%s asks for nothing", record_name(s->rec.op));
    return 0;
}

static int check_module_load(const struct wire_module_load *m, struct why *why) {
    if (m->module >= WIRE_MODULES) return refuse(why, "module %u is out of range", m->module);
    if (m->capability && !capability_known(m->capability))
        return refuse(why, "no device has capability %u", m->capability);
    if (m->image_bytes == 0 || m->image_bytes > RECORD_IMAGE_MAX ||
        !range_ok(m->image, m->image_bytes))
        return refuse(why, "an image of %" PRIu64 " bytes", m->image_bytes);
    if (m->why_bytes > RECORD_WHY_MAX || !range_ok(m->why, m->why_bytes))
        return refuse(why, "%" PRIu64 " bytes for the reason", m->why_bytes);
    return 0;
}

/* Checks that a name of `name_bytes`, with its only NUL at the end, ends the record. */
static int check_name(const void *rec, uint32_t bytes, uint32_t head, uint32_t name_bytes,
                      struct why *why) {
    const char *name = (const char *)rec + head;
    if (name_bytes < 2 || name_bytes != bytes - head)
        return refuse(why, "%u bytes do not fit a name of %u", bytes, name_bytes);
    if (memchr(name, 0, name_bytes) != name + name_bytes - 1)
        return refuse(why, "the name does not end where it says");
    return 0;
}

static int check_func_get(const struct wire_func_get *f, uint32_t bytes, struct why *why) {
    if (f->module >= WIRE_MODULES || f->func >= WIRE_FUNCS)
        return refuse(why, "module %u or function %u is out of range", f->module, f->func);
    if (f->params_cap > RECORD_PARAMS_MAX ||
        !range_ok(f->params, f->params_cap * sizeof(struct wire_param)))
        return refuse(why, "room for %u parameters", f->params_cap);
    return check_name(f, bytes, sizeof(*f), f->name_bytes, why);
}

static int check_global_get(const struct wire_global_get *g, uint32_t bytes, struct why *why) {
    if (g->module >= WIRE_MODULES) return refuse(why, "module %u is out of range", g->module);
    return check_name(g, bytes, sizeof(*g), g->name_bytes, why);
}

static int check_func_name(const struct wire_func_name *f, struct why *why) {
    if (f->module >= WIRE_MODULES) return refuse(why, "module %u is out of range", f->module);
    if (!range_ok(f->buf, f->cap)) return refuse(why, "the buffer wraps");
    return 0;
}

static int check_graph_data(const struct wire_graph_data *g, uint32_t bytes, struct why *why) {
    if (g->graph >= WIRE_GRAPHS) return refuse(why, "graph %u is out of range", g->graph);
    if (g->piece_bytes == 0 || g->piece_bytes > WIRE_GRAPH_PIECE ||
        g->piece_bytes != bytes - sizeof(*g))
        return refuse(why, "%u bytes do not fit a piece of %u", bytes, g->piece_bytes);
    if (g->total_bytes > WIRE_GRAPH_BYTES || g->total_bytes % 8 || g->offset > g->total_bytes ||
        g->piece_bytes > g->total_bytes - g->offset)
        return refuse(why, "%u bytes at %" PRIu64 " of a graph of %" PRIu64, g->piece_bytes,
                      g->offset, g->total_bytes);
    return 0;
}

static int check_graph_launch(const struct wire_graph_launch *g, uint32_t bytes, struct why *why) {
    if (g->graph >= WIRE_GRAPHS) return refuse(why, "graph %u is out of range", g->graph);
    if (g->lanes == 0 || g->lanes > WIRE_GRAPH_LANES || g->waits > WIRE_GRAPH_WAITS)
        return refuse(why, "%u lanes and %u waits", g->lanes, g->waits);
    if (bytes != sizeof(*g) + g->lanes * sizeof(struct wire_graph_lane) +
                     g->waits * sizeof(struct wire_graph_wait))
        return refuse(why, "%u bytes do not fit %u lanes and %u waits", bytes, g->lanes, g->waits);
    const struct wire_graph_lane *lane = (const struct wire_graph_lane *)(g + 1);
    for (uint16_t i = 0; i < g->lanes; i++)
        if (lane[i].stream >= WIRE_STREAMS)
            return refuse(why, "stream %u is out of range", lane[i].stream);
    const struct wire_graph_wait *wait = (const struct wire_graph_wait *)(lane + g->lanes);
    for (uint16_t i = 0; i < g->waits; i++)
        if (wait[i].on >= WIRE_STREAMS) return refuse(why, "stream %u is out of range", wait[i].on);
    return 0;
}

static int check_choice(const struct wire_choice *c, uint32_t bytes, struct why *why) {
    bool counted = c->kind == WIRE_CHOICE_IF       ? c->count == 1 || c->count == 2
                   : c->kind == WIRE_CHOICE_SWITCH ? c->count - 1 < WIRE_CHOICES
                                                   : c->count == 1;
    if (c->kind > WIRE_CHOICE_LAUNCH || !counted)
        return refuse(why, "a choice of kind %u with %u bodies", c->kind, c->count);
    if (bytes != sizeof(*c) + c->count * sizeof(uint32_t))
        return refuse(why, "%u bytes do not fit %u bodies", bytes, c->count);
    if (c->value % sizeof(uint32_t)) return refuse(why, "a value at 0x%" PRIx64, c->value);
    const uint32_t *body = (const uint32_t *)(c + 1);
    for (uint32_t i = 0; i < c->count; i++)
        if (body[i] >= WIRE_GRAPHS && body[i] != WIRE_GRAPH_NONE)
            return refuse(why, "graph %u is out of range", body[i]);
    return 0;
}

/* ---- textures -------------------------------------------------------------------------------- */

static struct array_shape shape_of(const struct wire_texture *t, uint32_t element_bytes) {
    return (struct array_shape){t->width, t->height, t->depth, element_bytes,
                                t->flags & WIRE_TEXTURE_LAYERED};
}

static uint64_t texture_bytes(const struct wire_texture *t, uint32_t element_bytes) {
    const struct array_shape shape = shape_of(t, element_bytes);
    if (t->flags & WIRE_TEXTURE_PITCHED)
        return (t->height - 1) * t->pitch + (uint64_t)t->width * element_bytes;
    if (t->flags & WIRE_TEXTURE_LINEAR) return (uint64_t)t->width * element_bytes;
    return array_layout_bytes(&shape, t->first_level + t->levels);
}

uint64_t record_texture_bytes(const struct wire_texture *t) {
    struct array_element e;
    array_layout_element((CUarray_format)t->format, t->channels, &e);
    return texture_bytes(t, e.bytes);
}

static bool modes_ok(const struct wire_texture *t) {
    for (int k = 0; k < 3; k++)
        if (t->address_mode[k] > CU_TR_ADDRESS_MODE_BORDER) return false;
    return t->filter <= CU_TR_FILTER_MODE_LINEAR && t->level_filter <= CU_TR_FILTER_MODE_LINEAR;
}

/* Checks that the levels and layers exist. Memory that is no array has none. */
static bool view_ok(const struct wire_texture *t, uint32_t element_bytes) {
    const struct array_shape shape = shape_of(t, element_bytes);
    bool layered = t->flags & WIRE_TEXTURE_LAYERED;
    uint32_t most = array_layout_levels(&shape);
    if (t->flags & (WIRE_TEXTURE_LINEAR | WIRE_TEXTURE_PITCHED)) most = 1;
    if (!t->levels || t->first_level + t->levels > most) return false;
    if (!layered) return !t->first_layer && !t->layers;
    return t->layers && t->first_layer < t->depth && t->layers <= t->depth - t->first_layer;
}

static bool sizes_ok(const struct wire_texture *t, uint32_t element_bytes) {
    bool linear = t->flags & WIRE_TEXTURE_LINEAR, pitched = t->flags & WIRE_TEXTURE_PITCHED;
    uint32_t widest = linear ? ARRAY_LAYOUT_LINEAR_MAX : ARRAY_LAYOUT_SIDE_MAX;
    if (t->width - 1 >= widest || t->height - 1 >= ARRAY_LAYOUT_SIDE_MAX ||
        t->depth - 1 >= ARRAY_LAYOUT_SIDE_MAX)
        return false;
    if (linear && (t->height > 1 || pitched)) return false;
    if ((linear || pitched) && (t->depth > 1 || t->flags & WIRE_TEXTURE_LAYERED)) return false;
    if (pitched ? t->pitch < (uint64_t)t->width * element_bytes : t->pitch != 0) return false;
    return t->pitch <= RECORD_EXTENT_MAX / ARRAY_LAYOUT_SIDE_MAX;
}

static int check_texture(const struct wire_texture *t, struct why *why) {
    const uint16_t known = WIRE_TEXTURE_SEAMLESS * 2 - 1;
    struct array_element e;
    if (!array_layout_element((CUarray_format)t->format, t->channels, &e) || e.normalized)
        return refuse(why, "%u channels of format 0x%x", t->channels, t->format);
    if (t->flags & ~known) return refuse(why, "unknown flags 0x%x", t->flags);
    if (!modes_ok(t)) return refuse(why, "an unknown mode of a texture");
    if (!sizes_ok(t, e.bytes))
        return refuse(why, "a texture of %ux%ux%u, rows of %" PRIu64, t->width, t->height, t->depth,
                      t->pitch);
    if (!view_ok(t, e.bytes))
        return refuse(why, "levels %u+%u or layers %u+%u, which the array does not have",
                      t->first_level, t->levels, t->first_layer, t->layers);
    uint64_t bytes = texture_bytes(t, e.bytes);
    if (bytes > RECORD_EXTENT_MAX || !range_ok(t->addr, bytes) || (t->addr | t->pitch) % e.bytes)
        return refuse(why, "a texture at 0x%" PRIx64 "+0x%" PRIx64, t->addr, bytes);
    return 0;
}

static int check_texture_ref(const struct wire_texture_ref *t, uint32_t bytes, struct why *why) {
    if (!t->texture.rec.ticket) return refuse(why, "TEXTURE_REF asks for nothing");
    if (t->module >= WIRE_MODULES) return refuse(why, "module %u is out of range", t->module);
    if (t->bound > 1 || t->texture.handle)
        return refuse(why, "a reference bound %u times, handle 0x%" PRIx64, t->bound,
                      t->texture.handle);
    if (!t->bound && t->texture.flags & ~WIRE_TEXTURE_SURFACE)
        return refuse(why, "a reference to nothing, flags 0x%x", t->texture.flags);
    if (t->name_bytes > WIRE_REFERENCE_NAME)
        return refuse(why, "a name of %u bytes", t->name_bytes);
    int err = t->bound ? check_texture(&t->texture, why) : 0;
    return err ? err : check_name(t, bytes, sizeof(*t), t->name_bytes, why);
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static uint32_t at_least_one(uint32_t size) {
    return size ? size : 1;
}

bool record_array_shape(const struct wire_array *a, struct array_shape *out) {
    const uint32_t layered = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP;
    struct array_element e;
    if (!array_layout_element((CUarray_format)a->format, a->channels, &e)) return false;
    *out = (struct array_shape){a->width, at_least_one(a->height), at_least_one(a->depth), e.bytes,
                                (a->flags & layered) != 0};
    return true;
}

/* Checks that the dimensions go together. The device decides which of them it supports. */
static bool dimensions_ok(const struct wire_array *a) {
    const uint32_t known = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP |
                           CUDA_ARRAY3D_TEXTURE_GATHER;
    bool layers = a->flags & CUDA_ARRAY3D_LAYERED, cube = a->flags & CUDA_ARRAY3D_CUBEMAP;
    if (a->flags & ~known || a->width - 1 >= ARRAY_LAYOUT_SIDE_MAX ||
        a->height > ARRAY_LAYOUT_SIDE_MAX || a->depth > ARRAY_LAYOUT_SIDE_MAX)
        return false;
    if (a->depth && !a->height && !layers) return false;
    if (cube) return a->height == a->width && a->depth && a->depth % 6 == 0;
    return !layers || a->depth;
}

static int check_array(const struct wire_array *a, struct why *why) {
    struct array_shape shape;
    if (!a->rec.ticket) return refuse(why, "ARRAY_MAKE asks for nothing");
    if (!record_array_shape(a, &shape))
        return refuse(why, "%u channels of format 0x%x", a->channels, a->format);
    if (!dimensions_ok(a) || a->levels > array_layout_levels(&shape))
        return refuse(why, "an array of %ux%ux%u, %u levels, flags 0x%x", a->width, a->height,
                      a->depth, a->levels, a->flags);
    uint64_t bytes = array_layout_bytes(&shape, record_array_levels(a));
    if (bytes > RECORD_EXTENT_MAX || !range_ok(a->addr, bytes) || a->addr % ARRAY_LAYOUT_ALIGN)
        return refuse(why, "an array at 0x%" PRIx64 "+0x%" PRIx64, a->addr, bytes);
    return 0;
}

static int check_limit(const struct wire_limit *l, struct why *why) {
    switch (l->limit) {
    case CU_LIMIT_STACK_SIZE:
    case CU_LIMIT_PRINTF_FIFO_SIZE:
    case CU_LIMIT_MALLOC_HEAP_SIZE:
    case CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT: return 0;
    default: return refuse(why, "limit %u is none of the device's", l->limit);
    }
}

static int check_text(const struct wire_mem *m, struct why *why) {
    if (!m->rec.ticket) return refuse(why, "TEXT asks for nothing");
    if (m->bytes && (m->bytes < WIRE_TEXT_RING_LEAST || !range_ok(m->addr, m->bytes)))
        return refuse(why, "output of kernels at 0x%" PRIx64 "+0x%" PRIx64, m->addr, m->bytes);
    return 0;
}

static int check_clusters(const struct wire_clusters *c, struct why *why) {
    if (!c->rec.ticket) return refuse(why, "CLUSTERS asks for nothing");
    if (c->func >= WIRE_FUNCS) return refuse(why, "function %u is out of range", c->func);
    if (c->threads - 1 >= DESCRIPTION_THREADS_MAX || c->largest > 1 ||
        !(c->flags & WIRE_LAUNCH_CLUSTER) || !flags_ok(c->flags))
        return refuse(why, "clusters of %u threads a block, flags 0x%x", c->threads, c->flags);
    return 0;
}

static int check_tensor_map(const struct wire_tensor_map *t, struct why *why) {
    const struct tensor_ask *a = &t->ask;
    if (!t->rec.ticket) return refuse(why, "TENSOR_MAP asks for nothing");
    if (!tensor_ask_is_sane(a))
        return refuse(why, "a tensor map of kind %u, rank %u and type %u that cannot be", a->kind,
                      a->rank, a->type);
    return 0;
}

/* Smallest length of the operation. Checks of operations with a tail verify the rest. 0:
 * unknown. */
static uint32_t head_bytes(uint16_t op) {
    switch (op) {
#define X(name, number, type) \
    case number: return sizeof(struct type);
        WIRE_OPS(X)
#undef X
    }
    return 0;
}

static bool has_tail(uint16_t op) {
    return op == WIRE_LAUNCH || op == WIRE_FUNC_GET || op == WIRE_GLOBAL_GET ||
           op == WIRE_GRAPH_DATA || op == WIRE_GRAPH_LAUNCH || op == WIRE_GRAPH_CHOICE ||
           op == WIRE_TEXTURE_REF;
}

/* Checks what all records have in common. The operation takes `head` bytes, or with a tail at least
 * that. */
static inline __attribute__((always_inline)) int check_head(const struct wire_record *r,
                                                            uint32_t bytes, uint32_t head,
                                                            bool tail, bool ordered,
                                                            struct why *why) {
    if (bytes < head || (bytes != head && !tail))
        return refuse(why, "%s of %u bytes, not %u", record_name(r->op), bytes, head);
    if (r->stream >= WIRE_STREAMS) return refuse(why, "stream %u is out of range", r->stream);
    if (r->ticket && r->reply >= WIRE_REPLIES)
        return refuse(why, "reply slot %u is out of range", r->reply);
    if (r->ticket && ordered)
        return refuse(why, "%s wants a reply, its completion is the answer", record_name(r->op));
    if ((r->seq != 0) != ordered)
        return refuse(why, "%s with sequence number %" PRIu64, record_name(r->op), r->seq);
    return 0;
}

static int check_any_head(const struct wire_record *r, uint32_t bytes, struct why *why) {
    uint32_t head = head_bytes(r->op);
    if (!head) return refuse(why, "unknown operation %u", r->op);
    return check_head(r, bytes, head, has_tail(r->op), record_ordered(r->op), why);
}

static int check_body(const void *rec, uint32_t bytes, struct why *why) {
    const struct wire_record *r = rec;
    switch (r->op) {
    case WIRE_COPY: return check_copy(rec, why);
    case WIRE_MEMSET: return check_memset(rec, why);
    case WIRE_EVENT_RECORD: return check_event(rec, why);
    case WIRE_STREAM_WAIT: return check_wait(rec, why);
    case WIRE_STREAM_CREATE: return check_stream_create(rec, why);
    case WIRE_STREAM_SHARE:
    case WIRE_STREAM_PRIORITY:
    case WIRE_STREAM_DESTROY: return r->stream ? 0 : refuse(why, "stream 0 always exists");
    case WIRE_MEM_BACK:
    case WIRE_MEM_USE:
    case WIRE_MEM_DROP:
    case WIRE_HOST_SHOW:
    case WIRE_MEM_UNBACK: return check_mem(rec, why);
    case WIRE_MEM_MAKE:
    case WIRE_MEM_OPEN:
    case WIRE_MEM_CLOSE:
    case WIRE_MEM_SHOW:
    case WIRE_MEM_EXPORT:
    case WIRE_MEM_SHARE: return check_segment(rec, why);
    case WIRE_FILE_MAP:
    case WIRE_FILE_UNMAP:
    case WIRE_FILE_DROP: return check_file_range(rec, why);
    case WIRE_VALUE_WAIT:
    case WIRE_VALUE_WRITE: return check_value(rec, why);
    case WIRE_SIGNAL_MAKE:
    case WIRE_SIGNAL_OPEN:
    case WIRE_SIGNAL_CLOSE:
    case WIRE_SIGNAL_ASK: return check_signal(rec, why);
    case WIRE_MODULE_LOAD: return check_module_load(rec, why);
    case WIRE_MODULE_UNLOAD: {
        const struct wire_module_unload *m = rec;
        return m->module < WIRE_MODULES ? 0 : refuse(why, "module %u is out of range", m->module);
    }
    case WIRE_FUNC_GET: return check_func_get(rec, bytes, why);
    case WIRE_GLOBAL_GET: return check_global_get(rec, bytes, why);
    case WIRE_FUNC_NAME: return check_func_name(rec, why);
    case WIRE_GRAPH_DATA: return check_graph_data(rec, bytes, why);
    case WIRE_GRAPH_LAUNCH: return check_graph_launch(rec, bytes, why);
    case WIRE_GRAPH_DROP: {
        const struct wire_graph_drop *g = rec;
        return g->graph < WIRE_GRAPHS ? 0 : refuse(why, "graph %u is out of range", g->graph);
    }
    case WIRE_GRAPH_CHOICE: return check_choice(rec, bytes, why);
    case WIRE_GRAPH_OFFER: {
        const struct wire_graph_offer *g = rec;
        bool known = g->graph < WIRE_GRAPHS || g->graph == WIRE_GRAPH_NONE;
        return known ? 0 : refuse(why, "graph %u is out of range", g->graph);
    }
    case WIRE_TEXTURE: return check_texture(rec, why);
    case WIRE_TEXTURE_REF: return check_texture_ref(rec, bytes, why);
    case WIRE_ARRAY_MAKE: return check_array(rec, why);
    case WIRE_LIMIT: return check_limit(rec, why);
    case WIRE_TEXT: return check_text(rec, why);
    case WIRE_CLUSTERS: return check_clusters(rec, why);
    case WIRE_TENSOR_MAP: return check_tensor_map(rec, why);
    default: return 0; /* HOST_FUNC and PING: there is nothing after the head */
    }
}

/* Checks a record. Launches come first, since nearly all records are launches. */
int record_check(const void *rec, uint32_t bytes, char *why_text, size_t why_bytes) {
    struct why why = {why_text, why_bytes};
    const struct wire_record *r = rec;
    if (bytes < sizeof(*r)) return refuse(&why, "a record of %u bytes", bytes);
    if (r->op == WIRE_LAUNCH) {
        int err = check_head(r, bytes, sizeof(struct wire_launch), true, true, &why);
        return err ? err : check_launch(rec, bytes, &why);
    }
    int err = check_any_head(r, bytes, &why);
    return err ? err : check_body(rec, bytes, &why);
}
