/* SPDX-License-Identifier: Apache-2.0
 *
 * Classifies an opcode's qualifiers (ptxas accepts them in any order). The existing products are a
 * table, and the sizes of fragments follow from shape and type.
 */
#include "daemon/device/soft/instructions/ptx_matrix.h"

#include <stdio.h>
#include <string.h>

#include "daemon/device/soft/instructions/ptx_tables.h"

static const struct {
    const char *name;
    uint8_t bits;
} elements[PTX_ELEMENT_COUNT] = {
#define X(name, text, bits) [PTX_ELEMENT_##name] = {text, bits},
    PTX_ELEMENTS(X)
#undef X
};

uint32_t ptx_element_bits(enum ptx_element e) {
    return e < PTX_ELEMENT_COUNT ? elements[e].bits : 0;
}

bool ptx_matrix_is(enum ptx_op op) {
    switch (op) {
    case PTX_OP_ldmatrix:
    case PTX_OP_mma:
    case PTX_OP_movmatrix:
    case PTX_OP_stmatrix:
    case PTX_OP_wmma: return true;
    default: return false;
    }
}

/* ---- the existing products ------------------------------------------------------------------- */

enum {
    ANY_LAYOUT = 1,
    MIXED = 2,
    SATURATES = 4,
    ROUNDS = 8,
    BITWISE = 16,
    SPARSE = 32,
    KIND = 64,
    SCALED = 128
};

#define E(name) (1u << PTX_ELEMENT_##name)
#define SMALL (E(E4M3) | E(E5M2) | E(E3M2) | E(E2M3) | E(E2M1))

static const struct product {
    uint16_t op, m, n, k;
    uint32_t factors, sums; /* sets of elements */
    uint8_t flags;
} products[] = {
    {PTX_OP_mma, 8, 8, 4, E(F16), E(F16) | E(F32), ANY_LAYOUT},
    {PTX_OP_mma, 16, 8, 8, E(F16), E(F16) | E(F32), 0},
    {PTX_OP_mma, 16, 8, 16, E(F16), E(F16) | E(F32), 0},
    {PTX_OP_mma, 16, 8, 8, E(BF16), E(F32), 0},
    {PTX_OP_mma, 16, 8, 16, E(BF16), E(F32), 0},
    {PTX_OP_mma, 16, 8, 4, E(TF32), E(F32), 0},
    {PTX_OP_mma, 16, 8, 8, E(TF32), E(F32), 0},
    {PTX_OP_mma, 8, 8, 4, E(F64), E(F64), ROUNDS},
    {PTX_OP_mma, 16, 8, 4, E(F64), E(F64), ROUNDS},
    {PTX_OP_mma, 16, 8, 8, E(F64), E(F64), ROUNDS},
    {PTX_OP_mma, 16, 8, 16, E(F64), E(F64), ROUNDS},
    {PTX_OP_mma, 16, 8, 16, E(E4M3) | E(E5M2), E(F16) | E(F32), MIXED},
    {PTX_OP_mma, 16, 8, 32, E(E4M3) | E(E5M2), E(F16) | E(F32), MIXED},
    {PTX_OP_mma, 8, 8, 16, E(S8) | E(U8), E(S32), MIXED | SATURATES},
    {PTX_OP_mma, 16, 8, 16, E(S8) | E(U8), E(S32), MIXED | SATURATES},
    {PTX_OP_mma, 16, 8, 32, E(S8) | E(U8), E(S32), MIXED | SATURATES},
    {PTX_OP_mma, 8, 8, 32, E(S4) | E(U4), E(S32), MIXED | SATURATES},
    {PTX_OP_mma, 16, 8, 32, E(S4) | E(U4), E(S32), MIXED | SATURATES},
    {PTX_OP_mma, 16, 8, 64, E(S4) | E(U4), E(S32), MIXED | SATURATES},
    {PTX_OP_mma, 8, 8, 128, E(B1), E(S32), BITWISE},
    {PTX_OP_mma, 16, 8, 128, E(B1), E(S32), BITWISE},
    {PTX_OP_mma, 16, 8, 256, E(B1), E(S32), BITWISE},
    {PTX_OP_mma, 16, 8, 32, SMALL, E(F16) | E(F32), MIXED | KIND},
    {PTX_OP_mma, 16, 8, 32, SMALL, E(F32), MIXED | SCALED},
    {PTX_OP_mma, 16, 8, 64, E(E2M1), E(F32), SCALED},
    {PTX_OP_mma, 16, 8, 16, E(F16), E(F16) | E(F32), SPARSE},
    {PTX_OP_mma, 16, 8, 32, E(F16), E(F16) | E(F32), SPARSE},
    {PTX_OP_mma, 16, 8, 16, E(BF16), E(F32), SPARSE},
    {PTX_OP_mma, 16, 8, 32, E(BF16), E(F32), SPARSE},
    {PTX_OP_mma, 16, 8, 8, E(TF32), E(F32), SPARSE},
    {PTX_OP_mma, 16, 8, 16, E(TF32), E(F32), SPARSE},
    {PTX_OP_mma, 16, 8, 64, E(E4M3) | E(E5M2), E(F32), MIXED | SPARSE},
    {PTX_OP_mma, 16, 8, 32, E(S8) | E(U8), E(S32), MIXED | SATURATES | SPARSE},
    {PTX_OP_mma, 16, 8, 64, E(S8) | E(U8), E(S32), MIXED | SATURATES | SPARSE},
    {PTX_OP_mma, 16, 8, 64, E(S4) | E(U4), E(S32), MIXED | SATURATES | SPARSE},
    {PTX_OP_mma, 16, 8, 128, E(S4) | E(U4), E(S32), MIXED | SATURATES | SPARSE},
    {PTX_OP_mma, 16, 8, 64, SMALL, E(F16) | E(F32), MIXED | SPARSE | KIND},
    {PTX_OP_mma, 16, 8, 64, SMALL, E(F32), MIXED | SPARSE | SCALED},
    {PTX_OP_mma, 16, 8, 128, E(E2M1), E(F32), SPARSE | SCALED},
    {PTX_OP_wmma, 16, 16, 16, E(F16), E(F16) | E(F32), ANY_LAYOUT},
    {PTX_OP_wmma, 32, 8, 16, E(F16), E(F16) | E(F32), ANY_LAYOUT},
    {PTX_OP_wmma, 8, 32, 16, E(F16), E(F16) | E(F32), ANY_LAYOUT},
    {PTX_OP_wmma, 16, 16, 16, E(BF16), E(F32), ANY_LAYOUT},
    {PTX_OP_wmma, 32, 8, 16, E(BF16), E(F32), ANY_LAYOUT},
    {PTX_OP_wmma, 8, 32, 16, E(BF16), E(F32), ANY_LAYOUT},
    {PTX_OP_wmma, 16, 16, 16, E(S8) | E(U8), E(S32), ANY_LAYOUT | SATURATES},
    {PTX_OP_wmma, 32, 8, 16, E(S8) | E(U8), E(S32), ANY_LAYOUT | SATURATES},
    {PTX_OP_wmma, 8, 32, 16, E(S8) | E(U8), E(S32), ANY_LAYOUT | SATURATES},
    {PTX_OP_wmma, 16, 16, 8, E(TF32), E(F32), ANY_LAYOUT},
    {PTX_OP_wmma, 8, 8, 4, E(F64), E(F64), ANY_LAYOUT | ROUNDS},
    {PTX_OP_wmma, 8, 8, 32, E(S4) | E(U4), E(S32), SATURATES},
    {PTX_OP_wmma, 8, 8, 128, E(B1), E(S32), BITWISE},
};

/* ---- words ----------------------------------------------------------------------------------- */

enum kind { KIND_NONE, KIND_F8F6F4, KIND_MXF8F6F4, KIND_MXF4, KIND_MXF4NVF4 };
enum scale_type { SCALE_NONE, SCALE_POWER, SCALE_FRACTION };

struct spelling {
    uint8_t types[4], type_count;
    bool cols[2];
    uint8_t layout_count;
    unsigned m, n, k, number;
    char part;
    bool load, store, multiply, sync, aligned, satfinite, xor, and, popc, trans, space;
    bool sparse, ordered, scaled, expands;
    uint8_t round;
    uint8_t kind, scale; /* enum kind; enum scale_type */
    uint8_t scales;      /* as written; 0: not written */
};

static bool is(const char *word, const char *text, size_t len) {
    return strlen(word) == len && memcmp(word, text, len) == 0;
}

static bool read_type(struct spelling *s, const char *w, size_t len) {
    for (int e = 0; e < PTX_ELEMENT_COUNT; e++) {
        if (!is(elements[e].name, w, len) || s->type_count == sizeof(s->types)) continue;
        s->types[s->type_count++] = (uint8_t)e;
        return true;
    }
    return false;
}

static bool read_shape(struct spelling *s, const char *w, size_t len) {
    char text[16];
    int used = 0;
    if (s->m || len >= sizeof(text) || w[0] != 'm') return false;
    memcpy(text, w, len);
    text[len] = 0;
    if (sscanf(text, "m%3un%3uk%3u%n", &s->m, &s->n, &s->k, &used) == 3) return !text[used];
    s->k = 0;
    return sscanf(text, "m%3un%3u%n", &s->m, &s->n, &used) == 2 && !text[used];
}

static bool read_layout(struct spelling *s, const char *w, size_t len) {
    bool col = is("col", w, len);
    if ((!col && !is("row", w, len)) || s->layout_count == 2) return false;
    s->cols[s->layout_count++] = col;
    return true;
}

static bool read_round(struct spelling *s, const char *w, size_t len) {
    static const char *const names[] = {
        [PTX_RN] = "rn", [PTX_RZ] = "rz", [PTX_RM] = "rm", [PTX_RP] = "rp"};
    for (int r = PTX_RN; r <= PTX_RP; r++) {
        if (s->round || !is(names[r], w, len)) continue;
        s->round = (uint8_t)r;
        return true;
    }
    return false;
}

/* Stores in `field` which of `names` the qualifier is, counted from 1. Only the first match
 * counts. */
static bool read_choice(uint8_t *field, const char *const *names, uint8_t count, const char *w,
                        size_t len) {
    for (uint8_t k = 0; k < count; k++) {
        if (*field || !is(names[k], w, len)) continue;
        *field = (uint8_t)(k + 1);
        return true;
    }
    return false;
}

static bool read_scale(struct spelling *s, const char *w, size_t len) {
    static const char *const kinds[] = {"kind::f8f6f4", "kind::mxf8f6f4", "kind::mxf4",
                                        "kind::mxf4nvf4"};
    static const char *const types[] = {"ue8m0", "ue4m3"};
    static const char *const counts[] = {"scale_vec::1X", "scale_vec::2X", "", "scale_vec::4X"};
    return read_choice(&s->kind, kinds, 4, w, len) || read_choice(&s->scale, types, 2, w, len) ||
           read_choice(&s->scales, counts, 4, w, len);
}

static bool read_flag(struct spelling *s, const char *w, size_t len) {
    struct {
        const char *name;
        bool *flag;
    } flags[] = {{"sync", &s->sync},
                 {"aligned", &s->aligned},
                 {"satfinite", &s->satfinite},
                 {"xor", &s->xor },
                 {"and", &s->and },
                 {"popc", &s->popc},
                 {"trans", &s->trans},
                 {"load", &s->load},
                 {"store", &s->store},
                 {"mma", &s->multiply},
                 {"sp", &s->sparse},
                 {"sp::ordered_metadata", &s->ordered},
                 {"block_scale", &s->scaled},
                 {"b8x16", &s->expands}};
    for (size_t k = 0; k < sizeof(flags) / sizeof(flags[0]); k++)
        if (!*flags[k].flag && is(flags[k].name, w, len)) return *flags[k].flag = true;
    return false;
}

static bool read_space(struct spelling *s, enum ptx_op op, const char *w, size_t len) {
    uint8_t space;
    bool fits = ptx_space_find(w, len, &space) &&
                (space == PTX_SHARED || (op == PTX_OP_wmma && space == PTX_GLOBAL));
    if (s->space || !fits) return false;
    return s->space = true;
}

static bool read_word(struct spelling *s, enum ptx_op op, const char *w, size_t len) {
    if (len == 1 && strchr("abcd", w[0]) && !s->part) {
        s->part = w[0];
        return true;
    }
    if (len == 2 && w[0] == 'x' && strchr("124", w[1]) && !s->number) {
        s->number = (unsigned)(w[1] - '0');
        return true;
    }
    return read_flag(s, w, len) || read_scale(s, w, len) || read_type(s, w, len) ||
           read_layout(s, w, len) || read_shape(s, w, len) || read_round(s, w, len) ||
           read_space(s, op, w, len);
}

/* ---- forms ----------------------------------------------------------------------------------- */

static struct ptx_fragment fragment(uint8_t element, uint32_t rows, uint32_t cols) {
    uint32_t bits = elements[element].bits, lane = rows * cols * bits / 32;
    return (struct ptx_fragment){element, (uint8_t)(bits == 64 ? lane / 64 : lane / 32)};
}

/* Number of lanes of a group that have metadata: two bits for each value, four for tf32, two for
 * pairs of 4-bit values. A group has two rows, and a lane 32 bits. */
static uint32_t sparse_lanes(const struct product *p, const uint8_t types[4]) {
    uint32_t bits = elements[types[1]].bits, row = bits == 32  ? 2u * p->k
                                                   : bits == 4 ? p->k / 2u
                                                               : p->k;
    return p->flags & SPARSE ? 2 * row / 32 : 0;
}

/* Number of products at once: m8n8k4 of f16 is four. */
static uint32_t at_once(const struct product *p, const uint8_t types[4]) {
    return p->op == PTX_OP_mma && types[1] == PTX_ELEMENT_F16 && p->k == 4 ? 4 : 1;
}

/* A factor of f16 fills 8 registers in wmma, whatever its shape; some of its values are there
 * twice. */
static struct ptx_fragment factor(const struct product *p, uint8_t element, uint32_t outer) {
    struct ptx_fragment f = fragment(element, outer, p->k);
    if (p->op == PTX_OP_wmma && element == PTX_ELEMENT_F16) f.regs = 8;
    return f;
}

/* True if 4-bit elements lie without gaps. */
static bool is_dense(const struct product *p) {
    return p->flags & SCALED && p->factors == E(E2M1);
}

/* Number of scales of a row of a; 0: there is no such product. */
static uint8_t scales_of(const struct product *p, const struct spelling *s) {
    const bool dense = is_dense(p);
    const uint8_t least = dense ? 2 : 1, scales = s->scales ? s->scales : least;
    if (!s->scaled || s->scale == SCALE_NONE) return 0;
    if (s->kind == KIND_MXF4NVF4 && dense && s->scales) {
        bool fits = scales == 4 || (scales == 2 && s->scale == SCALE_POWER);
        return fits ? scales : 0;
    }
    bool kind = s->kind == (dense ? KIND_MXF4 : KIND_MXF8F6F4);
    return kind && scales == least && s->scale == SCALE_POWER ? scales : 0;
}

static bool kind_fits(const struct product *p, const struct spelling *s) {
    if (p->flags & SCALED) return scales_of(p, s) != 0;
    return s->kind == (p->flags & KIND ? KIND_F8F6F4 : KIND_NONE) && !s->scaled && !s->scale &&
           !s->scales;
}

static bool layouts_fit(const struct product *p, bool a_col, bool b_col) {
    return p->flags & ANY_LAYOUT || (!a_col && b_col);
}

static bool multiplies(const struct product *p, const struct spelling *s, const uint8_t types[4]) {
    bool same = types[1] == types[2] || p->flags & MIXED;
    bool sums_differ = types[0] != types[3];
    if (!(p->factors >> types[1] & p->factors >> types[2] & 1) || !same) return false;
    if (!(p->sums >> types[0] & p->sums >> types[3] & 1)) return false;
    if (p->op == PTX_OP_mma && sums_differ && (p->m != 8 || types[0] != PTX_ELEMENT_F32))
        return false;
    bool sparse = s->sparse || s->ordered,
         ordered = p->flags & SPARSE && p->flags & (KIND | SCALED);
    if (!(p->flags & SPARSE) == sparse || !kind_fits(p, s) || (ordered && s->sparse)) return false;
    bool bitwise = (s->xor != s->and) && s->popc, none = !s->xor &&!s->and &&!s->popc;
    return layouts_fit(p, s->cols[0], s->cols[1]) && (p->flags & BITWISE ? bitwise : none) &&
           (!s->satfinite || p->flags & SATURATES) && (!s->round || p->flags & ROUNDS);
}

static bool of_shape(const struct product *p, enum ptx_op op, const struct spelling *s) {
    return p->op == op && p->m == s->m && p->n == s->n && p->k == s->k;
}

static bool find_multiply(enum ptx_op op, const struct spelling *s, struct ptx_matrix *out) {
    uint8_t types[4] = {s->types[0], PTX_ELEMENT_F16, PTX_ELEMENT_F16, s->types[1]};
    bool halves = op == PTX_OP_wmma && s->type_count == 2;
    if (!halves) memcpy(types, s->types, sizeof(types));
    if (s->layout_count != 2 || (!halves && s->type_count != 4) || s->part || s->space ||
        s->number || s->trans || s->expands || (op == PTX_OP_wmma) != s->multiply ||
        (op == PTX_OP_wmma && !halves && types[1] == PTX_ELEMENT_F16))
        return false;
    for (size_t k = 0; k < sizeof(products) / sizeof(products[0]); k++) {
        const struct product *p = &products[k];
        if (!of_shape(p, op, s) || !multiplies(p, s, types)) continue;
        if (is_dense(p)) types[1] = types[2] = PTX_ELEMENT_E2M1_DENSE;
        const uint32_t many = at_once(p, types), sparse = sparse_lanes(p, types);
        *out = (struct ptx_matrix){.verb = PTX_MATRIX_MULTIPLY,
                                   .m = p->m,
                                   .n = p->n,
                                   .k = p->k,
                                   .a = factor(p, types[1], p->m * many / (sparse ? 2 : 1)),
                                   .b = factor(p, types[2], p->n * many),
                                   .c = fragment(types[3], p->m * many, p->n),
                                   .d = fragment(types[0], p->m * many, p->n),
                                   .a_col = s->cols[0],
                                   .b_col = s->cols[1],
                                   .satfinite = s->satfinite,
                                   .conjunction = s->and,
                                   .round = s->round,
                                   .sparse = (uint8_t)sparse,
                                   .scales = p->flags & SCALED ? scales_of(p, s) : 0,
                                   .fractions = s->scale == SCALE_FRACTION};
        return true;
    }
    return false;
}

/* True if the opcode has qualifiers that only a product can have. */
static bool multiplies_alone(const struct spelling *s) {
    return s->sparse || s->ordered || s->kind || s->scaled || s->scale || s->scales;
}

static bool find_transfer(const struct spelling *s, struct ptx_matrix *out) {
    bool sum = s->part == (s->load ? 'c' : 'd'), col = s->cols[0];
    if (s->load == s->store || s->multiply || s->layout_count != 1 || s->type_count != 1 ||
        s->number || s->trans || s->expands || s->satfinite || s->xor || s->and || s->popc ||
        s->round || multiplies_alone(s))
        return false;
    if (!sum && (s->store || (s->part != 'a' && s->part != 'b'))) return false;
    for (size_t k = 0; k < sizeof(products) / sizeof(products[0]); k++) {
        const struct product *p = &products[k];
        uint32_t set = sum ? p->sums : p->factors;
        if (!of_shape(p, PTX_OP_wmma, s) || !(set >> s->types[0] & 1)) continue;
        if (!sum && !layouts_fit(p, s->part == 'a' && col, s->part == 'a' || col)) continue;
        *out = (struct ptx_matrix){.verb = s->load ? PTX_MATRIX_LOAD : PTX_MATRIX_STORE,
                                   .part = sum ? 'c' : s->part,
                                   .m = p->m,
                                   .n = p->n,
                                   .k = p->k,
                                   .a_col = col};
        out->d = sum ? fragment(s->types[0], p->m, p->n)
                     : factor(p, s->types[0], s->part == 'a' ? p->m : p->n);
        return true;
    }
    return false;
}

/* Matrices that are moved by rows. A row of ldmatrix and stmatrix has 16 bytes; in a transposed
 * matrix it is a column. */
#define EITHER 2 /* transposed or not */
static const struct rows {
    uint16_t op, m, n;
    uint32_t elements;
    uint8_t turned, most; /* most: matrices at once; 0: one, and the opcode does not say so */
} row_forms[] = {
    {PTX_OP_movmatrix, 8, 8, E(B16), true, 0},
    {PTX_OP_ldmatrix, 8, 8, E(B16), EITHER, 4},
    {PTX_OP_ldmatrix, 16, 16, E(B8) | E(B6) | E(B4), true, 2},
    {PTX_OP_ldmatrix, 8, 16, E(B6) | E(B4), false, 4},
    {PTX_OP_stmatrix, 8, 8, E(B16), EITHER, 4},
    {PTX_OP_stmatrix, 16, 8, E(B8), true, 4},
};

static bool rows_fit(const struct rows *r, enum ptx_op op, const struct spelling *s) {
    return r->op == op && r->m == s->m && r->n == s->n && r->elements >> s->types[0] & 1 &&
           (r->turned == EITHER || r->turned == s->trans) && s->number <= r->most &&
           !s->number == !r->most && (r->most || !s->space);
}

static bool find_rows(enum ptx_op op, const struct spelling *s, struct ptx_matrix *out) {
    const bool expands = (E(B6) | E(B4)) >> s->types[0] & 1;
    if (s->k || s->type_count != 1 || s->expands != expands || s->layout_count || s->part ||
        s->load || s->store || s->multiply || s->satfinite || s->xor || s->and || s->popc ||
        s->round || multiplies_alone(s))
        return false;
    for (size_t k = 0; k < sizeof(row_forms) / sizeof(row_forms[0]); k++) {
        const struct rows *r = &row_forms[k];
        if (!rows_fit(r, op, s)) continue;
        *out = (struct ptx_matrix){.verb = op == PTX_OP_movmatrix  ? PTX_MATRIX_TRANSPOSE
                                           : op == PTX_OP_ldmatrix ? PTX_MATRIX_LOAD_ROWS
                                                                   : PTX_MATRIX_STORE_ROWS,
                                   .m = r->m,
                                   .n = r->n,
                                   .trans = s->trans};
        out->d.element = s->types[0];
        out->d.regs = (uint8_t)((s->number ? s->number : 1) * (r->m * r->n == 256 ? 2 : 1));
        return true;
    }
    return false;
}

bool ptx_matrix_find(enum ptx_op op, const char *text, struct ptx_matrix *out, char *why,
                     size_t why_bytes) {
    struct spelling s = {0};
    const char *w = strchr(text, '.');
    *out = (struct ptx_matrix){0};
    while (w) {
        const char *end = strchr(++w, '.');
        size_t len = end ? (size_t)(end - w) : strlen(w);
        if (!read_word(&s, op, w, len)) {
            snprintf(why, why_bytes, "modifier '.%.*s' does not apply to the operation",
                     len > 60 ? 60 : (int)len, w);
            return false;
        }
        w = end;
    }
    bool found = s.sync && s.aligned;
    if (!found)
        snprintf(why, why_bytes, ".sync.aligned is needed");
    else if (op == PTX_OP_mma || (op == PTX_OP_wmma && s.multiply))
        found = find_multiply(op, &s, out);
    else
        found = op == PTX_OP_wmma ? find_transfer(&s, out) : find_rows(op, &s, out);
    if (!found && s.sync && s.aligned)
        snprintf(why, why_bytes, "the shape does not exist for these types and layouts");
    return found;
}

/* ---- operands -------------------------------------------------------------------------------- */

static enum ptx_type register_type(uint8_t element) {
    switch (element) {
    case PTX_ELEMENT_F64: return PTX_F64;
    case PTX_ELEMENT_F32: return PTX_F32;
    case PTX_ELEMENT_S32: return PTX_S32;
    default: return PTX_B32;
    }
}

static void want_list(struct ptx_sig *sig, struct ptx_fragment f, bool result) {
    struct ptx_want *want = &sig->wants[sig->most++];
    ptx_rules_want(want, register_type(f.element));
    want->kinds |= PTX_WANT_ELEMENTS;
    if (result) want->kinds = PTX_WANT_ELEMENTS | PTX_WANT_RESULT;
    want->count = f.regs;
}

static void want_scalar(struct ptx_sig *sig, enum ptx_type t, bool result) {
    struct ptx_want *want = &sig->wants[sig->most++];
    ptx_rules_want(want, t);
    if (result) want->kinds = PTX_WANT_RESULT;
}

/* Wants a register of metadata or scales. ptxas also accepts it in {}, and CUTLASS writes it so. */
static void want_word(struct ptx_sig *sig) {
    struct ptx_want *want = &sig->wants[sig->most++];
    ptx_rules_want(want, PTX_B32);
    want->kinds = PTX_WANT_ELEMENTS | PTX_WANT_SINGLE;
    want->count = 1;
}

/* Wants {byte, lane} of a scale. */
static void want_selectors(struct ptx_sig *sig) {
    struct ptx_want *want = &sig->wants[sig->most++];
    ptx_rules_want(want, PTX_U16);
    want->kinds |= PTX_WANT_ELEMENTS;
    want->count = 2;
}

static void want_operands(enum ptx_op op, const struct ptx_matrix *m, struct ptx_sig *sig) {
    static const struct ptx_want address = {.kinds = PTX_WANT_ADDRESS};
    *sig = (struct ptx_sig){0};
    switch (m->verb) {
    case PTX_MATRIX_MULTIPLY:
        want_list(sig, m->d, true);
        want_list(sig, m->a, false);
        want_list(sig, m->b, false);
        want_list(sig, m->c, false);
        if (m->sparse) {
            want_word(sig); /* metadata */
            sig->wants[sig->most++].kinds = PTX_WANT_INT;
        }
        for (uint32_t k = 0; m->scales && k < 2; k++) {
            want_word(sig);
            want_selectors(sig);
        }
        break;
    case PTX_MATRIX_LOAD:
    case PTX_MATRIX_LOAD_ROWS:
        want_list(sig, m->d, true);
        sig->wants[sig->most++] = address;
        break;
    case PTX_MATRIX_STORE:
    case PTX_MATRIX_STORE_ROWS:
        sig->wants[sig->most++] = address;
        want_list(sig, m->d, false);
        break;
    case PTX_MATRIX_TRANSPOSE:
        want_scalar(sig, PTX_B32, true);
        want_scalar(sig, PTX_B32, false);
        break;
    }
    sig->least = sig->most;
    if (op != PTX_OP_wmma || m->verb == PTX_MATRIX_MULTIPLY) return;
    sig->optional = sig->most; /* the stride */
    want_scalar(sig, PTX_U32, false);
}

bool ptx_matrix_match(enum ptx_op op, const char *text, struct ptx_sig *sig, char *why,
                      size_t why_bytes) {
    struct ptx_matrix m;
    *sig = (struct ptx_sig){.open = true};
    if (!ptx_matrix_find(op, text, &m, why, why_bytes)) return false;
    want_operands(op, &m, sig);
    return true;
}
