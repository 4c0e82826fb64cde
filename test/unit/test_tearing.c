/* SPDX-License-Identifier: Apache-2.0
 *
 * What a lane reads or writes at once, up to 16 bytes, nobody sees by halves. Blocks on several
 * threads write values whose parts agree and read them back, in every shape, for lanes that lie in
 * rows, apart, all in one place, or take part only here and there. ThreadSanitizer is told to look
 * away from kernels' memory, so this test is what sees it.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/device/soft/code.h"
#include "test/lib/ptxrun.h"

static const char *const builds[] = {"base", "v3", "v4"};

struct shape {
    const char *access;    /* the opcode's end */
    uint32_t count, bytes; /* elements, and of each */
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
    {"u64", 1, 8},
    {"u32", 1, 4},
    {"u16", 1, 2},
};

/* Where lane l's cell lies, in cells; and which lanes take part. */
struct pattern {
    const char *name, *cell, *lanes;
};
static const struct pattern patterns[] = {
    {"a row", "mov.u32 %c, %lane;", "0xffffffff"},
    {"one place", "mov.u32 %c, 3;", "0xffffffff"},
    {"apart", "mul.lo.u32 %c, %lane, 5; and.b32 %c, %c, 31;", "0xffffffff"},
    {"half a row", "mov.u32 %c, %lane;", "0x0ff0c3a5"},
    {"halves of one row each", "and.b32 %c, %lane, 15;", "0xffffffff"},
};

#define ROUNDS 3000

/* Even blocks write: each element is a number's low bits, and so is each byte of a scalar. Odd ones
 * read, and count what does not agree. */
static const char text_head[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry main(.param .u64 cells, .param .u64 torn) {\n"
    ".reg .pred %p, %q; .reg .b32 %lane, %c, %n, %role, %t, %bad; .reg .b64 %cells, %torn, %a, "
    "%v;\n"
    ".reg .b64 %x<4>; .reg .b32 %y<4>; .reg .b16 %z<4>;\n"
    "ld.param.u64 %cells, [cells]; ld.param.u64 %torn, [torn]; mov.u32 %lane, %laneid;\n"
    "mov.u32 %role, %ctaid.x; mov.u32 %n, 0; mov.u32 %bad, 0;\n";

static size_t put_elements(char *out, size_t room, const struct shape *s) {
    const char reg = s->bytes == 8 ? 'x' : s->bytes == 4 ? 'y' : 'z';
    if (s->count == 1) return (size_t)snprintf(out, room, "%%%c0", reg);
    size_t n = 0;
    for (uint32_t k = 0; k < s->count; k++)
        n += (size_t)snprintf(out + n, room - n, "%s%%%c%u", k ? ", " : "{", reg, k);
    return n + (size_t)snprintf(out + n, room - n, "}");
}

/* Whether the elements agree with the first, or its bytes with its lowest: %q if not. */
static size_t put_check(char *out, size_t room, const struct shape *s) {
    static const char *const bits[] = {[1] = "16", [2] = "16", [4] = "32", [8] = "64"};
    static const char regs[] = {[1] = 'z', [2] = 'z', [4] = 'y', [8] = 'x'};
    const char r = regs[s->bytes], *b = bits[s->bytes];
    size_t n = 0;
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
    const char *type = strrchr(s->access, '.') ? s->access : s->access;
    put_elements(elems, sizeof elems, s);
    put_check(check, sizeof check, s);
    snprintf(
        out, room,
        "%s%s mad.wide.u32 %%a, %%c, %u, %%cells;\n"
        "shr.u32 %%t, %s, %%lane; and.b32 %%t, %%t, 1; setp.eq.u32 %%p, %%t, 0; @%%p exit;\n"
        "and.b32 %%role, %%role, 1; setp.ne.u32 %%p, %%role, 0; @%%p bra READ;\n"
        "WRITE: mad.lo.u32 %%t, %%n, 7, %%lane; and.b32 %%t, %%t, 255;\n"
        "mul.lo.u32 %%t, %%t, 0x01010101; mov.b64 %%x0, {%%t, %%t}; mov.u64 %%x1, %%x0;\n"
        "mov.u32 %%y0, %%t; mov.u32 %%y1, %%t; mov.u32 %%y2, %%t; mov.u32 %%y3, %%t;\n"
        "cvt.u16.u32 %%z0, %%t; mov.u16 %%z1, %%z0; mov.u16 %%z2, %%z0; mov.u16 %%z3, %%z0;\n"
        "st.%s [%%a], %s; add.u32 %%n, %%n, 1; setp.lt.u32 %%p, %%n, %u; @%%p bra WRITE; exit;\n"
        "READ: ld.%s %s, [%%a];\n%s"
        "add.u32 %%n, %%n, 1; setp.lt.u32 %%p, %%n, %u; @%%p bra READ;\n"
        "red.global.add.u32 [%%torn], %%bad; ret; }\n",
        text_head, p->cell, s->count * s->bytes, p->lanes, type, elems, ROUNDS, type, elems, check,
        ROUNDS);
}

static void check_shape(const struct shape *s, const struct pattern *p) {
    static char text[8192];
    make_text(text, sizeof text, s, p);
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

Test(tearing, what_moves_at_once_is_whole) {
    for (size_t b = 0; b < sizeof builds / sizeof builds[0]; b++) {
        setenv("SALUS_SOFT_ISA", builds[b], 1);
        if (strcmp(isa_name(), builds[b])) continue; /* not this processor's */
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
            for (size_t p = 0; p < sizeof patterns / sizeof patterns[0]; p++)
                check_shape(&shapes[s], &patterns[p]);
    }
    unsetenv("SALUS_SOFT_ISA");
}
