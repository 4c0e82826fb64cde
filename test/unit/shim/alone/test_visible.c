/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA_VISIBLE_DEVICES as CUDA's documentation describes it, and as PyTorch's parser records the
 * behaviour of its driver.
 */
#include "shim/process/visible.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define GPUS 4

/* PCI positions: the second GPU comes first on the bus. */
static const struct visible_gpu gpus[GPUS] = {
    {true, {0xab, 0x10}, 0, 3, 0},
    {true, {0xab, 0x20}, 0, 1, 0},
    {true, {0xcd, 0x30}, 1, 0, 0},
    {false, {0}, 0, 0, 0},
};
static const uint32_t own_order[GPUS] = {0, 1, 2, 3};
static struct visible list;
static uint32_t found[VISIBLE_MAX];

static enum visible_kind kind_of(const char *text) {
    visible_parse(text, &list);
    return list.kind;
}

/* Returns the visible GPUs, as digits. */
static const char *match(const char *text) {
    static char digits[VISIBLE_MAX + 1];
    uint32_t n;

    visible_parse(text, &list);
    n = visible_match(&list, gpus, own_order, GPUS, found);
    for (uint32_t i = 0; i < n; i++)
        digits[i] = (char)('0' + found[i]);
    digits[n] = '\0';
    return digits;
}

Test(visible, a_list_is_of_one_kind) {
    cr_assert_eq(kind_of(NULL), VISIBLE_ANY);
    cr_assert_eq(kind_of("0"), VISIBLE_NUMBERS);
    cr_assert_eq(kind_of(" 12 , 3"), VISIBLE_NUMBERS);
    cr_assert_eq(list.count, 2);
    cr_assert_eq(list.entries[0].number, 12);
    cr_assert_eq(list.entries[1].number, 3);
    cr_assert_eq(kind_of("GPU-ab"), VISIBLE_UUIDS);
    cr_assert_str_eq(list.entries[0].uuid, "GPU-ab");
    cr_assert_eq(kind_of("GPU-AB100000-0000-0000-0000-000000000000"), VISIBLE_UUIDS);
    cr_assert_eq(kind_of("MIG-ab"), VISIBLE_MIG);
    cr_assert_eq(kind_of("MIG-GPU-ab/1/0"), VISIBLE_MIG);
    cr_assert_eq(kind_of("0,GPU-ab"), VISIBLE_NUMBERS);
    cr_assert_eq(list.count, 1, "one of another kind ends it");
    cr_assert_eq(kind_of("GPU-ab,0"), VISIBLE_UUIDS);
    cr_assert_eq(list.count, 1);
    cr_assert_eq(kind_of("0,MIG-ab"), VISIBLE_NUMBERS);
    cr_assert_eq(list.count, 1);
}

Test(visible, what_hides_every_gpu_is_told_from_a_mistake) {
    static const char *const none[] = {"", " ", ",", ",0", "-1", "-1,0", " -1"};
    static const char *const wrong[] = {
        "all",     "x0",     "-",  "+",    "GPU-",
        "GPU-xyz", "gpu-ab", "-x", "void", "GPU-ab100000-0000-0000-0000-0000000000000"};

    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        cr_assert_eq(kind_of(none[i]), VISIBLE_NONE, "'%s'", none[i]);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        cr_assert_eq(kind_of(wrong[i]), VISIBLE_WRONG, "'%s'", wrong[i]);
    cr_assert_eq(kind_of("NoDevFiles"), VISIBLE_UNASSIGNED);
    cr_assert_eq(list.count, 0);
}

Test(visible, numbers_are_read_as_far_as_they_go) {
    cr_assert_eq(kind_of("+1,0x2,3gpu,007"), VISIBLE_NUMBERS);
    cr_assert_eq(list.count, 4);
    for (uint32_t i = 0; i < 4; i++)
        cr_assert_eq(list.entries[i].number, ("\1\0\3\7"[i]));
    cr_assert_eq(kind_of("99999999999999999999"), VISIBLE_NUMBERS);
    cr_assert_eq(list.entries[0].number, UINT32_MAX, "one that no GPU has");
    cr_assert_eq(kind_of("4294967296"), VISIBLE_NUMBERS);
    cr_assert_eq(list.entries[0].number, UINT32_MAX);
}

Test(visible, a_longer_list_or_entry_ends_where_it_cannot_be_read) {
    char text[4 * VISIBLE_MAX + 200] = "0,";

    memset(text + 2, '1', 100);
    visible_parse(text, &list);
    cr_assert_eq(list.kind, VISIBLE_NUMBERS);
    cr_assert_eq(list.count, 1);
    visible_parse(text + 2, &list);
    cr_assert_eq(list.kind, VISIBLE_WRONG);
    *text = '\0';
    for (int i = 0; i < VISIBLE_MAX + 10; i++)
        snprintf(text + strlen(text), 8, "%d,", i);
    visible_parse(text, &list);
    cr_assert_eq(list.count, VISIBLE_MAX);
    cr_assert_eq(visible_match(&list, gpus, own_order, GPUS, found), GPUS);
}

Test(visible, order_is_the_lists_and_an_entry_of_no_gpu_ends_it) {
    cr_assert_str_eq(match("0,1"), "01");
    cr_assert_str_eq(match("2,0"), "20");
    cr_assert_str_eq(match("3,4,1"), "3", "behind 4 nothing counts");
    cr_assert_str_eq(match("1,-1,2"), "1");
    cr_assert_str_eq(match("1,,2"), "1");
    cr_assert_str_eq(match("4"), "");
    cr_assert_str_eq(match("7,0"), "");
}

Test(visible, a_gpu_that_is_named_twice_makes_none_visible) {
    cr_assert_eq(kind_of("1,0,1"), VISIBLE_TWICE);
    cr_assert_eq(list.count, 0);
    cr_assert_eq(kind_of("0,7,00"), VISIBLE_TWICE, "behind an entry that no GPU has, too");
    cr_assert_str_eq(match("GPU-ab10,GPU-ab1"), "", "by two beginnings of one UUID");
    cr_assert_str_eq(match("GPU-ab10,GPU-ff,GPU-ab1"), "0", "the list has ended before");
}

Test(visible, a_uuid_may_be_short_as_long_as_it_is_one_gpus) {
    cr_assert_str_eq(match("GPU-cd"), "2");
    cr_assert_str_eq(match("GPU-CD3"), "2", "in either case");
    cr_assert_str_eq(match("GPU-ab2,GPU-cd,GPU-ab1"), "120");
    cr_assert_str_eq(match("GPU-ab"), "", "it is two GPUs'");
    cr_assert_str_eq(match("GPU-cd,GPU-ab,GPU-ab1"), "2");
    cr_assert_str_eq(match("GPU-0"), "", "what is not known has no UUID");
    cr_assert_str_eq(match("GPU-ab200000-0000-0000-0000-000000000000"), "1");
}

Test(visible, by_the_bus_numbers_count_otherwise) {
    uint32_t order[GPUS];

    visible_order_by_pci(gpus, GPUS, order);
    for (uint32_t i = 0; i < GPUS; i++)
        cr_assert_eq(order[i], ("\1\0\2\3"[i]), "%u", i);
    visible_parse("GPU-ab1,GPU-ab2", &list);
    cr_assert_eq(visible_match(&list, gpus, order, GPUS, found), 2);
    cr_assert_eq(found[0], 1, "positions there");
    cr_assert_eq(found[1], 0);
}
