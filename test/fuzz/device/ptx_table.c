/* SPDX-License-Identifier: Apache-2.0 */
#include "test/fuzz/device/ptx_table.h"

#include <string.h>

#define LINES_MAX 16384u
#define CASE "//case\n" /* the place in the frame where instructions are inserted */

/* The tables, embedded from the source tree. */
__asm__(".section .rodata\n"
        "verdicts: .incbin \"build/data/verify/verdicts.txt\"\n"
        ".byte 0\n"
        "frame: .incbin \"test/data/verify/frame.ptx\"\n"
        ".byte 0\n"
        ".previous");
extern const char verdicts[], frame[]; /* each ends in a zero byte */

/* The first values of the frame's registers: a to d are addresses of the client, e of the block. */
#define LONG(t)                                                                          \
    "ld.param.u64 %" t "a,[pv];add.u64 %" t "b,%" t "a,128;add.u64 %" t "c,%" t "a,256;" \
    "add.u64 %" t "d,%" t "a,%u64h;mov.u64 %" t "e,sv;cvta.shared.u64 %" t "e,%" t "e;"  \
    "mov.u64 %" t "f,3;mov.u64 %" t "g,0x8000000000000001;\n"
#define WORD(t)                                                                      \
    "mov.b32 %" t "a,sv;mov.b32 %" t "b,%u32h;mov.b32 %" t "c,-1;mov.b32 %" t "d,5;" \
    "add.u32 %" t "e,%" t "a,%u32h;mov.b32 %" t "f,0x80000001;mov.b32 %" t "g,0x3f8ccccd;\n"
#define HALF(t) \
    "cvt.u16.u32 %" t "a,%u32h;mov.b16 %" t "b,3;mov.b16 %" t "c,-1;mov.b16 %" t "d,0x3c01;\n"
static const char registers[] =
    "mov.u32 %u32h,%tid.x;shl.b32 %u32h,%u32h,4;cvt.u64.u32 %u64h,%u32h;\n" LONG("b64") LONG("u64")
        LONG("s64") WORD("b32") WORD("u32") WORD("s32") HALF("b16") HALF("u16")
            HALF("s16") "mov.b16 %f16a,%u16a;mov.b16 %f16b,%u16b;mov.b16 %f16c,%u16c;mov.b16 "
                        "%f16d,%u16d;"
                        "cvt.rn.f32.u32 %f32a,%u32h;mov.f32 %f32b,0f3FC00000;"
                        "mov.f32 %f32c,0f7F800000;mov.f32 %f32d,0fFFC00001;"
                        "cvt.rn.f64.u32 %f64a,%u32h;mov.f64 %f64b,0d3FF8000000000000;"
                        "mov.f64 %f64c,0dFFF0000000000000;mov.b32 %f16x2a,0x3c007c00;"
                        "mov.b32 %f16x2b,%u32h;"
                        "and.b32 %u32h,%u32h,16;setp.ne.u32 %preda|%predb,%u32h,0;\n";

static uint32_t lines[LINES_MAX], count;

/* Finds the starts of the instructions in the table. */
static void find_lines(void) {
    for (const char *at = verdicts; count < LINES_MAX;) {
        const char *tab = strchr(at, '\t'), *end = strchr(at, '\n');
        if (!tab || !end) return;
        if (strncmp(at, "ok", 2) == 0) lines[count++] = (uint32_t)(tab + 1 - verdicts);
        at = end + 1;
    }
}

uint32_t ptx_table_count(void) {
    if (!count) find_lines();
    return count;
}

struct ptx_table_text ptx_table_line(uint32_t n) {
    const char *from = verdicts + lines[n];
    return (struct ptx_table_text){from, (size_t)(strchr(from, '\n') + 1 - from)};
}

struct ptx_table_text ptx_table_frame(void) {
    return (struct ptx_table_text){frame, (size_t)(strstr(frame, CASE) - frame)};
}

struct ptx_table_text ptx_table_registers(void) {
    return (struct ptx_table_text){registers, sizeof(registers) - 1};
}

struct ptx_table_text ptx_table_end(void) {
    const char *from = strstr(frame, CASE) + sizeof(CASE) - 1;
    return (struct ptx_table_text){from, strlen(from)};
}
