/* SPDX-License-Identifier: Apache-2.0
 *
 * Dot products dp4a and dp2a, and the SIMD video operations on bytes (v*4), halves (v*2) and words
 * (v*), in the forms without selectors and masks. Newer GPUs emulate these, and programs reach them
 * through a few intrinsics, so one loop that interprets the operation is enough.
 */
#include "daemon/device/soft/isa/arithmetic/isa.h"

static inline int32_t field_of(uint32_t x, unsigned k, unsigned bits, bool sign) {
    const uint32_t v = x >> k * bits & ((1u << bits) - 1);
    return sign ? (int32_t)(v << (32 - bits)) >> (32 - bits) : (int32_t)v;
}

/* d = c + the four products of bytes; for dp2a, + the products of a's halves with b's lower or
 * upper bytes. */
ISA_HANDLER(dp4a) {
    uint32_t *d = SLOT(uint32_t, w, i->d);
    const uint32_t *a = SLOT(const uint32_t, w, i->a), *b = SLOT(const uint32_t, w, i->b);
    const uint32_t *c = SLOT(const uint32_t, w, i->c);
    const bool sa = i->type == PTX_S32, sb = i->type2 == PTX_S32;
    ISA_LANES(mask, uint32_t, d, v = c[l];
              for (unsigned k = 0; k < 4; k++) v +=
              (uint32_t)(field_of(a[l], k, 8, sa) * field_of(b[l], k, 8, sb)););
}
ISA_HANDLER(dp2a) {
    uint32_t *d = SLOT(uint32_t, w, i->d);
    const uint32_t *a = SLOT(const uint32_t, w, i->a), *b = SLOT(const uint32_t, w, i->b);
    const uint32_t *c = SLOT(const uint32_t, w, i->c);
    const bool sa = i->type == PTX_S32, sb = i->type2 == PTX_S32;
    const unsigned first = i->mods & PTX_MOD_HI ? 2 : 0;
    ISA_LANES(mask, uint32_t, d, v = c[l];
              for (unsigned k = 0; k < 2; k++) v +=
              (uint32_t)(field_of(a[l], k, 16, sa) * field_of(b[l], first + k, 8, sb)););
}

/* Computes one field of a video operation. Fields have up to 32 bits, so that 64 bits hold every
 * result. */
static int64_t compute(uint16_t op, uint8_t cmp, int64_t a, int64_t b) {
    switch (op) {
    case PTX_OP_vadd:
    case PTX_OP_vadd2:
    case PTX_OP_vadd4: return a + b;
    case PTX_OP_vsub:
    case PTX_OP_vsub2:
    case PTX_OP_vsub4: return a - b;
    case PTX_OP_vavrg2:
    case PTX_OP_vavrg4: return (a + b + (a + b >= 0)) >> 1;
    case PTX_OP_vabsdiff:
    case PTX_OP_vabsdiff2:
    case PTX_OP_vabsdiff4: return a > b ? a - b : b - a;
    case PTX_OP_vmin:
    case PTX_OP_vmin2:
    case PTX_OP_vmin4: return a < b ? a : b;
    case PTX_OP_vmax:
    case PTX_OP_vmax2:
    case PTX_OP_vmax4: return a > b ? a : b;
    default: break;
    }
    switch (cmp) { /* vset */
    case PTX_EQ: return a == b;
    case PTX_NE: return a != b;
    case PTX_LT: return a < b;
    case PTX_LE: return a <= b;
    case PTX_GT: return a > b;
    default: return a >= b;
    }
}

static unsigned field_bits(uint16_t op) {
    switch (op) {
    case PTX_OP_vadd2:
    case PTX_OP_vsub2:
    case PTX_OP_vavrg2:
    case PTX_OP_vabsdiff2:
    case PTX_OP_vmin2:
    case PTX_OP_vmax2:
    case PTX_OP_vset2: return 16;
    case PTX_OP_vadd4:
    case PTX_OP_vsub4:
    case PTX_OP_vavrg4:
    case PTX_OP_vabsdiff4:
    case PTX_OP_vmin4:
    case PTX_OP_vmax4:
    case PTX_OP_vset4: return 8;
    default: return 32;
    }
}

static bool is_set(uint16_t op) {
    return op == PTX_OP_vset || op == PTX_OP_vset2 || op == PTX_OP_vset4;
}

struct video_form {
    unsigned bits;
    bool sign_d, sign_a, sign_b, sat, sum;
};

/* The types are d, a, b; but vset has no type for d. */
static struct video_form form_of(const struct code_inst *i) {
    const uint8_t third = i->src && i->src->type_count > 2 ? i->src->types[2] : i->type2;
    const bool set = is_set(i->op);
    return (struct video_form){
        .bits = field_bits(i->op),
        .sign_d = !set && i->type == PTX_S32,
        .sign_a = (set ? i->type : i->type2) == PTX_S32,
        .sign_b = (set ? i->type2 : third) == PTX_S32,
        .sat = i->mods & PTX_MOD_SAT,
        .sum = i->sub == PTX_SUB_ADD,
    };
}

static uint32_t compute_lane(const struct code_inst *i, const struct video_form *f, uint32_t a,
                             uint32_t b, uint32_t c) {
    const uint64_t ones = (1ull << f->bits) - 1;
    const int64_t top = (int64_t)(ones >> f->sign_d), bottom = f->sign_d ? -top - 1 : 0;
    uint32_t sum = c, packed = 0;
    for (unsigned k = 0; k < 32 / f->bits; k++) {
        const uint64_t x = (uint64_t)a >> k * f->bits & ones, y = (uint64_t)b >> k * f->bits & ones;
        const unsigned up = 64 - f->bits;
        int64_t v = compute(i->op, i->cmp, f->sign_a ? (int64_t)(x << up) >> up : (int64_t)x,
                            f->sign_b ? (int64_t)(y << up) >> up : (int64_t)y);
        if (f->sat) v = v > top ? top : v < bottom ? bottom : v;
        sum += (uint32_t)v;
        packed |= (uint32_t)((uint64_t)v & ones) << (k * f->bits & 31);
    }
    return f->sum ? sum : packed;
}

ISA_HANDLER(any) {
    uint32_t *d = SLOT(uint32_t, w, i->d);
    const uint32_t *a = SLOT(const uint32_t, w, i->a), *b = SLOT(const uint32_t, w, i->b);
    const uint32_t *c = i->c == CODE_NO_SLOT ? a : SLOT(const uint32_t, w, i->c);
    const struct video_form f = form_of(i);
    ISA_EACH(mask, uint32_t, d, v = compute_lane(i, &f, a[l], b[l], c[l]););
}

/* vshl, vshr d, a, b (, c, which is added): shifts by b, clamped at 32 or wrapped. The sign of a
 * decides what vshr fills in. */
ISA_HANDLER(shift) {
    uint32_t *d = SLOT(uint32_t, w, i->d);
    const uint32_t *a = SLOT(const uint32_t, w, i->a), *b = SLOT(const uint32_t, w, i->b);
    const uint32_t *c = i->c == CODE_NO_SLOT ? NULL : SLOT(const uint32_t, w, i->c);
    const bool wrap = i->mods & PTX_MOD_WRAP, left = i->op == PTX_OP_vshl;
    const bool sign = i->type2 == PTX_S32;
    ISA_LANES(mask, uint32_t, d,
              const uint32_t n = wrap        ? b[l] & 31
                                 : b[l] < 32 ? b[l]
                                             : 32;
              const int64_t x = sign ? (int32_t)a[l] : (int64_t)a[l];
              v = (uint32_t)(left ? (uint64_t)x << n : (uint64_t)(x >> n)); if (c) v += c[l];);
}

static code_handler *pick_handler(const struct code_inst *i) {
    const bool sum = i->sub == PTX_SUB_ADD;
    if (i->sub != PTX_SUB_NONE && !sum) return NULL;
    if (sum && i->c == CODE_NO_SLOT) return NULL;
    if (is_set(i->op) && (i->cmp < PTX_EQ || i->cmp > PTX_GE)) return NULL;
    return any;
}

ISA_FAMILY(video_select) {
    if ((i->type != PTX_U32 && i->type != PTX_S32) || (i->type2 != PTX_U32 && i->type2 != PTX_S32))
        return NULL;
    switch (i->op) {
    case PTX_OP_dp4a: return dp4a;
    case PTX_OP_dp2a: return dp2a;
    case PTX_OP_vshl:
    case PTX_OP_vshr:
        if (i->mods & PTX_MOD_SAT || (i->sub == PTX_SUB_ADD) != (i->c != CODE_NO_SLOT)) return NULL;
        return i->sub == PTX_SUB_ADD || i->sub == PTX_SUB_NONE ? shift : NULL;
    case PTX_OP_vmad: return NULL;
    default: return pick_handler(i);
    }
}
