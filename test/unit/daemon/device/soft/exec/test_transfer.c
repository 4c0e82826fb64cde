/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/memory/transfer.h"

static unsigned char src[4096], dst[4096];

static uint64_t addr(const void *p) {
    return (uint64_t)(uintptr_t)p;
}

static struct ranges *both(void) {
    struct ranges *one = ranges_with(NULL, addr(src), addr(src + sizeof(src)));
    struct ranges *two = ranges_with(one, addr(dst), addr(dst + sizeof(dst)));
    ranges_unref(one);
    return two;
}

static void fill_source(void) {
    for (size_t i = 0; i < sizeof(src); i++)
        src[i] = (unsigned char)(i * 13 + i / 256);
    memset(dst, 0xee, sizeof(dst));
}

/* Any slice size must give the same result as a single step: a pitched 3D copy, compared byte by
 * byte with a model. */
Test(transfer, slices_do_not_change_a_copy) {
    const struct dev_copy copy = {.dst = addr(dst) + 3,
                                  .src = addr(src) + 5,
                                  .width_bytes = 37,
                                  .height = 5,
                                  .depth = 3,
                                  .dst_pitch = 64,
                                  .src_pitch = 50,
                                  .dst_slice = 400,
                                  .src_slice = 300};
    static unsigned char want[sizeof(dst)];
    struct ranges *r = both();
    for (uint64_t budget = 4; budget < 800; budget += 7) {
        fill_source();
        memset(want, 0xee, sizeof(want));
        for (int z = 0; z < 3; z++)
            for (int y = 0; y < 5; y++)
                memcpy(want + 3 + z * 400 + y * 64, src + 5 + z * 300 + y * 50, 37);
        struct transfer t = {.copy = copy};
        uint64_t at;
        int steps = 0, done;
        while ((done = transfer_step(&t, r, budget, &at)) == 0)
            cr_assert_lt(++steps, 1000, "budget %lu never ends", (unsigned long)budget);
        cr_assert_eq(done, 1);
        cr_assert_arr_eq(dst, want, sizeof(dst));
    }
    ranges_unref(r);
}

Test(transfer, fills_of_each_width) {
    struct ranges *r = both();
    static const struct {
        uint32_t value, elem;
    } cases[] = {{0xab, 1}, {0x1234, 2}, {0x5656, 2}, {0xdeadbeef, 4}, {0, 4}, {0x07070707, 4}};
    for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
        fill_source();
        struct transfer t = {.fill = true,
                             .set = {.dst = addr(dst) + 8,
                                     .pitch = 96,
                                     .width_elems = 7,
                                     .height = 4,
                                     .value = cases[c].value,
                                     .elem_bytes = cases[c].elem}};
        uint64_t at;
        cr_assert_eq(transfer_bytes(&t), 7 * 4 * cases[c].elem);
        while (!transfer_step(&t, r, 8, &at))
            continue;
        for (size_t i = 0; i < sizeof(dst); i++) {
            size_t y = (i - 8) / 96, x = (i - 8) % 96;
            bool inside = i >= 8 && y < 4 && x < 7 * cases[c].elem;
            unsigned char want =
                inside ? (unsigned char)(cases[c].value >> (x % cases[c].elem * 8)) : 0xee;
            cr_assert_eq(dst[i], want, "case %zu byte %zu: %x, expected %x", c, i, dst[i], want);
        }
    }
    ranges_unref(r);
}

Test(transfer, leaving_the_ranges_faults_and_moves_nothing_there) {
    struct ranges *r = ranges_with(NULL, addr(dst), addr(dst + 100));
    uint64_t at = 0;
    fill_source();
    struct transfer set = {
        .fill = true,
        .set = {.dst = addr(dst) + 90, .width_elems = 11, .height = 1, .elem_bytes = 1}};
    cr_assert_eq(transfer_step(&set, r, UINT64_MAX, &at), ERR_ILLEGAL_ADDRESS);
    cr_assert_eq(at, addr(dst) + 90);
    cr_assert_eq(dst[90], 0xee);
    struct transfer copy = {
        .copy = {.dst = addr(dst), .src = addr(src), .width_bytes = 8, .height = 1, .depth = 1}};
    cr_assert_eq(transfer_step(&copy, r, UINT64_MAX, &at), ERR_ILLEGAL_ADDRESS);
    cr_assert_eq(at, addr(src), "the source is not the client's");
    cr_assert_eq(dst[0], 0xee);
    struct transfer wrap = {
        .copy = {
            .dst = addr(dst), .src = UINT64_MAX - 3, .width_bytes = 8, .height = 1, .depth = 1}};
    cr_assert_eq(transfer_step(&wrap, r, UINT64_MAX, &at), ERR_ILLEGAL_ADDRESS);
    ranges_unref(r);
}

Test(transfer, nothing_to_do) {
    uint64_t at;
    struct transfer t = {.copy = {.width_bytes = 0, .height = 5, .depth = 1}};
    cr_assert_eq(transfer_step(&t, NULL, 1, &at), 1);
    t = (struct transfer){.copy = {.width_bytes = 5, .height = 0, .depth = 1}};
    cr_assert_eq(transfer_step(&t, NULL, 1, &at), 1);
}
