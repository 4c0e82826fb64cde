/* SPDX-License-Identifier: Apache-2.0
 *
 * Arena memory is zeroed, aligned and does not overlap; sizes that would wrap around are refused.
 */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "common/arena.h"

Test(arena, zeroed_aligned_and_disjoint) {
    struct arena *a = arena_create();
    unsigned char *p[2000];
    size_t total = 0;
    for (size_t i = 0; i < 2000; i++) {
        size_t bytes = i * 37 % 400;
        p[i] = arena_alloc(a, bytes);
        cr_assert_not_null(p[i]);
        cr_assert_eq((uintptr_t)p[i] % 16, 0);
        for (size_t k = 0; k < bytes; k++)
            cr_assert_eq(p[i][k], 0);
        memset(p[i], (int)(i % 255 + 1), bytes);
        total += bytes;
    }
    for (size_t i = 0; i < 2000; i++) {
        for (size_t k = 0; k < i * 37 % 400; k++)
            cr_assert_eq(p[i][k], i % 255 + 1);
    }
    cr_assert_geq(arena_used(a), total);
    cr_assert_lt(arena_used(a), total + 2000 * 17);
    arena_destroy(a);
}

Test(arena, large_requests_keep_the_current_chunk) {
    struct arena *a = arena_create();
    char *first = arena_alloc(a, 16);
    char *large = arena_alloc(a, 1 << 20);
    char *second = arena_alloc(a, 16);
    cr_assert_eq(second, first + 16);
    memset(large, 1, 1 << 20);
    cr_assert_eq(first[0], 0);
    cr_assert_eq(second[0], 0);
    arena_destroy(a);
}

Test(arena, zero_bytes_are_distinct) {
    struct arena *a = arena_create();
    void *p = arena_alloc(a, 0), *q = arena_alloc(a, 0);
    cr_assert_not_null(p);
    cr_assert_neq(p, q);
    arena_destroy(a);
}

Test(arena, overflow_is_refused) {
    struct arena *a = arena_create();
    cr_assert_null(arena_alloc(a, SIZE_MAX));
    cr_assert_null(arena_alloc(a, SIZE_MAX / 2 + 1));
    cr_assert_null(arena_calloc(a, SIZE_MAX / 4, 8));
    cr_assert_null(arena_strndup(a, "x", SIZE_MAX));
    cr_assert_eq(arena_used(a), 0);
    cr_assert_not_null(arena_calloc(a, 4, 8));
    arena_destroy(a);
}

Test(arena, strings) {
    struct arena *a = arena_create();
    cr_assert_str_eq(arena_strdup(a, "kernel"), "kernel");
    cr_assert_str_eq(arena_strdup(a, ""), "");
    cr_assert_str_eq(arena_strndup(a, "kernel", 3), "ker");
    arena_destroy(a);
    arena_destroy(NULL);
}
