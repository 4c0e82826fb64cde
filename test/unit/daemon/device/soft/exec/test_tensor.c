/* SPDX-License-Identifier: Apache-2.0
 *
 * Boxes of tensors between global and shared memory, compared element by element with a model that
 * has no notion of rows; and the rejected maps and positions.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "proto/cuda/tensor_map.h"
#include "test/lib/ptx/matrixref.h"
#include "test/lib/ptx/ptxrun.h"

#define SHARED 16384u
#define TENSOR (1u << 18) /* bytes */

/* The input of a kernel. The box is at `offset` in shared memory. */
struct job {
    struct tensor_map map;
    int32_t at[5], offset;
    unsigned char shared[SHARED];
};

static char text[4096];

/* The kind of copy: a box, four rows, or a convolution's columns with pixel offsets. */
static struct {
    enum { BOX, ROWS, COLUMNS } form;
    uint32_t offset[3];
} what;

/* k(job): loads shared memory from the job and performs `copy` on %d (shared address) and %m
 * (the map) with coordinates %c0 to %c4. Then stores shared memory to the job, and to `offset`
 * whether the barrier's phase of `bytes` is complete. */
static struct ptxrun *kernel(const char *copy) {
    snprintf(text, sizeof(text),
             ".version 9.0\n.target sm_90\n.address_size 64\n"
             ".visible .entry k(.param .u64 kp, .param .u64 kn) {\n"
             ".shared .align 1024 .b8 sh[%u];.shared .align 8 .b64 bar;\n"
             ".reg .b64 %%p,%%n,%%m,%%g,%%s;.reg .b32 %%d,%%x,%%y,%%k,%%bytes,%%c<5>;\n"
             ".reg .pred %%q;.reg .b16 %%h;\n"
             "ld.param.u64 %%p,[kp];ld.param.u64 %%n,[kn];cvt.u32.u64 %%bytes,%%n;\n"
             "mov.u64 %%m,%%p;ld.global.v4.b32 {%%c0,%%c1,%%c2,%%c3},[%%p+128];\n"
             "ld.global.v2.b32 {%%c4,%%d},[%%p+144];mov.u32 %%x,sh;add.u32 %%d,%%d,%%x;\n"
             "mov.u32 %%k,0;add.u64 %%g,%%p,152;\n"
             "in: ld.global.u64 %%s,[%%g];st.shared.u64 [%%x],%%s;add.u64 %%g,%%g,8;\n"
             "add.u32 %%x,%%x,8;add.u32 %%k,%%k,8;setp.lt.u32 %%q,%%k,%u;@%%q bra in;\n"
             "mbarrier.init.shared.b64 [bar],1;\n"
             "mbarrier.arrive.expect_tx.shared.b64 _,[bar],%%bytes;\n%s\n"
             "mbarrier.test_wait.parity.shared.b64 %%q,[bar],0;selp.u32 %%y,1,0,%%q;\n"
             "st.global.u32 [%%p+148],%%y;\n"
             "mov.u32 %%k,0;add.u64 %%g,%%p,152;mov.u32 %%x,sh;\n"
             "out: ld.shared.u64 %%s,[%%x];st.global.u64 [%%g],%%s;add.u64 %%g,%%g,8;\n"
             "add.u32 %%x,%%x,8;add.u32 %%k,%%k,8;setp.lt.u32 %%q,%%k,%u;@%%q bra out;\nret;\n}\n",
             SHARED, SHARED, copy, SHARED);
    struct ptxrun *r = ptxrun_create(text, strlen(text), 1);
    cr_assert(r->module, "%s\n%s", r->why, text);
    return r;
}

static const char *coordinates(unsigned rank) {
    static const char *const lists[] = {"{%c0}", "{%c0,%c1}", "{%c0,%c1,%c2}", "{%c0,%c1,%c2,%c3}",
                                        "{%c0,%c1,%c2,%c3,%c4}"};
    return lists[rank - 1];
}

static const char *load_of(unsigned rank) {
    static char copy[256];
    snprintf(copy, sizeof(copy),
             "cp.async.bulk.tensor.%ud.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
             "[%%d],[%%m,%s],[bar];",
             rank, coordinates(rank));
    return copy;
}

static const char *store_of(unsigned rank, const char *how) {
    static char copy[256];
    snprintf(copy, sizeof(copy),
             "cp.%sasync.bulk.tensor.%ud.global.shared::cta%s%s.bulk_group [%%m,%s],[%%d];",
             *how ? "reduce." : "", rank, how, rank % 2 ? ".tile" : "", coordinates(rank));
    return copy;
}

/* ---- random tensors and boxes
 * ------------------------------------------------------------------ */

static uint32_t below(uint32_t n) {
    return (uint32_t)(matrixref_dice() % n);
}

static uint32_t sizes_of(const struct tensor_map *m, uint32_t *count) {
    uint32_t all = 1;
    if (what.form != BOX) return m->box[0] * (what.form == ROWS ? 4u : m->pixels);
    for (uint32_t d = 0; d < m->rank; d++)
        all *= count[d] = (m->box[d] + m->step[d] - 1u) / m->step[d];
    return all;
}

static void make_map(struct tensor_map *m, uint32_t type, uint32_t rank, uint32_t swizzle,
                     uint64_t address) {
    const uint32_t element = tensor_map_element(type), most = swizzle ? 16u << swizzle : 128;
    *m = (struct tensor_map){.magic = TENSOR_MAP_MAGIC,
                             .type = (uint8_t)type,
                             .rank = (uint8_t)rank,
                             .swizzle = (uint8_t)swizzle,
                             .address = address};
    uint64_t stride = 0;
    for (uint32_t d = 0; d < rank; d++) {
        m->last[d] = d ? 1 + below(4) : 2 + below(40);
        m->box[d] = (uint16_t)(d ? 1 + below(5) : 16 / element * (1 + below(most / 16)));
        m->step[d] = (uint8_t)(d ? 1 + below(2) : 1);
        if (d) m->stride[d - 1] = stride;
        stride = d ? stride * (m->last[d] + 1) : ((m->last[0] + 1) * element + 15) / 16 * 16 + 16;
    }
    m->fill = tensor_map_is_real(type) && below(2);
    cr_assert(tensor_map_is_valid(m));
    cr_assert_lt(stride, TENSOR);
}

static void make_job(struct job *j) {
    for (uint32_t d = 0; d < 5; d++)
        j->at[d] = (int32_t)below(9) - 4;
    j->offset = 128 * (int32_t)below(8);
    for (uint32_t k = 0; k < SHARED; k++)
        j->shared[k] = (unsigned char)matrixref_dice();
}

/* ---- the model of one element
 * ------------------------------------------------------------------ */

/* The coordinates of element `n` of a box. */
static void find_in_box(const struct job *j, uint32_t n, int64_t *k) {
    const struct tensor_map *m = &j->map;
    uint32_t count[5];
    sizes_of(m, count);
    for (uint32_t d = 0; d < m->rank; d++) {
        k[d] = j->at[d] + (int64_t)(n % count[d]) * m->step[d];
        n /= count[d];
    }
}

/* "im2col mode": pixels are numbered; a number's digits count steps from the range's lower
 * corner. */
static void find_in_columns(const struct job *j, uint32_t n, int64_t *k) {
    const struct tensor_map *m = &j->map;
    uint64_t digits = n / m->box[0], image = m->rank - 1u;
    k[0] = j->at[0] + n % m->box[0];
    for (uint32_t d = 1; d < image; d++) {
        const int64_t lower = m->lower[d - 1], end = (int64_t)m->last[d] + m->upper[d - 1];
        const uint64_t base = (uint64_t)((end - lower) / m->step[d]) + 1;
        digits += (uint64_t)(j->at[d] - lower) / m->step[d];
        k[d] = lower + (int64_t)(digits % base) * m->step[d] + what.offset[d - 1];
        digits /= base;
    }
    k[image] = j->at[image] + (int64_t)digits;
}

/* True if element `n` is in the tensor; stores its offset there. */
static bool in_tensor(const struct job *j, uint32_t n, uint64_t *at) {
    const struct tensor_map *m = &j->map;
    int64_t k[5] = {j->at[0] + n % m->box[0], j->at[1 + n / m->box[0] % 4]};
    bool inside = true;
    if (what.form == BOX) find_in_box(j, n, k);
    if (what.form == COLUMNS) find_in_columns(j, n, k);
    *at = m->address;
    for (uint32_t d = 0; d < m->rank; d++) {
        inside = inside && k[d] >= 0 && k[d] <= m->last[d];
        *at += (uint64_t)k[d] * (d ? m->stride[d - 1] : tensor_map_element(m->type));
    }
    return inside;
}

/* Returns the position in shared memory. "Swizzling modes": the address bits from 4 on, one for
 * each doubling of the span's chunks, are xored with those from 7 on. */
static uint32_t in_shared(const struct job *j, uint32_t n) {
    static const uint32_t masks[] = {0, 1, 3, 7};
    uint32_t at = (uint32_t)j->offset + n * tensor_map_element(j->map.type);
    return at ^ ((at / 128) & masks[j->map.swizzle]) * 16;
}

static uint64_t outside(const struct tensor_map *m) {
    static const uint64_t nan[] = {0, 0, 0x7fff, 0, 0x7fffffff, 0, 0, 0, 0x7fffffffffffffff};
    return m->fill ? nan[tensor_map_element(m->type)] : 0;
}

static uint64_t flushed(const struct tensor_map *m, uint64_t v) {
    bool flush = m->type == CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ ||
                 m->type == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ;
    return flush && !(v & 0x7f800000) ? v & 0x80000000 : v;
}

static void run(struct ptxrun *r, struct job *j, uint32_t bytes, int want, const char *words) {
    int err = ptxrun_launch(r, "k", 1, 1, 2, (uint64_t)(uintptr_t)j, (uint64_t)bytes);
    cr_assert_eq(err, want, "%d, not %d: %s\n%s", err, want, r->result.text, text);
    cr_assert(strstr(r->result.text, words), "'%s' lacks '%s'", r->result.text, words);
}

/* ---- loads -------------------------------------------------------------------------------------
 */

static void check_load(struct ptxrun *r, struct job *j, uint32_t rank) {
    static unsigned char want[SHARED];
    uint32_t count[5], element = tensor_map_element(j->map.type), all = sizes_of(&j->map, count);
    if ((uint32_t)j->offset + all * element > SHARED) return;
    memcpy(want, j->shared, SHARED);
    for (uint32_t n = 0; n < all; n++) {
        uint64_t at, v = outside(&j->map);
        if (in_tensor(j, n, &at)) {
            v = 0;
            memcpy(&v, (void *)(uintptr_t)at, element);
            v = flushed(&j->map, v);
        }
        memcpy(want + in_shared(j, n), &v, element);
    }
    run(r, j, all * element, 0, "");
    cr_assert_eq(j->offset, 1, "rank %u: its bytes have not come", rank);
    for (uint32_t k = 0; k < SHARED; k++)
        cr_assert_eq(j->shared[k], want[k], "rank %u type %u swizzle %u: byte %u", rank,
                     j->map.type, j->map.swizzle, k);
}

Test(tensor, boxes_are_loaded) {
    for (uint32_t rank = 1; rank <= 5; rank++) {
        struct ptxrun *r = kernel(load_of(rank));
        unsigned char *tensor = ptxrun_alloc(r, TENSOR);
        struct job *j = ptxrun_alloc(r, sizeof(*j));
        for (uint32_t k = 0; k < TENSOR; k++) /* includes some subnormals */
            tensor[k] = (unsigned char)(k % 4 > 1 && k % 64 < 32 ? 0 : matrixref_dice());
        for (uint32_t n = 0; n < 13u * 4 * 3; n++) {
            make_map(&j->map, n % 13, rank, n / 13 % 4, (uint64_t)(uintptr_t)tensor);
            make_job(j);
            check_load(r, j, rank);
        }
        ptxrun_destroy(r);
    }
}

/* ---- stores ------------------------------------------------------------------------------------
 */

static void check_store(struct ptxrun *r, struct job *j, unsigned char *tensor) {
    static unsigned char want[TENSOR];
    uint32_t count[5], element = tensor_map_element(j->map.type), all = sizes_of(&j->map, count);
    if ((uint32_t)j->offset + all * element > SHARED) return;
    memcpy(want, tensor, TENSOR);
    for (uint32_t n = 0; n < all; n++) {
        uint64_t at;
        if (in_tensor(j, n, &at))
            memcpy(want + (at - j->map.address), j->shared + in_shared(j, n), element);
    }
    run(r, j, 1, 0, "");
    for (uint32_t k = 0; k < TENSOR; k++)
        cr_assert_eq(tensor[k], want[k], "rank %u type %u swizzle %u: byte %u", j->map.rank,
                     j->map.type, j->map.swizzle, k);
}

Test(tensor, boxes_are_stored) {
    for (uint32_t rank = 1; rank <= 5; rank++) {
        struct ptxrun *r = kernel(store_of(rank, ""));
        unsigned char *tensor = ptxrun_alloc(r, TENSOR);
        struct job *j = ptxrun_alloc(r, sizeof(*j));
        for (uint32_t n = 0; n < 13u * 4; n++) {
            make_map(&j->map, n % 13, rank, n / 13, (uint64_t)(uintptr_t)tensor);
            make_job(j);
            check_store(r, j, tensor);
        }
        ptxrun_destroy(r);
    }
}

/* ---- four rows, and columns --------------------------------------------------------------------
 */

static const char *rows_of(bool up) {
    return up ? "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4"
                ".mbarrier::complete_tx::bytes [%d],[%m,{%c0,%c1,%c2,%c3,%c4}],[bar];"
              : "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group"
                " [%m,{%c0,%c1,%c2,%c3,%c4}],[%d];";
}

Test(tensor, four_rows_are_gathered_and_scattered) {
    what.form = ROWS;
    for (uint32_t up = 0; up < 2; up++) {
        struct ptxrun *r = kernel(rows_of(up));
        unsigned char *tensor = ptxrun_alloc(r, TENSOR);
        struct job *j = ptxrun_alloc(r, sizeof(*j));
        for (uint32_t k = 0; k < TENSOR; k++)
            tensor[k] = (unsigned char)matrixref_dice();
        for (uint32_t n = 0; n < 13u * 4; n++) {
            make_map(&j->map, n % 13, 2, n / 13 % 4, (uint64_t)(uintptr_t)tensor);
            make_job(j);
            for (uint32_t k = 1; k < 5; k++) /* all rows are different, or none of them is valid */
                j->at[k] = (int32_t)(below(2) ? (k - 1) ^ (n & 3) : k + 100);
            up ? check_load(r, j, 2) : check_store(r, j, tensor);
        }
        ptxrun_destroy(r);
    }
}

static const char *columns_of(uint32_t rank, bool up) {
    static char copy[256];
    char offsets[32];
    snprintf(offsets, sizeof(offsets), "{%u,%u,%u", what.offset[0], what.offset[1], what.offset[2]);
    offsets[2 * (rank - 2)] = 0; /* offsets are digits */
    snprintf(copy, sizeof(copy),
             up ? "cp.async.bulk.tensor.%ud.shared::cluster.global.im2col"
                  ".mbarrier::complete_tx::bytes [%%d],[%%m,%s],[bar],%s};"
                : "cp.async.bulk.tensor.%ud.global.shared::cta.im2col_no_offs.bulk_group"
                  " [%%m,%s],[%%d];",
             rank, coordinates(rank), offsets);
    return copy;
}

/* Makes a range of pixels, and a first pixel in it. */
static void make_columns(struct job *j) {
    struct tensor_map *m = &j->map;
    m->columns = 1;
    m->pixels = (uint16_t)(1 + below(60));
    for (uint32_t d = 1; d < m->rank; d++)
        m->box[d] = 1;
    for (uint32_t d = 1; d + 1u < m->rank; d++) {
        m->lower[d - 1] = (int16_t) - (int)below(3);
        m->upper[d - 1] = (int16_t)((int)below(4) - 1);
        const uint32_t range = m->last[d] + (uint32_t)(m->upper[d - 1] - m->lower[d - 1]) + 1;
        j->at[d] = m->lower[d - 1] + (int32_t)(below(range) / m->step[d] * m->step[d]);
    }
    j->at[m->rank - 1] = (int32_t)below(3) - 1;
    cr_assert(tensor_map_is_valid(m));
}

Test(tensor, columns_of_convolutions_are_loaded_and_stored) {
    what.form = COLUMNS;
    for (uint32_t n = 0; n < 90; n++) {
        const uint32_t rank = 3 + n % 3;
        const bool up = n % 3 != n / 3 % 3;
        for (uint32_t d = 0; d < 3; d++)
            what.offset[d] = up ? below(4) : 0;
        struct ptxrun *r = kernel(columns_of(rank, up));
        unsigned char *tensor = ptxrun_alloc(r, TENSOR);
        struct job *j = ptxrun_alloc(r, sizeof(*j));
        for (uint32_t k = 0; k < TENSOR; k++)
            tensor[k] = (unsigned char)matrixref_dice();
        for (uint32_t type = 0; type < 13; type++) {
            make_map(&j->map, type, rank, below(4), (uint64_t)(uintptr_t)tensor);
            make_job(j);
            make_columns(j);
            up ? check_load(r, j, rank) : check_store(r, j, tensor);
        }
        ptxrun_destroy(r);
    }
}

/* ---- reductions
 * -------------------------------------------------------------------------------- */

/* A row of two elements in a tensor of one dimension. */
static void combined(const char *how, uint32_t type, uint64_t old, uint64_t value, uint64_t want,
                     int err) {
    struct ptxrun *r = kernel(store_of(1, how));
    unsigned char *tensor = ptxrun_alloc(r, 64);
    struct job *j = ptxrun_alloc(r, sizeof(*j));
    const uint32_t element = tensor_map_element(type);
    uint64_t got = 0;
    make_map(&j->map, type, 1, 0, (uint64_t)(uintptr_t)tensor);
    j->map.last[0] = 1;
    j->map.box[0] = (uint16_t)(16 / element);
    memcpy(tensor + element, &old, element);
    memcpy(j->shared + element, &value, element);
    run(r, j, 1, err, err ? "unsupported element type" : "");
    memcpy(&got, tensor + element, element);
    cr_assert_eq(got, err ? old : want, "%s of type %u: %llx", how, type, (unsigned long long)got);
    ptxrun_destroy(r);
}

Test(tensor, boxes_are_combined_with_what_is_there) {
    const int no = ERR_ILLEGAL_INSTRUCTION;
    combined(".add", CU_TENSOR_MAP_DATA_TYPE_UINT32, 7, 5, 12, 0);
    combined(".add", CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 0x3f800000, 0x40000000, 0x40400000, 0);
    combined(".add", CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 0x3c00, 0x4000, 0x4200, 0);
    combined(".add", CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 0x3f80, 0x4000, 0x4040, 0);
    combined(".add", CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 0x3ff0000000000000, 0x4000000000000000,
             0x4008000000000000, 0);
    combined(".add", CU_TENSOR_MAP_DATA_TYPE_UINT8, 7, 5, 0, no);
    combined(".min", CU_TENSOR_MAP_DATA_TYPE_INT32, 7, 0xfffffff0, 0xfffffff0, 0);
    combined(".max", CU_TENSOR_MAP_DATA_TYPE_UINT64, 7, 5, 7, 0);
    combined(".max", CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 7, 5, 0, no);
    combined(".inc", CU_TENSOR_MAP_DATA_TYPE_UINT32, 7, 7, 0, 0);
    combined(".dec", CU_TENSOR_MAP_DATA_TYPE_UINT32, 0, 7, 7, 0);
    combined(".dec", CU_TENSOR_MAP_DATA_TYPE_INT32, 0, 7, 0, no);
    combined(".and", CU_TENSOR_MAP_DATA_TYPE_UINT32, 7, 5, 5, 0);
    combined(".or", CU_TENSOR_MAP_DATA_TYPE_INT64, 7, 8, 15, 0);
    combined(".xor", CU_TENSOR_MAP_DATA_TYPE_UINT64, 7, 5, 2, 0);
    combined(".xor", CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 7, 5, 0, no);
}

/* ---- rejected maps and positions
 * --------------------------------------------------------------- */

static unsigned char *memory;

/* A box of 16 x 4 bytes at the start of a tensor of 16 x 8. */
static struct job *plain(struct ptxrun *r) {
    struct job *j = ptxrun_alloc(r, sizeof(*j));
    memory = ptxrun_alloc(r, 128);
    j->map = (struct tensor_map){.magic = TENSOR_MAP_MAGIC,
                                 .rank = 2,
                                 .address = (uint64_t)(uintptr_t)memory,
                                 .last = {15, 7},
                                 .box = {16, 4},
                                 .step = {1, 1},
                                 .stride = {16}};
    return j;
}

#define REFUSED(want, words, change)           \
    do {                                       \
        struct ptxrun *r = kernel(load_of(2)); \
        struct job *j = plain(r);              \
        change;                                \
        run(r, j, 64, want, words);            \
        ptxrun_destroy(r);                     \
        r = kernel(store_of(2, ""));           \
        j = plain(r);                          \
        change;                                \
        run(r, j, 64, want, words);            \
        ptxrun_destroy(r);                     \
    } while (0)
#define NO_MAP(change) REFUSED(ERR_ILLEGAL_INSTRUCTION, "the address holds no tensor map", change)

Test(tensor, maps_that_are_none_are_refused) {
    REFUSED(0, "", );
    NO_MAP(j->map.magic++);
    NO_MAP(j->map.type = 13);
    NO_MAP(j->map.rank = 0);
    NO_MAP(j->map.rank = 6);
    NO_MAP(j->map.swizzle = 4);
    NO_MAP(j->map.fill = 2);
    NO_MAP(j->map.fill = 1); /* the elements are integers, which have no fill value */
    NO_MAP(j->map.address += 8);
    NO_MAP(j->map.box[1] = 0);
    NO_MAP(j->map.box[1] = 257);
    NO_MAP(j->map.box[0] = 8);
    NO_MAP(j->map.step[1] = 0);
    NO_MAP(j->map.step[1] = 9);
    NO_MAP(j->map.stride[0] = 8);
    NO_MAP(j->map.stride[0] = 1ull << 40);
    NO_MAP((j->map.swizzle = 1, j->map.box[0] = 48));
    REFUSED(ERR_ILLEGAL_INSTRUCTION, "another number", j->map.rank = 1);
    NO_MAP((j->map.columns = 1, j->map.pixels = 1));
    NO_MAP((j->map.columns = 1, j->map.rank = 3, j->map.box[2] = j->map.step[2] = 1));
    NO_MAP(
        (j->map.columns = 2, j->map.rank = 3, j->map.pixels = j->map.box[2] = j->map.step[2] = 1));
    NO_MAP((j->map.columns = 1, j->map.rank = 3, j->map.pixels = 1025,
            j->map.box[2] = j->map.step[2] = 1));
}

Test(tensor, nothing_outside_is_touched) {
    REFUSED(ERR_ILLEGAL_ADDRESS, "", j->map.last[1] = j->at[1] = 8);
    REFUSED(ERR_ILLEGAL_ADDRESS, "", (j->at[0] = 1, j->at[1] = 4, j->map.last[0] = 16));
    REFUSED(ERR_ILLEGAL_ADDRESS, "", j->map.address = 4096);
    REFUSED(ERR_ILLEGAL_ADDRESS, "", (j->map.stride[0] = (1ull << 40) - 16, j->at[1] = 1));
    REFUSED(ERR_ILLEGAL_ADDRESS, "outside the cluster", j->offset = (int)SHARED);
    REFUSED(ERR_ILLEGAL_ADDRESS, "outside the cluster",
            (j->map.box[0] = 256, j->map.box[1] = 256, j->map.last[0] = 1));
    REFUSED(ERR_MISALIGNED, "", j->offset = 64);
}

Test(tensor, maps_lie_in_parameters_and_are_copied_to_several_blocks) {
    static const char map_in_parameters[] =
        ".version 9.0\n.target sm_90\n.address_size 64\n"
        ".visible .entry k(.param .u64 out, .param .align 64 .b8 map[128]) {\n"
        ".shared .align 1024 .b8 sh[128];.shared .align 8 .b64 bar;\n"
        ".reg .b64 %o;.reg .b32 %r,%v,%t;.reg .b16 %h;.reg .pred %q;\n"
        "mbarrier.init.shared.b64 [bar],1;mbarrier.arrive.expect_tx.shared.b64 _,[bar],64;\n"
        "barrier.cluster.arrive.aligned;barrier.cluster.wait.aligned;\n"
        "mov.u32 %r,%cluster_ctarank;setp.ne.u32 %q,%r,0;mov.u16 %h,5;mov.u32 %t,1;\n"
        "prefetch.param.tensormap [map];@%q bra done;\n"
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
        ".multicast::cluster [sh],[map,{0,%t}],[bar],%h;\n"
        "done: barrier.cluster.arrive.aligned;barrier.cluster.wait.aligned;\n"
        "ld.param.u64 %o,[out];mad.wide.u32 %o,%r,8,%o;ld.shared.u32 %v,[sh];\n"
        "mbarrier.test_wait.parity.shared.b64 %q,[bar],0;selp.u32 %r,1,0,%q;\n"
        "st.global.v2.u32 [%o],{%v,%r};ret;\n}\n";
    struct ptxrun *r = ptxrun_create(map_in_parameters, strlen(map_in_parameters), 1);
    cr_assert(r->module, "%s", r->why);
    struct job *j = plain(r);
    uint32_t *out = ptxrun_alloc(r, 8 * 4);
    uint64_t params[17];
    for (uint32_t k = 0; k < 128; k++)
        memory[k] = (unsigned char)k;
    memcpy(params + 1, &j->map, sizeof(j->map));
    params[0] = (uint64_t)(uintptr_t)out;
    r->cluster[0] = 4;
    r->cluster[1] = r->cluster[2] = 1;
    int err = ptxrun_launch3(r, "k", (uint32_t[]){4, 1, 1}, (uint32_t[]){1, 1, 1}, params, 17);
    cr_assert_eq(err, 0, "%s", r->result.text);
    for (uint32_t rank = 0; rank < 4; rank++) {
        cr_assert_eq(out[2 * rank], rank % 2 ? 0 : 0x13121110, "block %u: %x", rank, out[2 * rank]);
        cr_assert_eq(out[2 * rank + 1], rank % 2 == 0, "block %u's barrier", rank);
    }
    ptxrun_destroy(r);
}

/* A map for im2col is for im2col copies only. */
Test(tensor, maps_of_another_kind_are_refused) {
    for (uint32_t columns = 0; columns < 2; columns++) {
        what.form = columns ? BOX : COLUMNS;
        struct ptxrun *r = kernel(columns ? load_of(3) : columns_of(3, true));
        struct job *j = plain(r);
        make_map(&j->map, 0, 3, 0, j->map.address);
        if (columns) make_columns(j);
        run(r, j, 64, ERR_ILLEGAL_INSTRUCTION, "was made for");
        ptxrun_destroy(r);
    }
}

/* ---- maps that kernels change
 * ------------------------------------------------------------------ */

/* Element types by their numbers in tensormap.replace and in the driver. */
static const struct {
    uint8_t number, type;
} types_of[] = {
    {0, CU_TENSOR_MAP_DATA_TYPE_UINT8},         {1, CU_TENSOR_MAP_DATA_TYPE_UINT16},
    {2, CU_TENSOR_MAP_DATA_TYPE_UINT32},        {3, CU_TENSOR_MAP_DATA_TYPE_INT32},
    {4, CU_TENSOR_MAP_DATA_TYPE_UINT64},        {5, CU_TENSOR_MAP_DATA_TYPE_INT64},
    {6, CU_TENSOR_MAP_DATA_TYPE_FLOAT16},       {7, CU_TENSOR_MAP_DATA_TYPE_FLOAT32},
    {8, CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ},   {9, CU_TENSOR_MAP_DATA_TYPE_FLOAT64},
    {10, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16},     {11, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32},
    {12, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ},
};

static size_t put_replace(char *out, size_t room, const char *field, const char *at,
                          const char *more) {
    const bool wide = strstr(field, "global_address") || strstr(field, "global_stride");
    return (size_t)snprintf(out, room, "tensormap.replace.tile.%s%s.b1024.b%u [%s], %s;\n", field,
                            at[1] == 's' ? "shared::cta" : "global", wide ? 64u : 32u, at, more);
}

/* k(map, values): sets every field of the map to the values, which are 8 bytes each. */
static struct ptxrun *changing(const struct tensor_map *m, uint32_t number, bool shared) {
    const char *at = shared ? "%s" : "%m";
    char body[3072], more[64];
    size_t n = 0;
    uint32_t v = 0;
#define PUT(field, ...)                                                    \
    do {                                                                   \
        snprintf(more, sizeof(more), __VA_ARGS__);                         \
        n += put_replace(body + n, sizeof(body) - n, field ".", at, more); \
    } while (0)
#define VALUE(bits)                                                                            \
    n += (size_t)snprintf(body + n, sizeof(body) - n, "ld.global.b" #bits " %%%c,[%%v+%u];\n", \
                          bits == 64 ? 'q' : 'x', 8 * v++)
    VALUE(64);
    PUT("global_address", "%%q");
    VALUE(32);
    PUT("rank", "%%x");
    for (uint32_t d = 0; d < 5; d++) {
        VALUE(32);
        PUT("box_dim", "%u,%%x", d);
        VALUE(32);
        PUT("global_dim", "%u,%%x", d);
        VALUE(32);
        PUT("element_stride", "%u,%%x", d);
        if (d == 4) break;
        VALUE(64);
        PUT("global_stride", "%u,%%q", d);
    }
    PUT("elemtype", "%u", number);
    PUT("interleave_layout", "0");
    PUT("swizzle_mode", "%u", m->swizzle);
    PUT("swizzle_atomicity", "0");
    PUT("fill_mode", "%u", m->fill);
    snprintf(text, sizeof(text),
             ".version 9.0\n.target sm_90a\n.address_size 64\n"
             ".visible .entry k(.param .u64 km, .param .u64 kv) {\n"
             ".shared .align 128 .b8 sh[128];.reg .b64 %%m,%%v,%%q;.reg .b32 %%s,%%x;\n"
             "ld.param.u64 %%m,[km];ld.param.u64 %%v,[kv];mov.u32 %%s,sh;\n%s%s%s"
             "fence.proxy.tensormap::generic.acquire.gpu [%%m], 128;\nret;\n}\n",
             shared ? "mov.u32 %x,0x70616d74;st.shared.u32 [%s],%x;\n" : "", body,
             shared ? "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu"
                      ".sync.aligned [%m],[%s],128;\n"
                    : "");
    struct ptxrun *r = ptxrun_create(text, strlen(text), 1);
    cr_assert(r->module, "%s\n%s", r->why, text);
    return r;
}

static void fill_values(const struct tensor_map *m, uint64_t *v) {
    *v++ = m->address;
    *v++ = m->rank - 1u; /* the ISA calls this field "zero-based" */
    for (uint32_t d = 0; d < 5; d++) {
        *v++ = m->box[d];
        *v++ = m->last[d] + 1u;
        *v++ = m->step[d];
        if (d < 4) *v++ = m->stride[d];
    }
}

Test(tensor, kernels_change_every_field) {
    for (uint32_t n = 0; n < 13u * 4; n++) {
        struct tensor_map want = {0};
        uint64_t some = 4096;
        make_map(&want, types_of[n % 13].type, 1 + n % 5, n / 13, some);
        for (uint32_t d = want.rank; d < 5; d++) {
            want.box[d] = (uint16_t)(1 + d);
            want.last[d] = d - 1;
            want.step[d] = (uint8_t)d;
        }
        for (uint32_t d = want.rank ? want.rank - 1u : 0; d < 4; d++)
            want.stride[d] = 16ull * d;
        struct ptxrun *r = changing(&want, types_of[n % 13].number, n % 2);
        struct tensor_map *m = ptxrun_alloc(r, sizeof(*m));
        uint64_t *values = ptxrun_alloc(r, 21 * 8);
        m->magic = TENSOR_MAP_MAGIC;
        fill_values(&want, values);
        int err =
            ptxrun_launch(r, "k", 1, 32, 2, (uint64_t)(uintptr_t)m, (uint64_t)(uintptr_t)values);
        cr_assert_eq(err, 0, "%s%s", r->why, r->result.text);
        cr_assert(memcmp(m, &want, sizeof(want)) == 0, "map %u", n);
        ptxrun_destroy(r);
    }
}

static void refuses_change(const char *body, const char *words) {
    char whole[1024];
    snprintf(whole, sizeof(whole),
             ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 km) {\n"
             ".shared .align 128 .b8 sh[128];.reg .b64 %%m;ld.param.u64 %%m,[km];\n%s ret; }\n",
             body);
    struct ptxrun *r = ptxrun_create(whole, strlen(whole), 1);
    cr_assert(r->module, "%s", r->why);
    void *m = ptxrun_alloc(r, 64); /* only half a map */
    int err = ptxrun_launch(r, "k", 1, 1, 1, (uint64_t)(uintptr_t)m);
    cr_assert_neq(err, 0, "%s", body);
    cr_assert(strstr(r->why, words) || strstr(r->result.text, words), "%s: %s%s", body, r->why,
              r->result.text);
    ptxrun_destroy(r);
}

Test(tensor, changes_that_cannot_be_are_refused) {
    static const char none[] = "does not support such tensors";
    refuses_change("tensormap.replace.tile.elemtype.global.b1024.b32 [%m],13;", none);
    refuses_change("tensormap.replace.tile.interleave_layout.global.b1024.b32 [%m],1;", none);
    refuses_change("tensormap.replace.tile.swizzle_mode.global.b1024.b32 [%m],4;", none);
    refuses_change("tensormap.replace.tile.swizzle_atomicity.global.b1024.b32 [%m],1;", none);
    refuses_change("tensormap.replace.tile.fill_mode.global.b1024.b32 [%m],2;", none);
    refuses_change("tensormap.replace.tile.box_dim.global.b1024.b32 [%m],5,1;", "such dimension");
    refuses_change("tensormap.replace.tile.global_stride.b1024.b64 [%m],4,16;", "such dimension");
    refuses_change("tensormap.replace.tile.global_stride.b1024.b64 [%m],1,16;", "address");
    refuses_change("tensormap.replace.tile.rank.shared::cta.b1024.b32 [sh+128],1;", "outside");
    refuses_change("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync"
                   ".aligned [%m],[sh],128;",
                   "address");
    refuses_change("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync"
                   ".aligned [%m],[sh],64;",
                   "128 bytes");
}
