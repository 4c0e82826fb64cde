/* SPDX-License-Identifier: Apache-2.0
 *
 * An instruction writes its result and nothing else. Tries every form that the table of verdicts
 * accepts, and the same with wider destinations where the parser accepts them, on every build of
 * the handlers. Each runs twice on memory and a stack filled with one byte, and once with another
 * byte. If the registers differ, a handler has leaked uninitialised memory of the worker to a
 * kernel.
 */
#include <criterion/criterion.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/device/soft/isa/dispatch/select.h"
#include "test/lib/ptx/ptx_cases.h"
#include "test/lib/ptx/ptxrun.h"

#define FRAME "test/data/verify/frame.ptx"
#define TABLE "build/data/verify/verdicts.txt"
#define REGS 64        /* registers that a case may name */
#define OUT_BYTES 512u /* bytes that a lane stores */
#define ROOM (32 * OUT_BYTES)

/* Types of the frame's registers; %<type>a to %<type>h. */
static const struct type {
    const char *name;
    unsigned bytes;
} types[] = {{"pred", 0},  {"b8", 1},  {"u8", 1},  {"s8", 1},  {"b16", 2}, {"u16", 2},
             {"s16", 2},   {"f16", 2}, {"b32", 4}, {"u32", 4}, {"s32", 4}, {"f32", 4},
             {"f16x2", 4}, {"b64", 8}, {"u64", 8}, {"s64", 8}, {"f64", 8}, {"b128", 16}};
#define TYPES (sizeof(types) / sizeof(types[0]))

struct reg {
    const struct type *type;
    char letter;
    bool address; /* used in brackets somewhere */
};

/* Reads the name of a register of the frame at `at`; returns its length, or 0 if there is none. */
static size_t read_reg(const char *at, struct reg *r) {
    if (*at != '%') return 0;
    for (size_t t = 0; t < TYPES; t++) {
        size_t len = strlen(types[t].name);
        if (strncmp(at + 1, types[t].name, len) != 0) continue;
        char letter = at[1 + len], behind = letter ? at[2 + len] : 0;
        bool ends = !behind || strchr(",;]})| +.", behind);
        if (letter < 'a' || letter > 'h' || !ends) continue;
        *r = (struct reg){&types[t], letter, false};
        return len + 2;
    }
    return 0;
}

static unsigned find_regs(const char *text, struct reg *regs) {
    unsigned count = 0, depth = 0;
    for (const char *at = text; *at; at++) {
        struct reg r;
        unsigned k = 0;
        depth += (*at == '[') - (*at == ']');
        if (!read_reg(at, &r)) continue;
        while (k < count && (regs[k].type != r.type || regs[k].letter != r.letter))
            k++;
        if (k == REGS) continue;
        if (k == count) regs[count++] = r;
        regs[k].address |= depth && at[-1] == '[';
    }
    return count;
}

struct body {
    size_t used;
    char text[32768];
};

static __attribute__((format(printf, 2, 3))) void add(struct body *b, const char *format, ...) {
    va_list args;
    va_start(args, format);
    b->used += (size_t)vsnprintf(b->text + b->used, sizeof(b->text) - b->used, format, args);
    cr_assert_lt(b->used, sizeof(b->text));
    va_end(args);
}

/* Data registers get bytes of the input, address registers a variable's address; all data
 * registers are stored afterwards. */
static char *program(const struct ptx_frame *frame, const char *text) {
    struct body b = {.used = 0};
    struct reg regs[REGS];
    const unsigned count = find_regs(text, regs);
    const char *home = strstr(text, ".shared") ? "sv" : "gv";
    add(&b,
        ".reg .b64 %%zi,%%zo; .reg .b32 %%zl,%%zv; ld.param.b64 %%zi,[pv];\n"
        "ld.param.b64 %%zo,[pv+8]; mov.u32 %%zl,%%laneid;\n"
        "mad.wide.u32 %%zi,%%zl,%u,%%zi; mad.wide.u32 %%zo,%%zl,%u,%%zo;\n",
        OUT_BYTES, OUT_BYTES);
    for (unsigned k = 0; k < count; k++) {
        const struct reg *r = &regs[k];
        const unsigned bytes = r->type->bytes;
        if (!bytes)
            add(&b, "and.b32 %%zv,%%zl,%u; setp.ne.u32 %%pred%c,%%zv,0;\n", 1u << k % 5, r->letter);
        else if (r->address && (bytes == 4 || bytes == 8))
            add(&b, "mov.b%u %%%s%c,%s;\n", 8 * bytes, r->type->name, r->letter, home);
        else
            add(&b, "ld.global.b%u %%%s%c,[%%zi+%u];\n", 8 * bytes, r->type->name, r->letter,
                16 * (k % (OUT_BYTES / 16)));
    }
    add(&b, "%s\n", text);
    for (unsigned k = 0; k < count && k < OUT_BYTES / 16; k++) {
        const struct reg *r = &regs[k];
        if (r->address) continue;
        if (r->type->bytes)
            add(&b, "st.global.b%u [%%zo+%u],%%%s%c;\n", 8 * r->type->bytes, 16 * k, r->type->name,
                r->letter);
        else
            add(&b, "selp.b32 %%zv,1,0,%%pred%c; st.global.b32 [%%zo+%u],%%zv;\n", r->letter,
                16 * k);
    }
    return ptx_frame_text(frame, b.text);
}

static __attribute__((noinline)) void fill_stack(unsigned char byte) {
    volatile unsigned char below[96 << 10];
    memset((unsigned char *)below, byte, sizeof(below));
}

/* Runs `text` on memory filled with `byte`. False: it does not run. */
static bool run(const char *text, unsigned char byte, unsigned char *out) {
    mallopt(M_PERTURB, byte);
    struct ptxrun *r = ptxrun_create(text, strlen(text), 1);
    bool runs = false;
    r->max_steps = 4;
    r->slice = 4000;
    if (r->module) {
        unsigned char *in = ptxrun_alloc(r, ROOM), *to = ptxrun_alloc(r, ROOM);
        uint32_t dice = 1;
        for (unsigned k = 0; k < ROOM; k++)
            in[k] = (unsigned char)((dice = dice * 1664525 + 1013904223) >> 24);
        fill_stack(byte);
        runs = !ptxrun_launch(r, "k", 1, 32, 2, (uint64_t)(uintptr_t)in, (uint64_t)(uintptr_t)to);
        memcpy(out, to, ROOM);
    }
    ptxrun_destroy(r);
    mallopt(M_PERTURB, 0);
    return runs;
}

/* Returns true if the case ran. */
static bool try_case(const struct ptx_frame *frame, const char *text) {
    static unsigned char first[ROOM], again[ROOM], other[ROOM];
    char *whole = program(frame, text);
    bool ran = run(whole, 0x5a, first);
    if (ran) {
        run(whole, 0x5a, again);
        run(whole, 0xa6, other);
    }
    for (unsigned k = 0; ran && k < ROOM; k += 16)
        cr_assert(memcmp(first + k, again + k, 16) == 0 && memcmp(first + k, other + k, 16) == 0,
                  "%s on %s: register %u of lane %u is %02x..., %02x..., and %02x...", text,
                  isa_name(), k % OUT_BYTES / 16, k / OUT_BYTES, first[k], again[k], other[k]);
    free(whole);
    return ran;
}

/* `text` with registers of type `t` in its first operand; false if nothing changes. */
static bool widen(const char *text, const struct type *t, char *out, size_t room) {
    const char *at = strchr(text, ' ');
    unsigned depth = 0;
    bool changed = false;
    if (!at || text[0] == '{' || strlen(text) * 2 > room) return false;
    memcpy(out, text, (size_t)(at - text));
    for (out += at - text; *at && (depth || *at != ','); at++) {
        struct reg r;
        size_t len = read_reg(at, &r);
        depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
        if (!len || !r.type->bytes || t->bytes < r.type->bytes || t == r.type) {
            *out++ = *at;
            continue;
        }
        out += sprintf(out, "%%%s%c", t->name, r.letter);
        at += len - 1;
        changed = true;
    }
    strcpy(out, at);
    return changed;
}

struct counts {
    unsigned cases, ran, wider;
};

/* True for instructions that read the time or an address: the result differs in every run. */
static bool differs_anyway(const char *text) {
    return strstr(text, "%clock") || strstr(text, "%globaltimer") ||
           (strstr(text, "cvta.") && (strstr(text, ".shared") || strstr(text, ".local")));
}

static void try_line(const struct ptx_frame *frame, const char *text, struct counts *n) {
    char wide[2048], why[256];
    if (differs_anyway(text)) return;
    n->cases++;
    n->ran += try_case(frame, text);
    for (size_t t = 1; t < TYPES; t++)
        if (widen(text, &types[t], wide, sizeof(wide)) &&
            !ptx_frame_parse(frame, wide, why, sizeof(why)))
            n->wider += try_case(frame, wide);
}

static void try_build(const char *build) {
    struct ptx_frame frame;
    struct counts n = {0};
    char line[2048];
    setenv("SALUS_SOFT_ISA", build, 1);
    if (strcmp(isa_name(), build) != 0) return; /* not supported by this processor */
    cr_assert_eq(ptx_frame_read(&frame, FRAME), 0);
    FILE *f = fopen(TABLE, "r");
    cr_assert_not_null(f);
    while (fgets(line, sizeof(line), f)) {
        line[strcspn(line, "\n")] = 0;
        if (strncmp(line, "ok\t", 3) == 0) try_line(&frame, line + 3, &n);
    }
    fclose(f);
    ptx_frame_finish(&frame);
    cr_log_info("%s: %u of %u ran, and %u with wider registers", build, n.ran, n.cases, n.wider);
    cr_assert(n.ran * 4 > n.cases * 3 && n.wider > n.cases / 2, "%u of %u ran, %u wider", n.ran,
              n.cases, n.wider);
}

Test(undefined, base) {
    try_build("base");
}

Test(undefined, v3) {
    try_build("v3");
}

Test(undefined, v4) {
    try_build("v4");
}
