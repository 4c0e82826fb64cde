/* SPDX-License-Identifier: Apache-2.0
 *
 * Classes by the 60 % rule, utilisations from counts, keys, and the hint that applies to a kernel.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/kernels/kernel_profile.h"

Test(kernel_profile, the_sixty_percent_rule) {
    cr_assert_eq(kernel_profile_classify(0, 0), KERNEL_PROFILE_UNKNOWN);
    cr_assert_eq(kernel_profile_classify(600, 600), KERNEL_PROFILE_UNKNOWN,
                 "over 60 %%, not 60 %%");
    cr_assert_eq(kernel_profile_classify(601, 0), KERNEL_PROFILE_COMPUTE);
    cr_assert_eq(kernel_profile_classify(600, 601), KERNEL_PROFILE_MEMORY);
    cr_assert_eq(kernel_profile_classify(700, 900), KERNEL_PROFILE_MEMORY, "both: the greater");
    cr_assert_eq(kernel_profile_classify(900, 700), KERNEL_PROFILE_COMPUTE);
    cr_assert_eq(kernel_profile_classify(800, 800), KERNEL_PROFILE_COMPUTE);
}

/* The class on a device of 1000 instructions and 1 byte per nanosecond. */
static enum kernel_profile_class class_of(uint64_t insts, uint64_t bytes, uint16_t *c,
                                          uint16_t *m) {
    static const struct kernel_profile_rate peak = {1000ull * 1000000000, 1000000000};
    struct kernel_profile_rate launch = {insts, bytes};

    kernel_profile_utilise(&launch, &peak, c, m);
    return kernel_profile_classify(*c, *m);
}

Test(kernel_profile, utilisations_from_counts) {
    uint16_t c, m;

    cr_assert_eq(class_of(8000000, 1000, &c, &m),
                 KERNEL_PROFILE_COMPUTE); /* 8 us of work, 1 us of data */
    cr_assert_eq(c, 800);
    cr_assert_eq(m, 100);
    cr_assert_eq(class_of(1000000, 18000, &c, &m), KERNEL_PROFILE_MEMORY);
    cr_assert_eq(c, 50);
    cr_assert_eq(m, 900);
    cr_assert_eq(class_of(3000000, 0, &c, &m), KERNEL_PROFILE_UNKNOWN, "3 us of 5 are 60 %%");
    cr_assert_eq(class_of(3100000, 0, &c, &m), KERNEL_PROFILE_COMPUTE);
    cr_assert_eq(class_of(0, 0, &c, &m), KERNEL_PROFILE_UNKNOWN);
    cr_assert_eq(class_of(UINT64_MAX, UINT64_MAX, &c, &m), KERNEL_PROFILE_MEMORY);
    cr_assert_eq(m, 1000);
}

Test(kernel_profile, a_device_without_peaks_counts_nothing) {
    struct kernel_profile_rate launch = {1000000, 1000000}, none = {0, 0};
    uint16_t c = 1, m = 1;

    kernel_profile_utilise(&launch, &none, &c, &m);
    cr_assert_eq(c, 0);
    cr_assert_eq(m, 0);
}

Test(kernel_profile, every_part_of_a_key_counts) {
    struct kernel_profile_key a = {7, {1, 2, 3}, {4, 5, 6}, 8, 9};

    for (size_t i = 0; i < sizeof(a); i += 4) {
        struct kernel_profile_key b = a;

        cr_assert(kernel_profile_same(&a, &b));
        cr_assert_eq(kernel_profile_hash(&a, 1), kernel_profile_hash(&b, 1));
        ((unsigned char *)&b)[i] ^= 1;
        cr_assert_not(kernel_profile_same(&a, &b));
        cr_assert_neq(kernel_profile_hash(&a, 1), kernel_profile_hash(&b, 1));
    }
    cr_assert_neq(kernel_profile_hash(&a, 1), kernel_profile_hash(&a, 2));
}

/* ---- hints ----------------------------------------------------------------------------------- */

static struct kernel_profile_hint hints[] = {
    {.name = "a", .grid = {0}, .block = {0}, .sms = 1},
    {.name = "b", .grid = {8, 1, 1}, .block = {32, 1, 1}, .sms = 2},
    {.name = "b", .grid = {0}, .block = {32, 1, 1}, .sms = 3},
    {.name = "b", .grid = {8, 1, 1}, .block = {0}, .sms = 4},
    {.name = "b", .grid = {0}, .block = {0}, .sms = 5},
    {.name = "c", .grid = {8, 1, 1}, .block = {32, 1, 1}, .sms = 6},
    {.name = "aa", .grid = {0}, .block = {0}, .sms = 7},
};

static uint32_t found(const char *name, uint32_t grid, uint32_t block) {
    uint32_t g[3] = {grid, 1, 1}, b[3] = {block, 1, 1};
    const struct kernel_profile_hint *h =
        kernel_profile_hint_find(hints, sizeof(hints) / sizeof(*hints), name, g, b);

    return h ? h->sms : 0;
}

Test(kernel_profile, the_hint_that_fits_best) {
    qsort(hints, sizeof(hints) / sizeof(*hints), sizeof(*hints), kernel_profile_hint_order);
    cr_assert_eq(found("a", 8, 32), 1);
    cr_assert_eq(found("aa", 8, 32), 7);
    cr_assert_eq(found("b", 8, 32), 2, "both");
    cr_assert_eq(found("b", 8, 64), 4, "its grid");
    cr_assert_eq(found("b", 9, 32), 3, "its block");
    cr_assert_eq(found("b", 9, 64), 5, "any");
    cr_assert_eq(found("c", 8, 32), 6);
    cr_assert_eq(found("c", 9, 32), 0, "nothing is said of that shape");
    cr_assert_eq(found("d", 8, 32), 0);
    cr_assert_eq(found("", 8, 32), 0);
    cr_assert_null(
        kernel_profile_hint_find(NULL, 0, "a", (uint32_t[]){1, 1, 1}, (uint32_t[]){1, 1, 1}));
}

/* ---- imported values ------------------------------------------------------------------------- */

#define GOOD_PROFILE \
    { .key = {1, {1, 1, 1}, {1, 1, 1}, 0, 0}, .name = "k", .class = 1, .source = 1, .lone = 1 }

#define WRONG(change, reason)                                 \
    do {                                                      \
        struct kernel_profile p = GOOD_PROFILE;               \
        char why[KERNEL_PROFILE_WHY_BYTES];                   \
        cr_assert_eq(kernel_profile_check(&p, why), 0);       \
        change;                                               \
        cr_assert_eq(kernel_profile_check(&p, why), -EINVAL); \
        cr_assert_str_eq(why, reason);                        \
    } while (0)

Test(kernel_profile, what_is_no_profile) {
    WRONG(p.key.grid[2] = 0, "the grid has no blocks");
    WRONG(p.key.block[0] = 0, "the block has no threads");
    WRONG(memset(p.name, 'a', sizeof(p.name)), "the name is empty, too long or not printable");
    WRONG(p.name[0] = '\n', "the name is empty, too long or not printable");
    WRONG(p.sms = KERNEL_PROFILE_SMS_MAX + 1, "the number of SMs is too large");
    WRONG(p.class = 3, "the class or the source is unknown");
    WRONG(p.source = 3, "the class or the source is unknown");
    WRONG(p.lone = 2, "the class or the source is unknown");
    WRONG(p.compute_milli = 1001, "a utilisation exceeds 100 %");
    WRONG(p.memory_milli = 1001, "a utilisation exceeds 100 %");
    WRONG(p.durations.sum_ns = 1, "the sum of the durations is wrong");
}

#define WRONG_HINT(change, reason)                                 \
    do {                                                           \
        struct kernel_profile_hint h = {.name = "k"};              \
        char why[KERNEL_PROFILE_WHY_BYTES];                        \
        cr_assert_eq(kernel_profile_hint_check(&h, why), 0);       \
        change;                                                    \
        cr_assert_eq(kernel_profile_hint_check(&h, why), -EINVAL); \
        cr_assert_str_eq(why, reason);                             \
    } while (0)

Test(kernel_profile, what_is_no_hint) {
    WRONG_HINT(h.grid[0] = 1, "the grid has no blocks");
    WRONG_HINT(h.block[1] = 1, "the block has no threads");
    WRONG_HINT(h.name[0] = '\0', "the name is empty, too long or not printable");
    WRONG_HINT(memset(h.name, 'a', sizeof(h.name)), "the name is empty, too long or not printable");
    WRONG_HINT(h.sms = KERNEL_PROFILE_SMS_MAX + 1, "the number of SMs is too large");
    WRONG_HINT(h.class = 3, "the class is unknown");
    WRONG_HINT(h.memory_milli = 1001, "a utilisation exceeds 100 %");
    WRONG_HINT(h.duration_ns = KERNEL_PROFILE_NS_MAX + 1, "the duration exceeds one hour");
}
