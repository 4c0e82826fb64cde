/* SPDX-License-Identifier: Apache-2.0
 *
 * The set of profiles and hints of a device: lookup, eviction, and removal.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/kernels/kernel_set.h"

static struct kernel_set s;

static void setup(void) {
    kernel_set_init(&s, 12345);
}

static void teardown(void) {
    kernel_set_finish(&s);
}

TestSuite(kernel_set, .init = setup, .fini = teardown);

static struct kernel_profile_key key_of(uint32_t uid, uint64_t func) {
    return (struct kernel_profile_key){func, {1, 1, 1}, {32, 1, 1}, 0, uid};
}

static void learn(uint32_t uid, uint64_t func, uint32_t sms) {
    struct kernel_profile p = {.key = key_of(uid, func), .sms = sms};

    snprintf(p.name, sizeof(p.name), "k%lu", func);
    cr_assert_eq(kernel_set_learn(&s, &p), 0);
}

static uint32_t sms_of(uint32_t uid, uint64_t func) {
    struct kernel_profile_key key = key_of(uid, func);
    const struct kernel_profile *p = kernel_set_find(&s, &key);

    return p ? p->sms : 0;
}

Test(kernel_set, what_is_learned_takes_the_place_of_what_was_known) {
    cr_assert_eq(sms_of(1, 7), 0);
    learn(1, 7, 5);
    learn(2, 7, 6);
    learn(1, 7, 8);
    cr_assert_eq(s.count, 2);
    cr_assert_eq(sms_of(1, 7), 8);
    cr_assert_eq(sms_of(2, 7), 6);
}

Test(kernel_set, of_a_full_set_the_oldest_use_goes) {
    for (uint32_t i = 0; i < KERNEL_SET_MAX; i++)
        learn(i % 3, 1 + i, 1);
    learn(0, 1, 2); /* used again, so that the second profile is the oldest */
    learn(7, 1 + KERNEL_SET_MAX, 3);
    cr_assert_eq(s.count, KERNEL_SET_MAX);
    cr_assert_eq(sms_of(0, 1), 2);
    cr_assert_eq(sms_of(1, 2), 0);
    cr_assert_eq(sms_of(2, 3), 1);
    cr_assert_eq(sms_of(7, 1 + KERNEL_SET_MAX), 3);
}

Test(kernel_set, nobody_takes_more_than_half) {
    learn(1, 1, 9);
    for (uint32_t i = 0; i < KERNEL_SET_USER_MAX + 10; i++)
        learn(2, 1 + i, 1);
    cr_assert_eq(s.count, KERNEL_SET_USER_MAX + 1);
    cr_assert_eq(sms_of(1, 1), 9, "the oldest of all stays");
    cr_assert_eq(sms_of(2, 10), 0, "their own oldest go");
    cr_assert_eq(sms_of(2, 11), 1);
}

Test(kernel_set, the_order_of_use) {
    uint32_t *order;

    learn(1, 1, 10);
    learn(1, 2, 20);
    learn(1, 3, 30);
    learn(1, 1, 40);
    order = kernel_set_order(&s);
    cr_assert_eq(s.items[order[0]].sms, 20);
    cr_assert_eq(s.items[order[1]].sms, 30);
    cr_assert_eq(s.items[order[2]].sms, 40);
    free(order);
}

/* ---- hints ----------------------------------------------------------------------------------- */

static int hint(const char *name, uint32_t grid, uint32_t sms) {
    struct kernel_profile_hint h = {.sms = sms};

    snprintf(h.name, sizeof(h.name), "%s", name);
    for (int i = 0; i < 3; i++)
        h.grid[i] = grid;
    return kernel_set_add_hints(&s, &h, 1);
}

Test(kernel_set, hints_lie_in_order_and_replace_each_other) {
    cr_assert_eq(hint("b", 2, 1), 0);
    cr_assert_eq(hint("c", 0, 2), 0);
    cr_assert_eq(hint("a", 1, 3), 0);
    cr_assert_eq(hint("b", 0, 4), 0);
    cr_assert_eq(hint("b", 2, 5), 0);
    cr_assert_eq(s.hint_count, 4);
    for (uint32_t i = 1; i < s.hint_count; i++)
        cr_assert_lt(kernel_profile_hint_order(&s.hints[i - 1], &s.hints[i]), 0);
    cr_assert_eq(s.hints[2].sms, 5);
}

Test(kernel_set, hints_are_bounded) {
    char name[32];

    for (uint32_t i = 0; i < KERNEL_SET_HINTS_MAX; i++) {
        snprintf(name, sizeof(name), "k%u", i * 7919 % 10007);
        cr_assert_eq(hint(name, 0, 1), 0);
    }
    cr_assert_eq(s.hint_count, KERNEL_SET_HINTS_MAX);
    cr_assert_eq(hint("more", 0, 1), -ENOSPC);
    struct kernel_profile_hint two[2] = {{.name = "k0", .sms = 7}, {.name = "more"}};
    cr_assert_eq(kernel_set_add_hints(&s, two, 2), -ENOSPC);
    cr_assert_eq(
        kernel_profile_hint_find(s.hints, s.hint_count, "k0", two[0].grid, two[0].block)->sms, 1,
        "all or none");
    cr_assert_eq(hint("k0", 0, 2), 0, "in place of one");
}

/* ---- forgetting ------------------------------------------------------------------------------ */

static uint32_t forget(uint32_t uid, const char *name, bool hints) {
    struct kernel_set_filter f = {uid, name, hints};

    return kernel_set_forget(&s, &f);
}

Test(kernel_set, what_is_forgotten_is_what_was_named) {
    for (uint32_t i = 1; i <= 100; i++) {
        learn(1, i, 1);
        learn(2, i, 2);
    }
    hint("k5", 0, 1);
    hint("k6", 0, 1);
    cr_assert_eq(forget(3, NULL, false), 0);
    cr_assert_eq(forget(1, "k5", false), 1);
    cr_assert_eq(sms_of(1, 5), 0);
    cr_assert_eq(sms_of(2, 5), 2);
    cr_assert_eq(forget(KERNEL_SET_ANYBODY, "k6", true), 3);
    cr_assert_eq(s.hint_count, 1);
    cr_assert_eq(forget(1, NULL, false), 98);
    for (uint32_t i = 1; i <= 100; i++) {
        cr_assert_eq(sms_of(1, i), 0);
        cr_assert_eq(sms_of(2, i), i == 6 ? 0 : 2, "%u", i);
    }
    learn(1, 5, 3);
    cr_assert_eq(sms_of(1, 5), 3);
    cr_assert_eq(forget(KERNEL_SET_ANYBODY, NULL, true), 101);
    cr_assert_eq(s.count + s.hint_count, 0);
}

Test(kernel_set, devices_are_told_apart_by_name_and_size) {
    struct kernel_set_device a = {"one", 80}, b = {"one", 108}, c = {"two", 80};

    cr_assert(kernel_set_device_same(&a, &a));
    cr_assert_not(kernel_set_device_same(&a, &b));
    cr_assert_not(kernel_set_device_same(&a, &c));
}
