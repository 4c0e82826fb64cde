/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes all results of an instruction of one operand over a range of operands, close enough that
 * differences are small.
 *
 *   oracle_sweep RESULTS
 *
 * Each sweep is a line "NAME BEGIN STRIDE COUNT BYTES", followed by that many bytes: the
 * differences between successive results, a signed byte each. The first result, and one whose
 * difference is too large, is -128 and the result itself in 4 bytes.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/verify/oracle/driver.h"

#define SWEEP_BLOCK 128
#define SWEEP_MOST (1u << 24)

struct sweep {
    const char *name, *body; /* instruction body from %i0 to %o0, both .b32 */
    uint32_t begin, stride, count;
};

static const char *const sweep_head =
    ".version 9.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry f(.param .u64 b, .param .u32 begin, .param .u32 stride) {\n"
    ".reg .b32 %t<8>; .reg .b64 %x<4>; .reg .b32 %i0, %o0; .reg .f64 %d<2>;\n"
    "ld.param.u64 %x0,[b]; ld.param.u32 %t3,[begin]; ld.param.u32 %t4,[stride];\n"
    "mov.u32 %t0,%ctaid.x; mov.u32 %t1,%tid.x; mad.lo.u32 %t2,%t0,128,%t1;\n"
    "mad.lo.u32 %i0,%t2,%t4,%t3;\n";
static const char *const sweep_tail =
    "\nmad.wide.u32 %x1,%t2,4,%x0; st.global.b32 [%x1],%o0; ret; }\n";

#define SWEEP_DOUBLE(op) \
    "mov.b64 %d0,{0,%i0}; " op " %d1,%d0; { .reg .b32 low; mov.b64 {low,%o0},%d1; }"

static const struct sweep sweeps[] = {
    {"rcp.approx.ftz.f32", "rcp.approx.ftz.f32 %o0,%i0;", 0x3f800000, 1, 1u << 23},
    {"rsqrt.approx.ftz.f32", "rsqrt.approx.ftz.f32 %o0,%i0;", 0x3f800000, 1, 1u << 24},
    {"sqrt.approx.ftz.f32", "sqrt.approx.ftz.f32 %o0,%i0;", 0x3f800000, 4, 1u << 22},
    {"lg2.approx.ftz.f32", "lg2.approx.ftz.f32 %o0,%i0;", 0x3f000000, 1, 1u << 24},
    {"ex2.approx.ftz.f32", "ex2.approx.ftz.f32 %o0,%i0;", 0x3f800000, 1, 1u << 23},
    {"ex2.approx.ftz.f32", "ex2.approx.ftz.f32 %o0,%i0;", 0x3e800000, 4, 1u << 22},
    {"ex2.approx.ftz.f32", "ex2.approx.ftz.f32 %o0,%i0;", 0xbf800000, 4, 1u << 21},
    {"sin.approx.ftz.f32", "sin.approx.ftz.f32 %o0,%i0;", 0x3e800000, 4, 1u << 23},
    {"sin.approx.ftz.f32", "sin.approx.ftz.f32 %o0,%i0;", 0x40000000, 16, 1u << 20},
    {"cos.approx.ftz.f32", "cos.approx.ftz.f32 %o0,%i0;", 0x3e800000, 4, 1u << 23},
    {"cos.approx.ftz.f32", "cos.approx.ftz.f32 %o0,%i0;", 0x40000000, 16, 1u << 20},
    {"tanh.approx.f32", "tanh.approx.f32 %o0,%i0;", 0x3c800000, 8, 10u << 20},
    {"rcp.approx.ftz.f64", SWEEP_DOUBLE("rcp.approx.ftz.f64"), 0x3ff00000, 1, 1u << 20},
    {"rsqrt.approx.ftz.f64", SWEEP_DOUBLE("rsqrt.approx.ftz.f64"), 0x3ff00000, 1, 1u << 21},
};

/* Encodes the differences; `to` must hold up to `count` times 5 bytes. */
static size_t sweep_steps(uint8_t *to, const uint32_t *results, uint32_t count) {
    size_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        const int64_t step = i ? (int64_t)results[i] - results[i - 1] : 1000;
        if (step > 127 || step < -127) {
            to[at++] = 0x80;
            memcpy(to + at, &results[i], 4);
            at += 4;
        } else
            to[at++] = (uint8_t)step;
    }
    return at;
}

static CUresult sweep_run(struct driver *cu, const struct sweep *s, CUdeviceptr out,
                          uint32_t *host) {
    CUmodule module;
    CUfunction function;
    char *text;
    uint32_t begin = s->begin, stride = s->stride;
    void *params[] = {&out, &begin, &stride};
    if (asprintf(&text, "%s%s%s", sweep_head, s->body, sweep_tail) < 0) exit(2);
    CUresult e = cu->load(&module, text, 0, NULL, NULL);
    if (!e) e = cu->function(&function, module, "f");
    if (!e)
        e = cu->launch(function, s->count / SWEEP_BLOCK, 1, 1, SWEEP_BLOCK, 1, 1, 0, NULL, params,
                       NULL);
    if (!e) e = cu->out(host, out, (size_t)s->count * 4);
    free(text);
    return e;
}

int main(int argc, char **argv) {
    struct driver cu;
    CUdeviceptr out;
    uint32_t *host = malloc((size_t)SWEEP_MOST * 4);
    uint8_t *steps = malloc((size_t)SWEEP_MOST * 5);
    FILE *f = argc == 2 ? fopen(argv[1], "wb") : NULL;
    if (!f || !host || !steps) return 2;
    driver_open(&cu);
    driver_need(cu.alloc(&out, (size_t)SWEEP_MOST * 4), "cuMemAlloc");
    for (size_t i = 0; i < sizeof(sweeps) / sizeof(*sweeps); i++) {
        const struct sweep *s = &sweeps[i];
        const CUresult e = sweep_run(&cu, s, out, host);
        const size_t bytes = e ? 0 : sweep_steps(steps, host, s->count);
        if (e) fprintf(stderr, "sweep failed: error %d: %s\n", (int)e, s->name);
        fprintf(f, "%s %u %u %u %zu\n", s->name, s->begin, s->stride, s->count, bytes);
        fwrite(steps, 1, bytes, f);
    }
    return fclose(f) ? 2 : 0;
}
