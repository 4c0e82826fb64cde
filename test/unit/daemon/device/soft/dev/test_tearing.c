/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads and writes of a lane, up to 16 bytes, are never seen torn. Blocks on several threads write
 * values whose parts agree and read them back. The values have every shape; lanes are adjacent,
 * spread, all at one address, or only partly active.
 *
 * To find tearing without a second processor, one thread is also single-stepped through every
 * instruction of a handler. ThreadSanitizer ignores kernels' memory, so this test covers that.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/device/soft/code/func.h"
#include "daemon/device/soft/decode/code_kernel.h"
#include "daemon/device/soft/isa/dispatch/select.h"
#include "test/lib/part.h"
#include "test/lib/ptx/ptxrun.h"

static const char *const builds[] = {"base", "v3", "v4"};

struct shape {
    const char *access;    /* end of the opcode */
    uint32_t count, bytes; /* number of elements, and bytes of each */
};
static const struct shape shapes[] = {
    {"v2.u64", 2, 8},
    {"v4.u32", 4, 4},
    {"v2.u32", 2, 4},
    {"v4.u16", 4, 2},
    {"v2.u16", 2, 2},
    {"v4.u8", 4, 1},
    {"relaxed.gpu.v2.u64", 2, 8},
    {"volatile.v4.u32", 4, 4},
    {"b128", 1, 16},
    {"relaxed.gpu.b128", 1, 16},
    {"u64", 1, 8},
    {"u32", 1, 4},
    {"u16", 1, 2},
};

/* A lane's cell index by lane number, and the active lanes. */
struct pattern {
    const char *name, *cell, *lanes;
    bool crowded; /* several lanes at one address: single-stepping shows nothing new */
};
static const struct pattern patterns[] = {
    {"a row", "mov.u32 %c, %lane;", "0xffffffff", false},
    {"one place", "mov.u32 %c, 3;", "0xffffffff", true},
    {"apart", "mul.lo.u32 %c, %lane, 5; and.b32 %c, %c, 31;", "0xffffffff", false},
    {"half a row", "mov.u32 %c, %lane;", "0x0ff0c3a5", false},
    {"halves of one row each", "and.b32 %c, %lane, 15;", "0xffffffff", true},
};

#define ROUNDS part_of(3000)

/* Even blocks write: each element is the low bits of a number, and so is each byte of a scalar.
 * Odd blocks read, and count values whose parts disagree. */
static const char text_head[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry main(.param .u64 cells, .param .u64 torn) {\n"
    ".reg .pred %p, %q; .reg .b32 %lane, %c, %n, %role, %t, %bad; .reg .b64 %cells, %torn, %a, "
    "%v;\n"
    ".reg .b64 %x<4>; .reg .b32 %y<4>; .reg .b16 %z<4>; .reg .b128 %w<1>;\n"
    "ld.param.u64 %cells, [cells]; ld.param.u64 %torn, [torn]; mov.u32 %lane, %laneid;\n"
    "mov.u32 %role, %ctaid.x; mov.u32 %n, 0; mov.u32 %bad, 0;\n";

static char reg_of(const struct shape *s) {
    return s->bytes == 16 ? 'w' : s->bytes == 8 ? 'x' : s->bytes == 4 ? 'y' : 'z';
}

static size_t put_elements(char *out, size_t room, const struct shape *s) {
    const char reg = reg_of(s);
    if (s->count == 1) return (size_t)snprintf(out, room, "%%%c0", reg);
    size_t n = 0;
    for (uint32_t k = 0; k < s->count; k++)
        n += (size_t)snprintf(out + n, room - n, "%s%%%c%u", k ? ", " : "{", reg, k);
    return n + (size_t)snprintf(out + n, room - n, "}");
}

/* Writes PTX that adds 1 to %bad for each element of a vector that differs from the first one; for
 * a scalar, if its highest byte differs from its lowest (16 bytes: if its halves differ). */
static size_t put_check(char *out, size_t room, const struct shape *s) {
    static const char *const bits[] = {[1] = "16", [2] = "16", [4] = "32", [8] = "64", [16] = ""};
    const char r = reg_of(s), *b = bits[s->bytes];
    size_t n = 0;
    if (s->bytes == 16)
        return (size_t)snprintf(out, room,
                                "mov.b128 {%%x0, %%x1}, %%w0; setp.ne.u64 %%q, %%x0, %%x1;\n"
                                "@%%q add.u32 %%bad, %%bad, 1;\n");
    for (uint32_t k = 1; k < s->count; k++)
        n += (size_t)snprintf(out + n, room - n,
                              "setp.ne.u%s %%q, %%%c0, %%%c%u; @%%q add.u32 %%bad, %%bad, 1;\n", b,
                              r, r, k);
    if (s->count == 1)
        n += (size_t)snprintf(out + n, room - n,
                              "shr.u%s %%%c1, %%%c0, %u; and.b%s %%%c2, %%%c0, 255; and.b%s %%%c1, "
                              "%%%c1, 255;\nsetp.ne.u%s %%q, %%%c1, %%%c2; @%%q add.u32 %%bad, "
                              "%%bad, 1;\n",
                              b, r, r, 8 * s->bytes - 8, b, r, r, b, r, r, b, r, r);
    return n;
}

static void make_text(char *out, size_t room, const struct shape *s, const struct pattern *p) {
    char elems[128], check[1024];
    put_elements(elems, sizeof(elems), s);
    put_check(check, sizeof(check), s);
    snprintf(
        out, room,
        "%s%s mad.wide.u32 %%a, %%c, %u, %%cells;\n"
        "shr.u32 %%t, %s, %%lane; and.b32 %%t, %%t, 1; setp.eq.u32 %%p, %%t, 0; @%%p exit;\n"
        "and.b32 %%role, %%role, 1; setp.ne.u32 %%p, %%role, 0; @%%p bra READ;\n"
        "WRITE: mad.lo.u32 %%t, %%n, 7, %%lane; and.b32 %%t, %%t, 255;\n"
        "mul.lo.u32 %%t, %%t, 0x01010101; mov.b64 %%x0, {%%t, %%t}; mov.u64 %%x1, %%x0;\n"
        "mov.b128 %%w0, {%%x0, %%x1};\n"
        "mov.u32 %%y0, %%t; mov.u32 %%y1, %%t; mov.u32 %%y2, %%t; mov.u32 %%y3, %%t;\n"
        "cvt.u16.u32 %%z0, %%t; mov.u16 %%z1, %%z0; mov.u16 %%z2, %%z0; mov.u16 %%z3, %%z0;\n"
        "st.%s [%%a], %s; add.u32 %%n, %%n, 1; setp.lt.u32 %%p, %%n, %u; @%%p bra WRITE; exit;\n"
        "READ: ld.%s %s, [%%a];\n%s"
        "add.u32 %%n, %%n, 1; setp.lt.u32 %%p, %%n, %u; @%%p bra READ;\n"
        "red.global.add.u32 [%%torn], %%bad; ret; }\n",
        text_head, p->cell, s->count * s->bytes, p->lanes, s->access, elems, ROUNDS, s->access,
        elems, check, ROUNDS);
}

static void check_shape(const struct shape *s, const struct pattern *p) {
    static char text[8192];
    make_text(text, sizeof(text), s, p);
    struct ptxrun *r = ptxrun_create(text, strlen(text), 0);
    unsigned char *cells = ptxrun_alloc(r, 32ull * 16);
    uint32_t *torn = ptxrun_alloc(r, 4);
    r->threads = 4;
    r->slice = 2000;
    int err = ptxrun_launch(r, "main", 8, 32, 2, (uint64_t)cells, (uint64_t)torn);
    cr_assert_eq(err, 0, "%s: %s%s", s->access, r->why, r->result.text);
    cr_assert_eq(*torn, 0, "%s on %s: %u of %u were torn (%s)", s->access, isa_name(), *torn,
                 4 * 32 * ROUNDS, p->name);
    ptxrun_destroy(r);
}

static void each_shape(void (*check)(const struct shape *, const struct pattern *)) {
    for (size_t b = 0; b < sizeof(builds) / sizeof(builds[0]); b++) {
        setenv("SALUS_SOFT_ISA", builds[b], 1);
        if (strcmp(isa_name(), builds[b]) != 0) continue; /* not supported by this processor */
        for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++)
            for (size_t p = 0; p < sizeof(patterns) / sizeof(patterns[0]); p++)
                check(&shapes[s], &patterns[p]);
    }
    unsetenv("SALUS_SOFT_ISA");
}

Test(tearing, what_moves_at_once_is_whole) {
    each_shape(check_shape);
}

/* ---- after every instruction
 * -------------------------------------------------------------------
 *
 * The processor's trap flag is set while a handler runs. After each instruction of a store the
 * cells are checked. After each instruction of a load they are rewritten, with all bytes of a
 * cell equal, so that a value that was read in two steps disagrees with itself. */

#define CELLS 32
#define TRAP_FLAG 0x100u

static code_handler *stepped_handler;
static unsigned char stepped_cells[CELLS * 16] __attribute__((aligned(64)));
static uint32_t stepped_bytes, stepped_torn, stepped_count; /* bytes: size of a cell */
static bool stepped_loads, stepped_swaps;
static uint64_t stepped_put, stepped_got; /* sums of the values exchanged between instructions */

static bool cell_is_whole(const unsigned char *cell) {
    for (uint32_t k = 1; k < stepped_bytes; k++)
        if (cell[k] != cell[0]) return false;
    return true;
}

/* Exchanges the first cell, which holds 16 bytes {n, ~n}, at irregular times. With a regular
 * period, a compare-and-swap loop longer than the period would never find the value that it has
 * read. */
static void swap_cell(void) {
    static uint32_t drawn = 1;
    uint64_t cell[2];
    drawn = drawn * 1664525u + 1013904223u;
    if ((drawn >> 16) % 61) return;
    memcpy(cell, stepped_cells, sizeof(cell));
    stepped_torn += cell[1] != ~cell[0];
    stepped_got += cell[0];
    stepped_put += cell[0] = 1000 * stepped_count;
    cell[1] = ~cell[0];
    memcpy(stepped_cells, cell, sizeof(cell));
}

static void on_step(int signal_number) {
    (void)signal_number;
    stepped_count++;
    if (stepped_swaps) {
        swap_cell();
        return;
    }
    if (stepped_loads) memset(stepped_cells, (int)(stepped_count & 255), sizeof(stepped_cells));
    for (uint32_t c = 0; c < CELLS; c++)
        stepped_torn += !cell_is_whole(stepped_cells + c * stepped_bytes);
}

static void step_through(struct warp *w, const struct code_inst *i, uint32_t mask) {
    __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | TRAP_FLAG);
    stepped_handler(w, i, mask);
    __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~(uint64_t)TRAP_FLAG);
}

/* Replaces the handler of the kernel's first `op` that is a vector operation or accesses the
 * cells by step_through. */
static void step_kernel(struct ptxrun *r, uint32_t op) {
    struct code_kernel *k;
    cr_assert_eq(code_kernel_get(r->module, "main", &k, r->why, sizeof(r->why)), 0, "%s", r->why);
    struct code_inst *i = k->entry->insts;
    while (i->op != op || i->space == PTX_PARAM)
        i++;
    stepped_handler = i->run;
    i->run = step_through;
}

static void make_stepped_text(char *out, size_t room, const struct shape *s,
                              const struct pattern *p) {
    char elems[128];
    const char reg = reg_of(s);
    put_elements(elems, sizeof(elems), s);
    size_t n = (size_t)snprintf(
        out, room,
        "%s%s mad.wide.u32 %%a, %%c, %u, %%cells; mad.wide.u32 %%v, %%lane, 16, %%torn;\n"
        "shr.u32 %%t, %s, %%lane; and.b32 %%t, %%t, 1; setp.eq.u32 %%p, %%t, 0; @%%p exit;\n"
        "add.u32 %%t, %%lane, 1; mul.lo.u32 %%t, %%t, 0x01010101; mov.b64 %%x0, {%%t, %%t};\n"
        "mov.u64 %%x1, %%x0; mov.u32 %%y0, %%t; mov.u32 %%y1, %%t; mov.u32 %%y2, %%t;\n"
        "mov.u32 %%y3, %%t; cvt.u16.u32 %%z0, %%t; mov.u16 %%z1, %%z0; mov.u16 %%z2, %%z0;\n"
        "mov.u16 %%z3, %%z0; mov.b128 %%w0, {%%x0, %%x1};\n",
        text_head, p->cell, s->count * s->bytes, p->lanes);
    if (!stepped_loads) {
        snprintf(out + n, room - n, "st.%s [%%a], %s; ret; }\n", s->access, elems);
        return;
    }
    n += (size_t)snprintf(out + n, room - n, "ld.%s %s, [%%a];\n", s->access, elems);
    for (uint32_t k = 0; k < s->count; k++)
        n += (size_t)snprintf(out + n, room - n, "st.b%u [%%v+%u], %%%c%u;\n", 8 * s->bytes,
                              k * s->bytes, reg, k);
    snprintf(out + n, room - n, "ret; }\n");
}

static void check_steps(const struct shape *s, const struct pattern *p) {
    static char text[8192];
    if (p->crowded) return;
    make_stepped_text(text, sizeof(text), s, p);
    struct ptxrun *r = ptxrun_create(text, strlen(text), 0);
    unsigned char *out = ptxrun_alloc(r, CELLS * 16);
    uint64_t cells = (uint64_t)(uintptr_t)stepped_cells;
    struct ranges *with = ranges_with(r->ranges, cells, cells + sizeof(stepped_cells));
    ranges_unref(r->ranges);
    r->ranges = with;
    memset(stepped_cells, 255, sizeof(stepped_cells));
    stepped_bytes = s->count * s->bytes;
    stepped_torn = stepped_count = 0;
    step_kernel(r, stepped_loads ? PTX_OP_ld : PTX_OP_st);
    r->beside = 1;
    int err = ptxrun_launch(r, "main", 1, 32, 2, cells, (uint64_t)(uintptr_t)out);
    cr_assert_eq(err, 0, "%s: %s%s", s->access, r->why, r->result.text);
    cr_assert_gt(stepped_count, 30, "the handler was not stepped through");
    for (uint32_t l = 0; l < CELLS; l++)
        stepped_torn += !cell_is_whole(out + l * 16ull);
    cr_assert_eq(stepped_torn, 0, "%s of %s on %s: seen by halves (%s)",
                 stepped_loads ? "a load" : "a store", s->access, isa_name(), p->name);
    ptxrun_destroy(r);
}

static void each_step(bool loads) {
    struct sigaction act = {.sa_handler = on_step};
    sigaction(SIGTRAP, &act, NULL);
    stepped_loads = loads;
    each_shape(check_steps);
}

Test(tearing, stores_behind_every_instruction) {
    each_step(false);
}

Test(tearing, loads_behind_every_instruction) {
    each_step(true);
}

Test(tearing, exchanges_behind_instructions) {
    static const char exchange[] =
        "mov.u32 %t, %tid.x; mad.wide.u32 %v, %t, 16, %torn; cvt.u64.u32 %x0, %t;\n"
        "not.b64 %x1, %x0; mov.b128 %w0, {%x0, %x1}; atom.exch.b128 %w0, [%cells], %w0;\n"
        "st.b128 [%v], %w0; ret; }\n";
    char text[2048];
    struct sigaction act = {.sa_handler = on_step};
    sigaction(SIGTRAP, &act, NULL);
    snprintf(text, sizeof(text), "%s%s", text_head, exchange);
    struct ptxrun *r = ptxrun_create(text, strlen(text), 0);
    uint64_t *out = ptxrun_alloc(r, CELLS * 16), cells = (uint64_t)(uintptr_t)stepped_cells, now;
    struct ranges *with = ranges_with(r->ranges, cells, cells + sizeof(stepped_cells));
    ranges_unref(r->ranges);
    r->ranges = with;
    memset(stepped_cells + 8, 255, 8);
    stepped_swaps = true;
    step_kernel(r, PTX_OP_atom);
    int err = ptxrun_launch(r, "main", 1, 32, 2, cells, (uint64_t)(uintptr_t)out);
    cr_assert_eq(err, 0, "%s%s", r->why, r->result.text);
    cr_assert_gt(stepped_put, 0, "the handler was not stepped through");
    memcpy(&now, stepped_cells, 8);
    for (uint32_t l = 0; l < CELLS; l++) {
        stepped_put += l;
        stepped_got += out[2ull * l];
        stepped_torn += out[2ull * l + 1] != ~out[2ull * l];
    }
    cr_assert_eq(stepped_torn, 0, "seen by halves");
    cr_assert_eq(stepped_put, stepped_got + now, "something was lost, or taken twice");
    ptxrun_destroy(r);
}
