/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels in parts (subgrids): which ones qualify, the reason where one does not, their rewritten
 * PTX, and grids in slabs. Launches that go through test/lib/ptxrun check that a kernel computes
 * the same in parts.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/device/soft/ptx/ptx_parse.h"
#include "daemon/device/subgrid/subgrid.h"
#include "daemon/device/subgrid/subgrid_rewrite.h"
#include "daemon/device/subgrid/subgrid_slab.h"
#include "test/lib/ptx/ptxrun.h"

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
#define VARS                                        \
    ".global .align 4 .u32 counter; .const .u32 c;" \
    ".shared .align 4 .b8 sh[64]; .extern .shared .b8 dyn[];\n"
#define SEEN                                                                              \
    ".func (.param .b32 r) twice(.param .b32 a) { .reg .b32 %r<3>; ld.param.b32 "         \
    "%r1,[a]; add.u32 %r2,%r1,%r1; st.param.b32 [r],%r2; ret; }\n"                        \
    ".func place(.param .b64 a) { .reg .b32 %r<3>; mov.u32 %r1,%ctaid.x; ret; }\n"        \
    ".func around(.param .b32 a) { .param .b32 x; call around,(x); ret; }\n"              \
    ".func counts(.param .b64 a) { .reg .b64 %d; .reg .b32 %r<3>; ld.param.u64 %d,[a];\n" \
    "atom.global.add.u32 %r1,[%d],1; mov.u32 %r2,%r1; ret; }\n"                           \
    ".extern .func far(.param .b32 a);\n"                                                 \
    ".func spins(.param .b64 a) { .reg .pred %p; .reg .b64 %d; .reg .b32 %r;\n"           \
    "ld.param.u64 %d,[a]; L: ld.volatile.global.u32 %r,[%d]; setp.ne.u32 %p,%r,0;"        \
    "@%p bra L; ret; }\n"
#define KERNEL                                                                    \
    ".visible .entry k(.param .u64 pa, .param .u32 pn)\n.maxntid 256, 1, 1\n"     \
    "{ .reg .pred %p<9>; .reg .b32 %r<29>; .reg .b64 %d<29>; .reg .f32 %f<9>;\n"  \
    ".param .b32 arg; .param .b32 got; .param .b64 wide;\n"                       \
    "ld.param.u64 %d1,[pa]; ld.param.u32 %r2,[pn]; cvta.to.global.u64 %d1,%d1;\n" \
    "mov.u32 %r3,%ctaid.x; mov.u32 %r4,%ntid.x; mov.u32 %r5,%tid.x;\n"            \
    "mad.lo.s32 %r1,%r3,%r4,%r5;\n"

static struct ptx_module *parsed(const char *text) {
    struct ptx_module *m = NULL;
    char why[160] = "";
    cr_assert_eq(ptx_parse(text, strlen(text), &m, why, sizeof(why)), 0, "%s: %s", why, text);
    return m;
}

static const char *text_of(const char *body) {
    static char text[8192];
    snprintf(text, sizeof(text), "%s%s\nret; }\n", HEAD VARS SEEN KERNEL, body);
    return text;
}

/* `reason` NULL: the kernel qualifies. */
static void is_refused(const char *body, const char *reason) {
    struct ptx_module *m = parsed(text_of(body));
    char why[160] = "";
    bool may = subgrid_may(ptx_find_func(m, "k"), why, sizeof(why));
    if (reason)
        cr_expect(!may && strstr(why, reason), "%s: %s", body, may ? "it may" : why);
    else
        cr_expect(may, "%s: %s", body, why);
    ptx_module_free(m);
}

Test(subgrid, what_only_has_its_place_may_be_cut) {
    is_refused("st.global.u32 [%d1],%r1;", NULL);
    is_refused(
        "mov.u32 %r6,%ctaid.z; mov.u32 %r6,%nctaid.y; mov.u32 %r7,%smid; mov.u32 %r8,%clock;",
        NULL);
    is_refused("L: add.u32 %r1,%r1,1; ld.global.u32 %r2,[%d1]; setp.ne.u32 %p1,%r1,%r2;"
               "bar.sync 0; @%p1 bra L;",
               NULL);
    is_refused("st.shared.u32 [sh],%r1; mov.u32 %r6,dyn; trap;", NULL);
}

Test(subgrid, what_tells_of_the_whole_grid_may_not) {
    is_refused("mov.u64 %d6,%gridid;", "%gridid");
    is_refused("mov.u32 %r6,%clusterid.x;", "%cluster");
    is_refused("mov.u32 %r6,%nclusterid.y;", "%cluster");
    is_refused("mov.u32 %r6,%cluster_ctarank;", "%cluster");
    is_refused("mov.pred %p1,%is_explicit_cluster;", "%cluster");
    is_refused("mov.u64 %d6,%current_graph_exec;", "%current_graph_exec");
    is_refused("griddepcontrol.wait;", "griddepcontrol");
    is_refused("barrier.cluster.arrive;", "barrier.cluster");
    is_refused("mapa.u64 %d6,%d1,%r1;", "mapa");
}

Test(subgrid, variables_of_the_module_may_not) {
    is_refused("ld.global.u32 %r6,[counter];", "counter");
    is_refused("mov.u64 %d6,counter;", "counter");
    is_refused("ld.const.u32 %r6,[c];", "variable of its module");
    is_refused("{ .reg .b32 %q<2>; ld.global.v2.u32 {%q0,%q1},[counter+0]; }", "counter");
}

Test(subgrid, calls_are_looked_into) {
    is_refused("st.param.b32 [arg],%r1; call (got),twice,(arg);", NULL);
    is_refused("call place,(wide);", "calls a function that reads its place");
    is_refused("call far,(arg);", "of another module: far");
    is_refused("call around,(arg);", "too deep");
    is_refused("mov.u64 %d6,twice;", "the address of twice");
    is_refused("P: .callprototype _ (.param .b32 _); call %d1,(arg),P;", "by its address");
    is_refused("call spins,(wide);", "may wait for other blocks");
}

#define AGAIN "setp.ne.u32 %%p1,%%r1,%%r2; @%%p1 bra L;"

/* Outside loops, each of these is harmless. */
Test(subgrid, who_may_wait_for_other_blocks_may_not) {
    static const char *const sees[] = {"ld.volatile.global.u32 %r6,[%d1];",
                                       "ld.relaxed.gpu.global.u32 %r6,[%d1];",
                                       "ld.acquire.sys.u32 %r6,[%d1];",
                                       "ld.global.cv.u32 %r6,[%d1];",
                                       "atom.global.add.u32 %r6,[%d1],1;",
                                       "atom.cas.b32 %r6,[%d1],0,1;",
                                       "membar.gl;",
                                       "fence.acq_rel.gpu;"};
    char text[512];
    for (size_t i = 0; i < sizeof(sees) / sizeof(sees[0]); i++) {
        snprintf(text, sizeof(text), "%s L: add.u32 %%r1,%%r1,%%r6; " AGAIN, sees[i]);
        is_refused(text, NULL);
        snprintf(text, sizeof(text), "L: add.u32 %%r1,%%r1,%%r6; " AGAIN " %s", sees[i]);
        is_refused(text, NULL);
        snprintf(text, sizeof(text), "@%%p1 bra L; %s add.u32 %%r1,%%r1,%%r6; L:", sees[i]);
        is_refused(text, NULL);
        snprintf(text, sizeof(text), "L: add.u32 %%r1,%%r1,%%r6; %s " AGAIN, sees[i]);
        is_refused(text, "may wait for other blocks");
        snprintf(text, sizeof(text),
                 "bra M; N: %s add.u32 %%r1,%%r1,%%r6; bra L; M: add.u32 %%r2,%%r2,1;"
                 "@%%p1 bra N; L:",
                 sees[i]);
        is_refused(text, "may wait for other blocks");
        snprintf(
            text, sizeof(text),
            "L: %s add.u32 %%r1,%%r1,%%r6; T: .branchtargets L, M; brx.idx %%r1,T; M:", sees[i]);
        is_refused(text, "may wait for other blocks");
    }
}

Test(subgrid, what_sees_nothing_of_other_blocks_may_be_done_again) {
    is_refused("L: atom.shared.add.u32 %r6,[sh],%r7; ld.volatile.shared.u32 %r7,[sh];"
               "membar.cta; setp.ne.u32 %p1,%r6,%r2; @%p1 bra L;",
               NULL);
    is_refused("L: atom.global.add.u32 %r6,[%d1],1; atom.global.add.u32 _,[%d1],1;"
               "red.global.add.u32 [%d1],1; setp.ne.u32 %p1,%r1,%r2; @%p1 bra L;",
               NULL);
    is_refused("L: ld.acquire.cta.u32 %r6,[%d1]; atom.add.acq_rel.cta.u32 %r7,[%d1],%r6;"
               "fence.acq_rel.cta; setp.ne.u32 %p1,%r7,%r2; @%p1 bra L;",
               NULL);
    is_refused("L: call (got),twice,(arg); setp.ne.u32 %p1,%r1,%r2; @%p1 bra L;", NULL);
    is_refused("L: call counts,(wide); setp.ne.u32 %p1,%r1,%r2; @%p1 bra L;",
               "may wait for other blocks");
    is_refused("call counts,(wide);", NULL);
}

Test(subgrid, heads_say_what_cannot_be_cut) {
    char why[160] = "";
    struct ptx_module *m =
        parsed(HEAD ".entry a() .reqnctapercluster 2 { ret; } .entry b() .maxclusterrank 4 { ret; }"
                    ".entry c() .explicitcluster .reqnctapercluster 1 { ret; }"
                    ".entry d(.param .b8 p[4080]) { ret; } .entry e(.param .b8 p[4072]) { ret; }"
                    ".func f() { ret; } .extern .entry g();");
    for (const char *name = "abcdefg"; *name; name++) {
        bool may = subgrid_may(ptx_find_func(m, (char[]){*name, 0}), why, sizeof(why));
        cr_expect_eq(may, *name == 'e', "%c: %s", *name, why);
    }
    ptx_module_free(m);
}

/* ---- rewritten PTX --------------------------------------------------------------------------- */

static char *rewritten(const char *text, int want) {
    struct ptx_module *m = parsed(text);
    char *out = NULL, why[160] = "";
    int err = subgrid_rewrite(text, strlen(text), m, &out, why, sizeof(why));
    ptx_module_free(m);
    cr_assert_eq(err, want, "%d: %s: %s", err, why, text);
    cr_assert((out != NULL) == (want == 0));
    return out;
}

static const struct ptx_func *kernel(const struct ptx_module *m, const char *name,
                                     uint32_t params) {
    const struct ptx_func *f = ptx_find_func(m, name);
    cr_assert(f && f->defined, "%s", name);
    cr_assert_eq(f->param_count, params, "%s", name);
    return f;
}

static uint32_t places_read(const struct ptx_func *f) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < f->inst_count; i++)
        for (uint32_t k = 0; k < f->insts[i].operand_count; k++)
            count += f->insts[i].operands[k].kind == PTX_OPND_SREG &&
                     f->insts[i].operands[k].sreg >= PTX_SREG_CTAID_X &&
                     f->insts[i].operands[k].sreg <= PTX_SREG_NCTAID_Z;
    return count;
}

Test(subgrid, a_kernel_has_six_more_parameters_and_reads_its_place_once) {
    char *text = rewritten(text_of("mov.u32 %r6,%ctaid.x; mov.u32 %r7,%ctaid.y; cvt.u64.u32 %d8, "
                                   "%ctaid.x; mov.u32 %r8,%nctaid.z;"),
                           0);
    struct ptx_module *m = parsed(text), *old = parsed(text_of(""));
    const struct ptx_func *f = kernel(m, "k", 8), *was = ptx_find_func(old, "k");
    cr_expect_eq(f->params[2]->offset, subgrid_param_at(was->param_bytes));
    cr_expect_eq(f->params[7]->offset, subgrid_param_at(was->param_bytes) + 20);
    cr_expect_eq(f->max_block[0], 256);
    cr_expect_eq(places_read(f), 3);
    cr_expect_null(ptx_find_var(m, "counter"));
    cr_expect_null(ptx_find_func(m, "place"));
    cr_expect_null(ptx_find_func(m, "far"));
    cr_expect(ptx_find_var(m, "sh") && ptx_find_var(m, "dyn"));
    ptx_module_free(m);
    ptx_module_free(old);
    free(text);
}

Test(subgrid, what_is_not_cut_is_left_out_and_what_is_called_stays) {
    char *text =
        rewritten(HEAD SEEN ".global .u64 t[2] = {k1, k2};\n"
                            ".entry k1; .visible .entry k2(.param .u32 n);\n"
                            ".entry k1 { .reg .b64 %r; mov.u64 %r,%gridid; ret; }\n"
                            ".weak .entry k2(.param .u32 n) .pragma \"nounroll\"; .minnctapersm 2\n"
                            "{ .param .b32 x; .param .b32 y; { call.uni (y), twice, (x); } ret; }\n"
                            ".visible .entry k3 { ret; }\n.entry k4() { ret; }",
                  0);
    struct ptx_module *m = parsed(text);
    cr_expect_null(ptx_find_func(m, "k1"));
    cr_expect_eq(kernel(m, "k2", 7)->min_blocks, 2);
    kernel(m, "k3", 6);
    kernel(m, "k4", 6);
    cr_expect(ptx_find_func(m, "twice")->defined);
    cr_expect_null(ptx_find_func(m, "around"));
    ptx_module_free(m);
    free(text);
}

Test(subgrid, names_that_are_taken_are_not_taken_twice) {
    char *text =
        rewritten(HEAD ".entry k(.param .u32 subgrid0_x) { .reg .b32 %subgrid1_o; ret; }", 0);
    cr_expect(strstr(text, "subgrid2_x"));
    free(text);
}

Test(subgrid, lines_and_sections_are_left_out) {
    char *text =
        rewritten(HEAD ".file 1 \"a.cu\", 12, 34\n.entry k() {\n.loc 1 2 3\nL: .loc 1 10 3, "
                       "function_name L0+4, inlined_at 1 20 3\nret; }\n"
                       ".section .debug_str { L0: .b8 97, 0 }\n.file 2 \"b\"\n",
                  0);
    cr_expect(!strstr(text, ".loc") && !strstr(text, ".section") && !strstr(text, ".file"), "%s",
              text);
    free(text);
}

Test(subgrid, what_cannot_be_rewritten_is_said) {
    free(rewritten(HEAD ".entry k() { .reg .b64 %r; mov.u64 %r,%gridid; ret; }", -ENOENT));
    free(rewritten(HEAD ".func f() { ret; }", -ENOENT));
    free(rewritten(".version 8.0\n.target sm_90, debug\n.address_size 64\n.entry k() { ret; }",
                   -ENOTSUP));
    /* The alias's target is missing. */
    free(rewritten(HEAD ".func f() { ret; }\n.func g();\n.alias g, f;\n"
                        ".entry k() { call g; ret; }",
                   -ENOTSUP));
}

/* ---- slabs ----------------------------------------------------------------------------------- */

static void covers(uint32_t x, uint32_t y, uint32_t z, uint64_t blocks, uint32_t want) {
    const uint32_t whole[3] = {x, y, z};
    struct subgrid_slabs s;
    uint64_t next = 0;
    uint32_t parts = 0;
    subgrid_slab_begin(&s, whole);
    for (; subgrid_slab_left(&s); parts++) {
        uint32_t first[3], grid[3];
        subgrid_slab_take(&s, blocks, first, grid);
        uint64_t count = (uint64_t)grid[0] * grid[1] * grid[2];
        cr_assert_eq(first[0] + (uint64_t)x * (first[1] + (uint64_t)y * first[2]), next);
        cr_assert(count && (count <= blocks || (grid[s.dimension] == 1)));
        next += count;
    }
    cr_expect_eq(next, (uint64_t)x * y * z);
    cr_expect_eq(parts, want);
}

Test(subgrid, slabs_are_the_grid_in_its_order) {
    covers(1000, 1, 1, 256, 4);
    covers(1000, 1, 1, 1, 1000);
    covers(1000, 1, 1, 1000, 1);
    covers(8, 100, 1, 20, 50);
    covers(8, 100, 1, 3, 100);
    covers(3, 5, 7, 30, 4);
    covers(3, 1, 7, 6, 4);
    covers(1, 1, 1, 9, 1);
    covers(UINT32_MAX, 1, 1, 1ull << 31, 2);
    covers(65535, 65535, 2, 1, 2);
}

/* ---- run in parts ---------------------------------------------------------------------------- */

/* Each block stores its position and the grid's size in its own cell; ptxrun compares parts with
 * the whole. */
Test(subgrid, blocks_find_their_place_in_the_whole_grid) {
    static const char text[] = HEAD
        ".visible .entry k(.param .u64 out, .param .u8 tag)\n{ .reg .b32 %r<19>; .reg .b64 %d<9>;\n"
        "mov.u32 %r1,%ctaid.x; mov.u32 %r2,%ctaid.y; mov.u32 %r3,%ctaid.z; mov.u32 %r4,%nctaid.x;\n"
        "mov.u32 %r5,%nctaid.y; mov.u32 %r6,%nctaid.z; mad.lo.u32 %r7,%r3,%r5,%r2;\n"
        "mad.lo.u32 %r8,%r7,%r4,%r1; mul.wide.u32 %d1,%r8,32; ld.param.u64 %d2,[out];\n"
        "add.u64 %d3,%d1,%d2; st.global.v4.u32 [%d3],{%r1,%r2,%r3,%r4};\n"
        "ld.param.u8 %r9,[tag]; st.global.v4.u32 [%d3+16],{%r5,%r6,%r8,%r9}; ret; }";
    static const uint32_t grids[][3] = {{7, 1, 1}, {300, 1, 1}, {5, 9, 1}, {2, 3, 5}, {3, 1, 4}};
    struct ptxrun *r = ptxrun_create(text, strlen(text), 0);
    uint32_t(*cells)[8] = ptxrun_alloc(r, 512 * sizeof(*cells)), in_parts = 0;
    cr_assert_not_null(r->cut);
    for (size_t g = 0; g < sizeof(grids) / sizeof(grids[0]); g++) {
        const uint32_t *n = grids[g], block[3] = {1, 1, 1};
        uint32_t at = 0;
        cr_assert_eq(ptxrun_launch3(r, "k", n, block, (uint64_t[]){(uintptr_t)cells, 200}, 2), 0);
        cr_assert_eq(r->in_parts, ++in_parts);
        for (uint32_t z = 0; z < n[2]; z++)
            for (uint32_t y = 0; y < n[1]; y++)
                for (uint32_t x = 0; x < n[0]; x++, at++) {
                    const uint32_t want[8] = {x, y, z, n[0], n[1], n[2], at, 200};
                    cr_assert_arr_eq(cells[at], want, sizeof(want));
                }
    }
    ptxrun_destroy(r);
}
