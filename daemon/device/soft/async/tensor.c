/* SPDX-License-Identifier: Apache-2.0
 *
 * cp.async.bulk.tensor and cp.reduce.async.bulk.tensor: copies a box of a tensor of one to five
 * dimensions between global and shared memory, as a tensor map describes it
 * (proto/cuda/tensor_map.h). The copies are done at once, like the other bulk copies. In shared
 * memory a box lies row by row, each row dense, in chunks of 16 bytes, which the swizzle permutes.
 * Elements outside the tensor read as zeros or NaNs and are not written.
 *
 * Instead of a box the copy may be of four rows of a two-dimensional tensor (gather4, scatter4), or
 * of the columns of a convolution (im2col). Columns are channels of a number of pixels, which
 * follow each other through a range of pixels of an image, and then through that of the next image.
 *
 * Instruction fields: a is the place in the cluster's shared memory; b the address of the map; e
 * the barrier of a copy to shared memory, else none; sub says how to combine with global memory,
 * unless it is PTX_SUB_NONE; d_bytes is the number of dimensions. extra's uses are the coordinates,
 * then for columns the pixel offsets, then for a copy to several blocks the mask of the blocks.
 */
#include "daemon/device/soft/async/tensor.h"

#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/async/bulk.h"
#include "daemon/device/soft/async/mbarrier.h"
#include "daemon/device/soft/code/func.h"
#include "daemon/device/soft/launch/cluster_state.h"
#include "daemon/device/soft/memory/atomic_access.h"
#include "daemon/device/soft/memory/mem.h"
#include "proto/cuda/tensor_map.h"

#define CHUNK 16u
#define SHARED_ALIGN 128u
#define ROW_MOST (TENSOR_MAP_BOX * 8u)
#define GATHERED 4u /* rows of gather4 and scatter4 */

struct box {
    struct tensor_map map;
    uint32_t form; /* CODE_BULK_ROWS, CODE_BULK_COLUMNS or neither */
    /* Coordinates of its first element; for rows: the rows, from 1 on. */
    int64_t at[TENSOR_MAP_RANK];
    int64_t offset[TENSOR_MAP_RANK]; /* pixel offsets */
    uint32_t count[TENSOR_MAP_RANK]; /* elements of the box */
    uint32_t element, row_bytes;     /* sizes in bytes */
    uint64_t rows, bytes;            /* rows and bytes of the whole box */
    uint32_t first, behind;          /* elements of a row that lie in the tensor: [first, behind) */
};

static bool refuse(struct warp_ctx *x, const struct code_inst *i, uint32_t lane, int err,
                   uint64_t at, const char *what) {
    warp_fault(&x->w, i, lane, err, at, what);
    return false;
}

/* ---- the request -------------------------------------------------------------------------------
 */

/* Reads the map once, since the client may write to it meanwhile. */
static bool read_map(struct warp_ctx *x, const struct code_inst *i, uint32_t lane,
                     struct tensor_map *map) {
    const uint64_t at = SLOT(const uint64_t, &x->w, i->b)[lane];
    if (!mem_lane_ok(x, lane, at, sizeof(*map), false))
        return refuse(x, i, lane, ERR_ILLEGAL_ADDRESS, at, NULL);
    if (at % CHUNK) return refuse(x, i, lane, ERR_MISALIGNED, at, NULL);
    for (size_t k = 0; k < sizeof(*map) / 8; k++) {
        const uint64_t word = ((const volatile uint64_t *)(uintptr_t)at)[k];
        memcpy((unsigned char *)map + 8 * k, &word, 8);
    }
    if (!tensor_map_is_valid(map))
        return refuse(x, i, lane, ERR_ILLEGAL_INSTRUCTION, at, "the address holds no tensor map");
    return true;
}

static void measure(struct box *b) {
    const struct tensor_map *m = &b->map;
    const int64_t size = (int64_t)m->last[0] + 1, from = -b->at[0], to = size - b->at[0];
    b->element = tensor_map_element(m->type);
    b->row_bytes = tensor_map_row(m);
    b->rows = 1;
    for (uint32_t d = 0; d < m->rank; d++) {
        b->count[d] = d ? (m->box[d] + m->step[d] - 1u) / m->step[d] : m->box[0];
        if (d) b->rows *= b->count[d];
    }
    if (b->form == CODE_BULK_ROWS) b->rows = GATHERED;
    if (b->form == CODE_BULK_COLUMNS) b->rows = m->pixels;
    b->bytes = b->rows * b->row_bytes;
    b->first = from < 0 ? 0 : from > m->box[0] ? m->box[0] : (uint32_t)from;
    b->behind = to < 0 ? 0 : to > m->box[0] ? m->box[0] : (uint32_t)to;
    if (b->behind < b->first) b->behind = b->first;
}

static bool read_box(struct warp_ctx *x, const struct code_inst *i, uint32_t lane, struct box *b) {
    const struct code_elem *uses = ((const struct code_extra *)i->extra)->uses;
    b->form = i->vec & (CODE_BULK_ROWS | CODE_BULK_COLUMNS);
    if (!read_map(x, i, lane, &b->map)) return false;
    if (b->map.rank != i->d_bytes)
        return refuse(x, i, lane, ERR_ILLEGAL_INSTRUCTION, b->map.rank,
                      "the tensor has another number of dimensions");
    if (b->map.columns != (b->form == CODE_BULK_COLUMNS))
        return refuse(x, i, lane, ERR_ILLEGAL_INSTRUCTION, b->map.columns,
                      "the tensor map was made for another kind of copy");
    const uint32_t count = b->form == CODE_BULK_ROWS ? 1 + GATHERED : b->map.rank;
    for (uint32_t d = 0; d < count; d++)
        b->at[d] = SLOT(const int32_t, &x->w, uses[d].slot)[lane];
    for (uint32_t d = 0; d < TENSOR_MAP_RANK; d++)
        b->offset[d] = 0;
    if (b->form == CODE_BULK_COLUMNS && i->e != CODE_NO_SLOT)
        for (uint32_t d = 1; d + 1 < count; d++)
            b->offset[d] = SLOT(const uint16_t, &x->w, uses[count + d - 1].slot)[lane];
    measure(b);
    return true;
}

/* ---- rows --------------------------------------------------------------------------------------
 */

/* Iterates over the rows. */
struct walk {
    uint64_t row;
    int64_t at[TENSOR_MAP_RANK]; /* coordinates from 1 on of the next row, without offsets */
};

static struct walk begin(const struct box *b) {
    struct walk w = {0};
    memcpy(w.at, b->at, sizeof(w.at));
    return w;
}

static void next_in_box(const struct box *b, struct walk *w) {
    uint64_t n = w->row;
    for (uint32_t d = 1; d < b->map.rank; d++) {
        w->at[d] = b->at[d] + (int64_t)(n % b->count[d]) * b->map.step[d];
        n /= b->count[d];
    }
}

/* Steps along the first dimension of pixels. Beyond the end of the range it continues at its
 * beginning in the next dimension, and so on to the next image. */
static void next_pixel(const struct box *b, struct walk *w) {
    const struct tensor_map *m = &b->map;
    const uint32_t image = m->rank - 1u;
    for (uint32_t d = 1; d < image; d++) {
        w->at[d] += m->step[d];
        if (w->at[d] <= (int64_t)m->last[d] + m->upper[d - 1]) return;
        w->at[d] = m->lower[d - 1];
    }
    w->at[image]++;
}

static void advance(const struct box *b, struct walk *w) {
    w->row++;
    if (b->form == CODE_BULK_COLUMNS)
        next_pixel(b, w);
    else if (b->form == CODE_BULK_ROWS)
        w->at[1] = b->at[1 + w->row % GATHERED];
    else
        next_in_box(b, w);
}

/* Finds the start of the next row in global memory. Returns false if the row is outside the
 * tensor. */
static bool find_row(const struct box *b, const struct walk *w, uint64_t *at) {
    uint64_t addr = b->map.address + (uint64_t)b->at[0] * b->element;
    for (uint32_t d = 1; d < b->map.rank; d++) {
        const int64_t k = w->at[d] + b->offset[d];
        if (k < 0 || k > (int64_t)b->map.last[d]) return false;
        addr += (uint64_t)k * b->map.stride[d - 1];
    }
    *at = addr;
    return b->first < b->behind;
}

/* Swizzled offset of a chunk: its number within 32, 64 or 128 bytes is combined with the number of
 * the 128-byte line. */
static uint64_t swizzled(uint8_t swizzle, uint64_t offset) {
    const uint64_t mask = (1u << swizzle) - 1;
    return offset ^ (offset >> 7 & mask) << 4;
}

typedef uint64_t __attribute__((may_alias, aligned(1))) client_u64;
typedef uint8_t __attribute__((may_alias)) client_u8;

__attribute__((no_sanitize("thread"))) static void move(uint64_t to, uint64_t from,
                                                        uint64_t bytes) {
    for (; bytes >= 8; bytes -= 8, to += 8, from += 8)
        *(volatile client_u64 *)(uintptr_t)to = *(const volatile client_u64 *)(uintptr_t)from;
    for (; bytes; bytes--, to++, from++)
        *(volatile client_u8 *)(uintptr_t)to = *(const volatile client_u8 *)(uintptr_t)from;
}

/* Moves a row to or from shared memory, where the box begins at `base` and the row is at
 * `offset`. */
static void move_row(const struct box *b, uint64_t base, uint64_t offset, unsigned char *row,
                     bool up) {
    for (uint32_t k = 0; k < b->row_bytes; k += CHUNK) {
        const uint64_t at = base + swizzled(b->map.swizzle, offset + k);
        if (up)
            memcpy((void *)(uintptr_t)at, row + k, CHUNK);
        else
            memcpy(row + k, (const void *)(uintptr_t)at, CHUNK);
    }
}

/* Finds the part of a row that is in the tensor, checks it and counts its traffic. */
static bool reach_row(struct warp_ctx *x, const struct code_inst *i, uint32_t lane,
                      const struct box *b, uint64_t row, bool write, uint64_t *at,
                      uint64_t *bytes) {
    *at = row + (uint64_t)b->first * b->element;
    *bytes = (uint64_t)(b->behind - b->first) * b->element;
    x->sectors += (*at % 32 + *bytes + 31) / 32;
    return mem_lane_ok(x, lane, *at, *bytes, write) ||
           refuse(x, i, lane, ERR_ILLEGAL_ADDRESS, *at, NULL);
}

/* ---- copies to shared memory -------------------------------------------------------------------
 */

/* Fills a row with the value of elements outside the tensor: zeros, or the NaN of the type. */
static void fill_row(const struct box *b, unsigned char *row) {
    static const unsigned char nan[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f};
    if (!b->map.fill) {
        memset(row, 0, b->row_bytes);
        return;
    }
    for (uint32_t k = 0; k < b->row_bytes; k += b->element)
        memcpy(row + k, nan + 8 - b->element, b->element);
}

/* Flushes subnormals to zeros of the same sign. */
static void flush_row(const struct box *b, unsigned char *row) {
    if (b->map.type != CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ &&
        b->map.type != CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ)
        return;
    for (uint32_t k = 0; k < b->row_bytes; k += 4) {
        uint32_t v;
        memcpy(&v, row + k, 4);
        if (!(v & 0x7f800000)) v &= 0x80000000;
        memcpy(row + k, &v, 4);
    }
}

static bool load_row(struct warp_ctx *x, const struct code_inst *i, uint32_t lane,
                     const struct box *b, const struct walk *n, unsigned char *row) {
    uint64_t from, at, bytes;
    fill_row(b, row);
    if (!find_row(b, n, &from)) return true;
    if (!reach_row(x, i, lane, b, from, false, &at, &bytes)) return false;
    move((uint64_t)(uintptr_t)row + b->first * b->element, at, bytes);
    flush_row(b, row);
    return true;
}

/* Copies to one block. */
static bool copy_up(struct warp_ctx *x, const struct code_inst *i, uint32_t lane,
                    const struct box *b, uint64_t to, uint64_t barrier) {
    const struct cluster *c = x->block->cluster;
    unsigned char row[ROW_MOST];
    uint64_t offset;
    uint32_t rank;
    if (!bulk_in_cluster(x, i, lane, b->bytes, SHARED_ALIGN, true, &to) ||
        !bulk_find_barrier(x, i, lane, &barrier) || !cluster_find(c, to, &rank, &offset))
        return false;
    for (struct walk n = begin(b); n.row < b->rows; advance(b, &n)) {
        if (!load_row(x, i, lane, b, &n, row)) return false;
        move_row(b, to - offset, offset + n.row * b->row_bytes, row, true);
    }
    return mbarrier_came(&x->w, i, lane, barrier, (uint32_t)b->bytes);
}

static bool copy_to_all(struct warp_ctx *x, const struct code_inst *i, uint32_t lane,
                        const struct box *b, uint64_t to, uint64_t barrier, uint32_t blocks) {
    for (; blocks; blocks &= blocks - 1) {
        const uint32_t rank = (uint32_t)__builtin_ctz(blocks);
        if (!copy_up(x, i, lane, b, bulk_in_rank(to, rank), bulk_in_rank(barrier, rank)))
            return false;
    }
    return true;
}

/* ---- copies from shared memory -----------------------------------------------------------------
 */

/* Type in which elements are combined; PTX_NONE: this combination is not supported. */
static uint8_t combined_as(uint32_t sub, uint32_t type) {
    static const uint8_t types[] = {PTX_U8,  PTX_U16, PTX_U32,  PTX_S32, PTX_U64, PTX_S64, PTX_F16,
                                    PTX_F32, PTX_F64, PTX_BF16, PTX_F32, PTX_F32, PTX_F32};
    const uint8_t t = types[type];
    const bool real = tensor_map_is_real(type), wide = t == PTX_F32 || t == PTX_F64;
    switch (sub) {
    case PTX_SUB_ADD: return t == PTX_U8 || t == PTX_U16 ? PTX_NONE : t;
    case PTX_SUB_MIN:
    case PTX_SUB_MAX: return wide || t == PTX_U8 || t == PTX_U16 ? PTX_NONE : t;
    case PTX_SUB_INC:
    case PTX_SUB_DEC: return t == PTX_U32 ? t : PTX_NONE;
    default: return real || t == PTX_U8 || t == PTX_U16 ? PTX_NONE : t;
    }
}

static void combine_row(const struct code_inst *i, const struct box *b, uint64_t to,
                        const unsigned char *row, uint64_t bytes) {
    struct code_inst like = *i;
    like.type = combined_as(i->sub, b->map.type);
    for (uint64_t k = 0; k < bytes; k += b->element) {
        uint64_t value = 0;
        memcpy(&value, row + k, b->element);
        atomic_access_combine(&like, to + k, value);
    }
}

static bool copy_down(struct warp_ctx *x, const struct code_inst *i, uint32_t lane,
                      const struct box *b, uint64_t from) {
    unsigned char row[ROW_MOST];
    uint64_t offset, to, at, bytes;
    uint32_t rank;
    if (i->sub != PTX_SUB_NONE && combined_as(i->sub, b->map.type) == PTX_NONE)
        return refuse(x, i, lane, ERR_ILLEGAL_INSTRUCTION, b->map.type,
                      "unsupported element type of the tensor");
    if (!bulk_in_cluster(x, i, lane, b->bytes, SHARED_ALIGN, true, &from) ||
        !cluster_find(x->block->cluster, from, &rank, &offset))
        return false;
    for (struct walk n = begin(b); n.row < b->rows; advance(b, &n)) {
        if (!find_row(b, &n, &to)) continue;
        if (!reach_row(x, i, lane, b, to, true, &at, &bytes)) return false;
        move_row(b, from - offset, offset + n.row * b->row_bytes, row, false);
        if (i->sub == PTX_SUB_NONE)
            move(at, (uint64_t)(uintptr_t)row + b->first * b->element, bytes);
        else
            combine_row(i, b, at, row + b->first * b->element, bytes);
    }
    return true;
}

static bool copy_lane(struct warp_ctx *x, const struct code_inst *i, uint32_t lane) {
    const uint64_t at = SLOT(const uint64_t, &x->w, i->a)[lane];
    struct box b;
    if (!read_box(x, i, lane, &b)) return false;
    if (i->e == CODE_NO_SLOT) return copy_down(x, i, lane, &b, at);
    const uint64_t barrier = SLOT(const uint64_t, &x->w, i->e)[lane];
    if (!(i->vec & CODE_BULK_MASK)) return copy_up(x, i, lane, &b, at, barrier);
    const struct code_extra *e = i->extra;
    const struct code_elem *blocks = &e->uses[e->use_count - 1];
    return copy_to_all(x, i, lane, &b, at, barrier,
                       SLOT(const uint16_t, &x->w, blocks->slot)[lane]);
}

void tensor_copy(struct warp *w, const struct code_inst *i, uint32_t mask) {
    for (uint32_t left = mask; left; left &= left - 1)
        if (!copy_lane((struct warp_ctx *)w, i, (uint32_t)__builtin_ctz(left))) return;
}
