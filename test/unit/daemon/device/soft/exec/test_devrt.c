/* SPDX-License-Identifier: Apache-2.0
 *
 * The device runtime: printf as C prints it, hostile formats, assert, malloc and free.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "test/lib/ptx/ptxrun.h"

static int prints(struct ptxrun *r, int v, double d, uint64_t format, uint32_t threads) {
    uint64_t bits;
    memcpy(&bits, &d, sizeof(bits));
    r->text_len = 0;
    r->text[0] = 0;
    return ptxrun_launch(r, "prints", 1, threads, 3, (uint64_t)v, bits, format);
}

static void check_print(struct ptxrun *r) {
    int v = 5;
    double d = 3.14159;
    char want[512];
    snprintf(want, sizeof(want), "<%d|%5d|%-5d|%05d|%u|%x|%c|%s|%8s|%.2f|%g|%lld|0x10|%%|%*d>\n", v,
             v, v, v, v, v, 'A' + v, "text", "pad", d, d, (long long)v << 40, 4, v);
    cr_assert_eq(prints(r, v, d, 0, 1), 0, "%s: %s", ptxrun_what, r->result.text);
    cr_assert_str_eq(r->text, want, "%s", ptxrun_what);
    cr_assert_eq(prints(r, -3, -1e100, 0, 3), 0);
    cr_assert_eq(strncmp(r->text, "<-3|   -3|-3   |-0003|4294967293|fffffffd|", 40), 0, "%s",
                 r->text);
}
static void check_width(struct ptxrun *r) {
    char *s = ptxrun_alloc(r, 32);
    strcpy(s, "[%5c]");
    cr_assert_eq(prints(r, 'x', 0, (uint64_t)s, 1), 0, "%s", r->result.text);
    cr_assert(strstr(r->text, "[    x]"), "%s", r->text);
    strcpy(s, "[%-5c]");
    cr_assert_eq(prints(r, 'x', 0, (uint64_t)s, 1), 0, "%s", r->result.text);
    cr_assert(strstr(r->text, "[x    ]"), "%s", r->text);
}
Test(devrt, a_character_is_as_wide_as_asked) {
    ptxrun_each("engine", check_width);
}

Test(devrt, printf_prints_as_c_does) {
    ptxrun_each("engine", check_print);
}

static void check_hostile(struct ptxrun *r) {
    static const char *const formats[] = {"%n%n%n",        "%s",      "%99999999d|", "%.99999999f",
                                          "%*.*d",         "%",       "%l",          "%hhhhhhd",
                                          "%-+ #0123456d", "%llllld", "%y%z%w",      "%1$d",
                                          "%c%c%c%c",      "%a %A",   "%.*s",        "%p %p %p"};
    char *s = ptxrun_alloc(r, 6000);
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        strcpy(s, formats[i]);
        int err = prints(r, 1234, 1.5, (uint64_t)s, 1); /* missing arguments: faults, or prints */
        cr_assert(!err || err == ERR_ILLEGAL_ADDRESS, "%s: %d", formats[i], err);
        cr_assert_leq(r->text_len, 2 * 4096 + 200);
    }
    memset(s, 'x', 6000); /* unterminated: truncated, or out of bounds */
    int err = prints(r, 1, 1, (uint64_t)s, 1);
    cr_assert(!err || err == ERR_ILLEGAL_ADDRESS);
    uint64_t bad[] = {1, (uint64_t)check_hostile, (uint64_t)s + 6000, (uint64_t)-1, 1ull << 63};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        cr_assert_eq(prints(r, 1, 1, bad[i], 1), ERR_ILLEGAL_ADDRESS, "%zu", i);
}
Test(devrt, hostile_formats) {
    ptxrun_each("engine", check_hostile);
}

static void check_assert(struct ptxrun *r) {
    cr_assert_eq(ptxrun_launch(r, "asserts", 1, 2, 1, (uint64_t)1), 0, "%s", r->result.text);
    cr_assert_eq(r->text_len, 0);
    cr_assert_eq(ptxrun_launch(r, "asserts", 1, 8, 1, (uint64_t)1), ERR_ASSERT);
    cr_assert(strstr(r->text, "engine.cu:"), "%s", r->text);
    cr_assert(strstr(r->text, ": block: [0,0,0], thread: [2,0,0] Assertion `v + threadIdx.x < 3` "
                              "failed.\n"),
              "%s: %s", ptxrun_what, r->text);
    cr_assert(strstr(r->text, "thread: [7,0,0]"));
    cr_assert_eq(strstr(r->text, "thread: [1,0,0]"), NULL);
}
Test(devrt, assert_names_its_place) {
    ptxrun_each("engine", check_assert);
}

static void check_heap(struct ptxrun *r) {
    int32_t *out = ptxrun_alloc(r, 64 * 4);
    cr_assert_eq(ptxrun_launch(r, "heap_use", 1, 64, 2, (uint64_t)out, (uint64_t)100), 0);
    for (int t = 0; t < 64; t++)
        cr_assert_eq(out[t], -1); /* without a heap: NULL */
    enum { HEAP = 64 << 10 };
    char *memory = ptxrun_alloc(r, HEAP);
    r->heap = heap_create((uint64_t)memory, (uint64_t)memory + HEAP);
    r->threads = 2;
    for (int round = 0; round < 5; round++) {
        int err = ptxrun_launch(r, "heap_use", 1, 64, 2, (uint64_t)out, (uint64_t)100);
        cr_assert_eq(err, 0, "%s", r->result.text);
        for (int t = 0; t < 64; t++)
            cr_assert_eq(out[t], 4950 * t, "%s %d", ptxrun_what, t);
    }
    cr_assert_eq(ptxrun_launch(r, "heap_use", 1, 64, 2, (uint64_t)out, (uint64_t)100000), 0);
    for (int t = 0; t < 64; t++)
        cr_assert_eq(out[t], -1);
    cr_assert_eq(ptxrun_launch(r, "bad_free", 1, 1, 1, (uint64_t)memory + 8), ERR_ILLEGAL_ADDRESS);
    cr_assert_eq(ptxrun_launch(r, "bad_free", 1, 1, 1, (uint64_t)0), 0);
    heap_destroy(r->heap);
    r->heap = NULL;
}
Test(devrt, malloc_and_free) {
    ptxrun_each("engine", check_heap);
}

/* Allocates as many pieces as there are, then frees all but every `keep`-th one. */
static uint32_t exhaust(struct heap *h, uint64_t bytes, uint32_t keep) {
    static uint64_t at[70000];
    uint32_t count = 0;
    while (count < 70000 && (at[count] = heap_alloc(h, bytes)))
        count++;
    for (uint32_t i = 0; i < count; i++)
        if (!keep || i % keep) cr_assert_eq(heap_free(h, at[i]), 0);
    return count;
}

Test(devrt, what_is_free_of_the_heap_is_of_any_size) {
    const uint64_t base = 1ull << 40, mib = 1ull << 20;
    struct heap *h = heap_create(base, base + 64 * mib);
    for (int round = 0; round < 3; round++) {
        cr_expect_eq(exhaust(h, mib, 0), 64);
        cr_expect_eq(exhaust(h, 48 * mib, 0), 1);
        cr_expect_eq(exhaust(h, 1024, 0), 65536);
        cr_expect_geq(exhaust(h, 100000, 0), 500);
        cr_expect_eq(exhaust(h, 24 * mib, 0), 2);
        cr_expect_eq(exhaust(h, 60 * mib, 0), 1);
    }
    /* four pieces stay allocated, with fifteen between them */
    cr_expect_eq(exhaust(h, mib, 16), 64);
    cr_expect_eq(exhaust(h, 14 * mib, 0), 4);
    cr_expect_eq(exhaust(h, 16 * mib, 0), 0);
    cr_expect_eq(exhaust(h, mib, 0), 60);
    cr_expect(heap_touched(h) && !heap_unused(h));
    heap_destroy(h);
}

Test(devrt, the_heap_hands_out_what_it_has_once) {
    enum { BYTES = 1 << 20 };
    const uint64_t base = 0x10000000;
    struct heap *h = heap_create(base, base + BYTES);
    static unsigned char owner[BYTES / 16];
    static struct { uint64_t at, bytes; } held[5000];
    uint32_t count = 0, seed = 1, served = 0;
    for (int step = 0; step < 40000; step++) {
        seed = seed * 1664525u + 1013904223u;
        if (count < 5000 && seed >> 31) {
            uint64_t bytes = 1 + (seed >> 8) % 900, at = heap_alloc(h, bytes);
            if (!at) continue;
            served++;
            cr_assert(at % 16 == 0 && at >= base && at + bytes <= base + BYTES);
            for (uint64_t b = (at - base) / 16; b < (at - base + bytes + 15) / 16; b++)
                cr_assert_eq(owner[b]++, 0, "handed out twice");
            held[count].at = at;
            held[count++].bytes = bytes;
        } else if (count) {
            uint32_t k = (seed >> 8) % count;
            for (uint64_t b = (held[k].at - base) / 16;
                 b < (held[k].at - base + held[k].bytes + 15) / 16; b++)
                owner[b] = 0;
            cr_assert_eq(heap_free(h, held[k].at), 0);
            cr_assert_eq(heap_free(h, held[k].at), -EINVAL, "freed twice");
            held[k] = held[--count];
        }
    }
    cr_assert_gt(served, 10000);
    heap_destroy(h);
}
