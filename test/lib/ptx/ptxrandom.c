/* SPDX-License-Identifier: Apache-2.0
 *
 * See ptxrandom.h. A program is made in four steps: operations with their destinations and branch
 * targets, the registers that are surely written before each of them, sources chosen from those,
 * and the text.
 */
#include "test/lib/ptx/ptxrandom.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum width { P, B, H, W, D, Q, WIDTHS }; /* predicate, 8, 16, 32, 64, 128 bits */
typedef unsigned __int128 value;

static const uint32_t width_bytes[WIDTHS] = {0, 1, 2, 4, 8, 16};
static const char *const width_prefix[WIDTHS] = {"%p", "%b", "%h", "%r", "%d", "%q"};

enum kind {
    FRESH, /* a number that depends on the lane, for each destination */
    ARITH,
    CVT,
    COPY, /* copies of 128-bit registers */
    SELP,
    SETP,
    SETP_PAIR,
    SETP_SINK,
    LOGIC, /* logic on predicates */
    PACK,
    UNPACK,
    LOAD,
    STORE,
    ATOM,
    SHFL, /* SHFL, VOTE, MATCH, ELECT: a lane exchanges with itself */
    VOTE,
    MATCH,
    ELECT,
    CALL,
    BRA,
    LOOP, /* jumps back while the lane has fuel */
    TABLE,
    LEAVE,
    KINDS
};

/* Relative frequency of each kind of operation. */
static const uint8_t kind_weight[KINDS] = {10, 22, 8, 3, 6, 8, 5, 4, 5, 5, 5, 9,
                                           16, 3,  4, 3, 3, 3, 4, 9, 3, 4, 1};

#define OPS_MAX 160
#define REGS_MAX 256
#define FUEL 14 /* backward jumps that a lane may make */

struct op {
    uint8_t kind, width, memory, sub; /* memory: width in memory; sub: the variant of the kind */
    uint8_t to, from;                 /* types of CVT; may be narrower than the registers */
    uint8_t def_count, use_count;
    int16_t def[4], use[4]; /* registers; -1 in def: the result is discarded */
    uint8_t def_width[4], use_width[4];
    int16_t guard;           /* -1: none */
    bool guarded, neg, temp; /* temp: the address is in a register that is not used afterwards */
    uint32_t imm, offset;
    int16_t target[4];
};

struct ptxrandom {
    uint32_t seed;
    uint32_t op_count, reg_count, limit[WIDTHS];
    uint8_t width[REGS_MAX];
    struct op ops[OPS_MAX];
    /* registers surely written before each operation */
    uint64_t written[OPS_MAX + 1][REGS_MAX / 64];
    size_t len;
    char text[PTXRANDOM_TEXT];
};

static uint32_t draw(struct ptxrandom *p, uint32_t n) {
    p->seed = p->seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(p->seed >> 4) * n >> 28);
}

/* ---- operations and their destinations ---------------------------------------------------------
 */

static enum kind draw_kind(struct ptxrandom *p) {
    uint32_t all = 0, k = 0;
    for (uint32_t i = 0; i < KINDS; i++)
        all += kind_weight[i];
    for (uint32_t at = draw(p, all); at >= kind_weight[k]; k++)
        at -= kind_weight[k];
    return (enum kind)k;
}

/* Chooses a destination register: mostly a new one, so that lifetimes are short. Under a guard
 * it is mostly one whose old value some lanes keep. */
static int16_t draw_def(struct ptxrandom *p, uint32_t width, bool guarded) {
    uint32_t have = 0, fresh = draw(p, 4);
    for (uint32_t r = 0; r < p->reg_count; r++)
        have += p->width[r] == width;
    bool full = have >= p->limit[width] || p->reg_count == REGS_MAX;
    if (!have || (!full && (guarded ? !fresh : fresh != 0))) {
        p->width[p->reg_count] = (uint8_t)width;
        return (int16_t)p->reg_count++;
    }
    for (uint32_t r = 0, at = draw(p, have);; r++)
        if (p->width[r] == width && !at--) return (int16_t)r;
}

static void add_def(struct ptxrandom *p, struct op *o, uint32_t width) {
    for (;;) { /* destinations of one instruction must differ */
        int16_t r = draw_def(p, width, o->guarded);
        bool twice = false;
        for (uint32_t k = 0; k < o->def_count; k++)
            twice |= o->def[k] == r;
        if (twice && p->reg_count == REGS_MAX) continue;
        if (twice) {
            r = (int16_t)p->reg_count++;
            p->width[r] = (uint8_t)width;
        }
        o->def_width[o->def_count] = (uint8_t)width;
        o->def[o->def_count++] = r;
        return;
    }
}

static void add_use(struct op *o, uint32_t width) {
    o->use_width[o->use_count++] = (uint8_t)width;
}

static void add_uses(struct op *o, uint32_t width, uint32_t count) {
    for (uint32_t k = 0; k < count; k++)
        add_use(o, width);
}

/* Memory access: `count` elements of up to the register's width, at an address aligned for them. */
static uint32_t draw_memory(struct ptxrandom *p, struct op *o) {
    o->width = (uint8_t)(H + draw(p, 4));
    o->memory = (uint8_t)(draw(p, 3) || o->width == Q ? o->width : B + draw(p, o->width - B + 1u));
    uint32_t count = o->memory == Q || draw(p, 2) ? 1 : o->memory == D ? 2 : 2u << draw(p, 2);
    uint32_t bytes = count * width_bytes[o->memory];
    o->offset = draw(p, PTXRANDOM_LANE_BYTES / bytes) * bytes;
    o->sub = (uint8_t)draw(p, 2); /* signed or unsigned */
    o->temp = draw(p, 2);
    return count;
}

static void draw_moves(struct ptxrandom *p, struct op *o) {
    uint32_t count;
    switch (o->kind) {
    case LOAD:
        count = draw_memory(p, o);
        for (uint32_t k = 0; k < count; k++)
            add_def(p, o, o->width);
        if (count > 1 && !draw(p, 5)) o->def[draw(p, count)] = -1;
        break;
    case STORE:
        count = draw_memory(p, o);
        add_uses(o, o->width, count);
        break;
    case ATOM:
        o->width = o->memory = (uint8_t)(W + draw(p, 3));
        o->offset = draw(p, PTXRANDOM_LANE_BYTES / 16) * 16;
        o->sub = o->width < Q && draw(p, 2); /* red or atom */
        if (!o->sub) add_def(p, o, o->width);
        add_uses(o, o->width, o->width == Q ? 2 : 1); /* operands to compare and to exchange */
        break;
    default: /* PACK, UNPACK */
        o->width = (uint8_t)(W + draw(p, 3));
        o->memory = (uint8_t)(o->width == Q   ? draw(p, 2) ? D : W
                              : o->width == D ? draw(p, 2) ? W : H
                                              : H);
        count = width_bytes[o->width] / width_bytes[o->memory];
        if (o->kind == PACK) {
            add_def(p, o, o->width);
            add_uses(o, o->memory, count);
            break;
        }
        for (uint32_t k = 0; k < count; k++)
            add_def(p, o, o->memory);
        if (!draw(p, 4)) o->def[draw(p, count)] = -1;
        add_use(o, o->width);
        break;
    }
}

static int16_t draw_ahead(struct ptxrandom *p, uint32_t at) {
    uint32_t most = p->op_count - at;
    return (int16_t)(at + 1 + draw(p, most < 12 ? most : 12));
}

static int16_t draw_back(struct ptxrandom *p, uint32_t at) {
    return (int16_t)(at - draw(p, at < 30 ? at + 1 : 30));
}

static void draw_jumps(struct ptxrandom *p, struct op *o, uint32_t at) {
    switch (o->kind) {
    case BRA: o->target[0] = draw_ahead(p, at); break;
    case LOOP:
        o->target[0] = draw_back(p, at);
        o->guarded = false;
        break;
    case TABLE:
        o->target[0] = draw_ahead(p, at);
        for (int k = 1; k < 4; k++)
            o->target[k] = draw(p, 3) ? draw_ahead(p, at) : draw_back(p, at);
        add_use(o, W);
        break;
    default:
        o->guarded = true; /* LEAVE: some lanes stay */
        o->sub = (uint8_t)draw(p, 2);
        break;
    }
}

static void draw_op(struct ptxrandom *p, uint32_t at) {
    struct op *o = &p->ops[at];
    *o = (struct op){.kind = (uint8_t)draw_kind(p), .guard = -1};
    o->guarded = !draw(p, 4);
    o->neg = draw(p, 2);
    o->imm = draw(p, 1u << 16);
    o->width = (uint8_t)(H + draw(p, 3));
    o->sub = (uint8_t)draw(p, 5);
    switch (o->kind) {
    case FRESH: add_def(p, o, draw(p, WIDTHS)); break;
    case ARITH: add_def(p, o, o->width), add_uses(o, o->width, 2); break;
    case CVT:
        o->width = (uint8_t)(B + draw(p, 4));
        o->memory = (uint8_t)(B + draw(p, 4));
        o->to = (uint8_t)(draw(p, 3) ? o->width : B + draw(p, o->width - B + 1u));
        o->from = (uint8_t)(draw(p, 3) ? o->memory : B + draw(p, o->memory - B + 1u));
        add_def(p, o, o->width), add_use(o, o->memory);
        break;
    case COPY: add_def(p, o, Q), add_use(o, Q); break;
    case SELP: add_def(p, o, o->width), add_uses(o, o->width, 2), add_use(o, P); break;
    case SETP: add_def(p, o, P), add_uses(o, o->width, 2), add_use(o, P); break;
    case SETP_PAIR:
        add_def(p, o, P), add_def(p, o, P), add_uses(o, o->width, 2), add_use(o, P);
        break;
    case SETP_SINK: add_def(p, o, P), add_uses(o, o->width, 2); break;
    case LOGIC: add_def(p, o, P), add_uses(o, P, 2); break;
    case SHFL: add_def(p, o, W), add_def(p, o, P), add_use(o, W); break;
    case VOTE: add_def(p, o, W), add_use(o, P); break;
    case MATCH: add_def(p, o, W), add_use(o, D); break;
    case ELECT: add_def(p, o, P); break;
    case CALL: add_def(p, o, W), add_use(o, W); break;
    case BRA:
    case LOOP:
    case TABLE:
    case LEAVE: draw_jumps(p, o, at); break;
    default: draw_moves(p, o); break;
    }
}

/* ---- what is surely written ---------------------------------------------------------------------
 */

static bool meet(uint64_t *into, const uint64_t *from) {
    bool changed = false;
    for (uint32_t w = 0; w < REGS_MAX / 64; w++) {
        changed |= into[w] & ~from[w];
        into[w] &= from[w];
    }
    return changed;
}

static void find_written(struct ptxrandom *p) {
    memset(p->written, 0xff, sizeof(p->written));
    memset(p->written[0], 0, sizeof(p->written[0]));
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < p->op_count; i++) {
            const struct op *o = &p->ops[i];
            uint64_t out[REGS_MAX / 64];
            memcpy(out, p->written[i], sizeof(out));
            for (uint32_t k = 0; k < o->def_count && !o->guarded; k++)
                if (o->def[k] >= 0) out[o->def[k] / 64] |= 1ull << o->def[k] % 64;
            uint32_t targets = o->kind == TABLE ? 4 : o->kind == BRA || o->kind == LOOP;
            for (uint32_t k = 0; k < targets; k++)
                changed |= meet(p->written[o->target[k]], out);
            if ((o->kind != BRA && o->kind != TABLE) || o->guarded)
                changed |= meet(p->written[i + 1], out);
        }
    }
}

/* ---- sources ------------------------------------------------------------------------------------
 */

/* A register of `width` that is written before `at`, preferably recently; -1: there is none. */
static int16_t draw_source(struct ptxrandom *p, uint32_t at, uint32_t width) {
    int16_t all[REGS_MAX];
    uint32_t n = 0;
    for (uint32_t r = 0; r < p->reg_count; r++)
        if (p->width[r] == width && p->written[at][r / 64] >> r % 64 & 1) all[n++] = (int16_t)r;
    if (!n) return -1;
    uint32_t recent = n < 5 ? n : 5;
    return draw(p, 4) ? all[n - 1 - draw(p, recent)] : all[draw(p, n)];
}

static void draw_sources(struct ptxrandom *p, uint32_t at) {
    struct op *o = &p->ops[at];
    bool lacks = false;
    if (o->guarded) o->guard = draw_source(p, at, P);
    for (uint32_t k = 0; k < o->use_count; k++) {
        o->use[k] = draw_source(p, at, o->use_width[k]);
        lacks |= o->use[k] < 0;
    }
    if (o->kind == LEAVE && o->guard < 0) lacks = true;
    if (!lacks) return;
    o->use_count = 0;
    o->kind = FRESH; /* falling through is sound whatever the targets were: it only removes paths */
    for (uint32_t k = 0; k + 1 < o->def_count; k++) /* expands to several instructions */
        if (o->def[k] == o->guard) o->guard = -1;
}

/* ---- the text -----------------------------------------------------------------------------------
 */

static void put(struct ptxrandom *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(struct ptxrandom *p, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    p->len += (size_t)vsnprintf(p->text + p->len, sizeof(p->text) - p->len, fmt, ap);
    va_end(ap);
    if (p->len >= sizeof(p->text)) abort();
}

static void put_reg(struct ptxrandom *p, int16_t r) {
    if (r < 0)
        put(p, "_");
    else
        put(p, "%s%d", width_prefix[p->width[r]], r);
}

/* "{a, b, ...}", or a single register without braces. */
static void put_regs(struct ptxrandom *p, const int16_t *regs, uint32_t count) {
    if (count > 1) put(p, "{");
    for (uint32_t k = 0; k < count; k++) {
        if (k) put(p, ", ");
        put_reg(p, regs[k]);
    }
    if (count > 1) put(p, "}");
}

static void put_guard(struct ptxrandom *p, const struct op *o) {
    if (o->guard < 0) return;
    put(p, "@%s", o->neg ? "!" : "");
    put_reg(p, o->guard);
    put(p, " ");
}

static const char *const arith_ops[5] = {"add.u", "sub.u", "mul.lo.u", "xor.b", "and.b"};
static const char *const compare_ops[5] = {"lt.u", "ne.u", "gt.s", "eq.u", "ge.s"};
static const char *const logic_ops[5] = {"and", "or", "xor", "and", "or"};

static void put_fresh(struct ptxrandom *p, const struct op *o) {
    for (uint32_t k = 0; k < o->def_count; k++) {
        int16_t r = o->def[k];
        if (r < 0) continue;
        uint32_t imm = o->imm + k;
        put_guard(p, o);
        switch (p->width[r]) {
        case P: put(p, "setp.lt.u32 %%p%d, %%lane, %u;\n", r, imm % 33); break;
        case B: put(p, "cvt.u8.u32 %%b%d, %%lane;\n", r); break;
        case H: put(p, "mov.b16 %%h%d, %u;\n", r, imm & 0x7fff); break;
        case W: put(p, "mad.lo.u32 %%r%d, %%lane, %u, %u;\n", r, imm | 1, imm); break;
        case D: put(p, "mul.wide.u32 %%d%d, %%lane, %u;\n", r, (imm | 1) * 65537u); break;
        default: put(p, "mov.b128 %%q%d, {%u, %%wide};\n", r, imm); break;
        }
    }
}

static void put_address(struct ptxrandom *p, const struct op *o, uint32_t at) {
    put(p, "[%s", o->temp ? "" : "%base");
    if (o->temp) put(p, "%%at%u", at);
    put(p, "+%u]", o->offset);
}

static void put_moves(struct ptxrandom *p, const struct op *o, uint32_t at) {
    const uint32_t bits = 8 * width_bytes[o->memory], load = o->kind == LOAD;
    const uint32_t count = load ? o->def_count : o->use_count;
    if (o->temp) put(p, "mov.b64 %%at%u, %%base;\n", at);
    put_guard(p, o);
    if (o->kind == ATOM) {
        if (o->width == Q)
            put(p, "atom.global.cas.b128 ");
        else
            put(p, "%s.global.add.u%u ", o->sub ? "red" : "atom", bits);
        if (!o->sub) {
            put_reg(p, o->def[0]);
            put(p, ", ");
        }
        put_address(p, o, at);
        for (uint32_t k = 0; k < o->use_count; k++) {
            put(p, ", ");
            put_reg(p, o->use[k]);
        }
    } else if (load) {
        put(p, "ld.global%s.%c%u ",
            count == 1   ? ""
            : count == 2 ? ".v2"
                         : ".v4",
            bits == 128 ? 'b'
            : o->sub    ? 's'
                        : 'u',
            bits);
        put_regs(p, o->def, count);
        put(p, ", ");
        put_address(p, o, at);
    } else {
        put(p, "st.global%s.b%u ", count == 1 ? "" : count == 2 ? ".v2" : ".v4", bits);
        put_address(p, o, at);
        put(p, ", ");
        put_regs(p, o->use, count);
    }
    put(p, ";\n");
}

static void put_together(struct ptxrandom *p, const struct op *o) {
    put_guard(p, o);
    switch (o->kind) {
    case SHFL: put(p, "shfl.sync.idx.b32 %%r%d|%%p%d, ", o->def[0], o->def[1]); break;
    case VOTE: put(p, "vote.sync.ballot.b32 %%r%d, ", o->def[0]); break;
    case MATCH: put(p, "match.any.sync.b64 %%r%d, ", o->def[0]); break;
    default: put(p, "elect.sync _|%%p%d, %%me;\n", o->def[0]); return;
    }
    put_reg(p, o->use[0]);
    put(p, o->kind == SHFL ? ", %%lane, 31, %%me;\n" : ", %%me;\n");
}

static void put_jump(struct ptxrandom *p, const struct op *o, uint32_t at) {
    if (o->kind == LOOP || o->kind == TABLE)
        put(p, "sub.u32 %%fuel, %%fuel, 1; setp.gt.s32 %%more, %%fuel, 0;\n");
    switch (o->kind) {
    case BRA:
        put_guard(p, o);
        put(p, "bra L%d;\n", o->target[0]);
        break;
    case LOOP: put(p, "@%%more bra L%d;\n", o->target[0]); break;
    case TABLE:
        put(p, "and.b32 %%to%u, %%r%d, 3; selp.b32 %%to%u, %%to%u, 0, %%more;\n", at, o->use[0], at,
            at);
        put(p, "T%u: .branchtargets L%d, L%d, L%d, L%d;\n", at, o->target[0], o->target[1],
            o->target[2], o->target[3]);
        put_guard(p, o);
        put(p, "brx.idx %%to%u, T%u;\n", at, at);
        break;
    default:
        put_guard(p, o);
        put(p, o->sub ? "exit;\n" : "ret;\n");
        break;
    }
}

static void put_compute(struct ptxrandom *p, const struct op *o) {
    const uint32_t bits = 8 * width_bytes[o->width];
    put_guard(p, o);
    switch (o->kind) {
    case ARITH: put(p, "%s%u ", arith_ops[o->sub], bits); break;
    case CVT: put(p, "cvt.u%u.u%u ", 8 * width_bytes[o->to], 8 * width_bytes[o->from]); break;
    case COPY: put(p, "mov.b128 "); break;
    case SELP: put(p, "selp.b%u ", bits); break;
    case SETP:
    case SETP_PAIR:
        put(p, "setp.%.2s.%s.%c%u ", compare_ops[o->sub], logic_ops[o->sub], compare_ops[o->sub][3],
            bits);
        break;
    case SETP_SINK: put(p, "setp.%s%u _|", compare_ops[o->sub], bits); break;
    case LOGIC: put(p, "%s.pred ", logic_ops[o->sub]); break;
    case CALL: put(p, "call (%%r%d), helper, (%%r%d);\n", o->def[0], o->use[0]); return;
    default: put(p, "mov.b%u ", bits); break; /* PACK, UNPACK */
    }
    put_reg(p, o->def[0]);
    if (o->kind == SETP_PAIR) {
        put(p, "|");
        put_reg(p, o->def[1]);
    }
    for (uint32_t k = 0; k < o->use_count; k++) {
        put(p, ", ");
        put_reg(p, o->use[k]);
    }
    put(p, ";\n");
}

static void put_packs(struct ptxrandom *p, const struct op *o) {
    put_guard(p, o);
    put(p, "mov.b%u ", 8 * width_bytes[o->width]);
    put_regs(p, o->def, o->def_count);
    put(p, ", ");
    put_regs(p, o->use, o->use_count);
    put(p, ";\n");
}

static void put_op(struct ptxrandom *p, uint32_t at) {
    const struct op *o = &p->ops[at];
    put(p, "L%u: ", at);
    switch (o->kind) {
    case FRESH: put_fresh(p, o); break;
    case LOAD:
    case STORE:
    case ATOM: put_moves(p, o, at); break;
    case PACK:
    case UNPACK: put_packs(p, o); break;
    case SHFL:
    case VOTE:
    case MATCH:
    case ELECT: put_together(p, o); break;
    case BRA:
    case LOOP:
    case TABLE:
    case LEAVE: put_jump(p, o, at); break;
    default: put_compute(p, o); break;
    }
}

static void put_program(struct ptxrandom *p) {
    p->len = 0;
    put(p, ".version 8.0\n.target sm_90\n.address_size 64\n"
           ".func (.param .b32 r) helper(.param .b32 x) {\n"
           ".reg .pred %%p; .reg .b16 %%h<3>; .reg .b32 %%r<4>; ld.param.b32 %%r1, [x];\n"
           "mov.b32 {%%h1, %%h2}, %%r1; setp.lt.u16 %%p, %%h1, %%h2; @%%p bra OUT;\n"
           "mul.lo.u32 %%r1, %%r1, 5; add.u32 %%r1, %%r1, 1;\n"
           "OUT: xor.b32 %%r1, %%r1, 0x5a5a; st.param.b32 [r], %%r1; ret; }\n"
           ".visible .entry main(.param .u64 memory) {\n"
           ".reg .pred %%more; .reg .b32 %%lane, %%fuel, %%me; .reg .b64 %%base, %%wide;\n");
    put(p, ".reg .pred %%p<%u>; .reg .b8 %%b<%u>; .reg .b16 %%h<%u>; .reg .b32 %%r<%u>;\n",
        p->reg_count, p->reg_count, p->reg_count, p->reg_count);
    put(p, ".reg .b64 %%d<%u>; .reg .b128 %%q<%u>; .reg .b64 %%at<%u>; .reg .b32 %%to<%u>;\n",
        p->reg_count, p->reg_count, p->op_count, p->op_count);
    put(p,
        "ld.param.u64 %%base, [memory]; mov.u32 %%lane, %%tid.x; mov.u32 %%me, %%lanemask_eq;\n"
        "mad.wide.u32 %%base, %%lane, %u, %%base; mov.u32 %%fuel, %u; cvt.u64.u32 %%wide, "
        "%%lane;\n",
        PTXRANDOM_LANE_BYTES, FUEL);
    for (uint32_t i = 0; i < p->op_count; i++)
        put_op(p, i);
    put(p, "L%u: ret; }\n", p->op_count);
}

const char *ptxrandom_make(struct ptxrandom *p, uint32_t seed) {
    p->seed = seed * 2654435761u + 12345;
    p->op_count = 30 + draw(p, OPS_MAX - 30);
    p->reg_count = 0;
    for (uint32_t w = 0; w < WIDTHS; w++)
        p->limit[w] = 6 + draw(p, 28);
    for (uint32_t i = 0; i < p->op_count; i++)
        draw_op(p, i);
    find_written(p);
    for (uint32_t i = 0; i < p->op_count; i++)
        draw_sources(p, i);
    put_program(p);
    return p->text;
}

struct ptxrandom *ptxrandom_create(void) {
    return calloc(1, sizeof(struct ptxrandom));
}

void ptxrandom_destroy(struct ptxrandom *p) {
    free(p);
}

/* ---- the model ----------------------------------------------------------------------------------
 */

struct lane {
    const struct ptxrandom *p;
    value regs[REGS_MAX];
    uint32_t lane;
    int32_t fuel;
    unsigned char *memory;
};

static value cut(value v, uint32_t width) {
    return width == P ? v & 1 : width == Q ? v : v & (((value)1 << 8 * width_bytes[width]) - 1);
}

static int64_t sign_of(value v, uint32_t width) {
    const uint32_t unused = 64 - 8 * width_bytes[width];
    return (int64_t)((uint64_t)v << unused) >> unused;
}

static void set(struct lane *l, int16_t r, value v) {
    if (r >= 0) l->regs[r] = cut(v, l->p->width[r]);
}

static value fresh(const struct lane *l, int16_t r, uint32_t imm) {
    switch (l->p->width[r]) {
    case P: return l->lane < imm % 33;
    case B: return l->lane;
    case H: return imm & 0x7fff;
    case W: return (uint64_t)l->lane * (imm | 1) + imm;
    case D: return (uint64_t)l->lane * (uint32_t)((imm | 1) * 65537u);
    default: return (value)l->lane << 64 | imm;
    }
}

static uint64_t arith(uint32_t sub, uint64_t a, uint64_t b) {
    return sub == 0 ? a + b : sub == 1 ? a - b : sub == 2 ? a * b : sub == 3 ? a ^ b : a & b;
}

static bool compare(uint32_t sub, uint32_t width, uint64_t a, uint64_t b) {
    int64_t x = sign_of(a, width), y = sign_of(b, width);
    return sub == 0 ? a < b : sub == 1 ? a != b : sub == 2 ? x > y : sub == 3 ? a == b : x >= y;
}

static bool logic(uint32_t sub, bool a, bool b) {
    return sub == 2 ? a != b : sub == 1 || sub == 4 ? a || b : a && b;
}

static uint32_t helper(uint32_t x) {
    if ((x & 0xffff) >= x >> 16) x = x * 5 + 1;
    return x ^ 0x5a5a;
}

static void model_memory(struct lane *l, const struct op *o) {
    const uint32_t bytes = width_bytes[o->memory];
    unsigned char *at = l->memory + o->offset;
    value v = 0;
    for (uint32_t k = 0; o->kind == LOAD && k < o->def_count; k++) {
        memcpy(&v, at + k * bytes, bytes);
        set(l, o->def[k], o->sub && o->memory < Q ? (uint64_t)sign_of(v, o->memory) : v);
    }
    for (uint32_t k = 0; o->kind == STORE && k < o->use_count; k++)
        memcpy(at + k * bytes, &l->regs[o->use[k]], bytes);
    if (o->kind != ATOM) return;
    memcpy(&v, at, bytes);
    value sum = v + l->regs[o->use[0]];
    if (o->width == Q) sum = v == l->regs[o->use[0]] ? l->regs[o->use[1]] : v;
    memcpy(at, &sum, bytes);
    if (o->def_count) set(l, o->def[0], v);
}

static void model_pack(struct lane *l, const struct op *o) {
    const uint32_t bits = 8 * width_bytes[o->memory];
    value v = 0;
    for (uint32_t k = 0; o->kind == PACK && k < o->use_count; k++)
        v |= l->regs[o->use[k]] << k * bits;
    if (o->kind == PACK) set(l, o->def[0], v);
    v = l->regs[o->use[0]];
    for (uint32_t k = 0; o->kind == UNPACK && k < o->def_count; k++)
        set(l, o->def[k], v >> k * bits);
}

static void model_compute(struct lane *l, const struct op *o) {
    value s[4] = {0};
    for (uint32_t k = 0; k < o->use_count; k++)
        s[k] = l->regs[o->use[k]];
    bool yes = o->width < Q && compare(o->sub, o->width, (uint64_t)s[0], (uint64_t)s[1]);
    switch (o->kind) {
    case FRESH:
        for (uint32_t k = 0; k < o->def_count; k++)
            if (o->def[k] >= 0) set(l, o->def[k], fresh(l, o->def[k], o->imm + k));
        break;
    case ARITH: set(l, o->def[0], arith(o->sub, (uint64_t)s[0], (uint64_t)s[1])); break;
    case CVT: set(l, o->def[0], cut(cut(s[0], o->from), o->to)); break;
    case COPY: set(l, o->def[0], s[0]); break;
    case SELP: set(l, o->def[0], s[2] ? s[0] : s[1]); break;
    case SETP_PAIR: set(l, o->def[1], logic(o->sub, !yes, s[2])); /* fall through */
    case SETP: set(l, o->def[0], logic(o->sub, yes, s[2])); break;
    case SETP_SINK: set(l, o->def[0], !yes); break;
    case LOGIC: set(l, o->def[0], logic(o->sub, s[0], s[1])); break;
    case SHFL: set(l, o->def[0], s[0]), set(l, o->def[1], 1); break;
    case VOTE: set(l, o->def[0], s[0] ? 1u << l->lane : 0); break;
    case MATCH: set(l, o->def[0], 1u << l->lane); break;
    case ELECT: set(l, o->def[0], 1); break;
    case CALL: set(l, o->def[0], helper((uint32_t)s[0])); break;
    case PACK:
    case UNPACK: model_pack(l, o); break;
    default: model_memory(l, o); break;
    }
}

/* The index of the operation after `at`; op_count: the lane has ended. */
static uint32_t model_step(struct lane *l, uint32_t at) {
    const struct op *o = &l->p->ops[at];
    bool on = o->guard < 0 || (l->regs[o->guard] != 0) != o->neg;
    bool more = (o->kind == LOOP || o->kind == TABLE) && --l->fuel > 0;
    if (!on) return at + 1;
    switch (o->kind) {
    case BRA: return (uint32_t)o->target[0];
    case LOOP: return more ? (uint32_t)o->target[0] : at + 1;
    case TABLE: return (uint32_t)o->target[more ? l->regs[o->use[0]] & 3 : 0];
    case LEAVE: return l->p->op_count;
    default: model_compute(l, o); return at + 1;
    }
}

void ptxrandom_run(const struct ptxrandom *p, uint32_t lane,
                   unsigned char memory[PTXRANDOM_LANE_BYTES]) {
    struct lane l = {.p = p, .lane = lane, .fuel = FUEL, .memory = memory};
    for (uint32_t at = 0; at < p->op_count;)
        at = model_step(&l, at);
}
