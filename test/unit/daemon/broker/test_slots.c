/* SPDX-License-Identifier: Apache-2.0
 *
 * Search for addresses at which clients' windows fit.
 */
#include "daemon/broker/jobs/slots.h"

#include <criterion/criterion.h>

static struct slots slots;

static void begin_at(uint64_t base) {
    struct config config = {.window_base = base};

    slots_init(&slots, &config);
}

static uint64_t start_of(int slot) {
    return slots_windows(&slots, slot).dev_base;
}

Test(slots, each_is_given_once) {
    begin_at(CONFIG_WINDOW_END - 3 * CONFIG_STRIDE_BYTES);
    cr_assert_eq(slots.count, 3);
    cr_assert_eq(slots_take(&slots, 0), 0);
    slots_block(&slots, 1);
    cr_assert_eq(slots_take(&slots, 0), 2);
    cr_assert_eq(slots_take(&slots, 0), -1);
    slots_put(&slots, 0);
    cr_assert_eq(slots_take(&slots, 1), -1);
    slots_unblock_all(&slots);
    cr_assert_eq(slots_take(&slots, 1), 1);
}

/* ThreadSanitizer leaves 0x550000000000 to 0x568000000000 to programs, MemorySanitizer more. */
Test(slots, a_client_that_declines_is_offered_what_sanitizers_leave) {
    begin_at(0x200000000000);
    int slot = slots_after(&slots, 0), fit = 0;

    cr_assert_eq(start_of(slot), 0x550000000000);
    cr_assert_leq(start_of(slot - 1) + CONFIG_STRIDE_BYTES, 0x550000000000);
    cr_assert_eq(slots_after(&slots, 5), slot);
    for (; start_of(slot) + CONFIG_STRIDE_BYTES <= 0x568000000000; slot = slots_after(&slots, slot))
        fit++;
    cr_assert_eq(fit, 4, "one by one");
}

Test(slots, none_overlaps_another_or_the_end) {
    static const uint64_t bases[] = {1ull << 32,     0x200000000000,
                                     0x54ffffe00000, 0x550000000000,
                                     0x600000000000, CONFIG_WINDOW_END - CONFIG_STRIDE_BYTES};

    for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++) {
        begin_at(bases[i]);
        cr_assert_eq(start_of(0) % CONFIG_WINDOW_ALIGN, 0);
        cr_assert_geq(start_of(0), bases[i]);
        for (int k = 1; k < slots.count; k++)
            cr_assert_geq(start_of(k), start_of(k - 1) + CONFIG_STRIDE_BYTES);
        cr_assert_leq(start_of(slots.count - 1) + CONFIG_STRIDE_BYTES, CONFIG_WINDOW_END);
    }
}

Test(slots, where_windows_end_before_that_the_next_one_is_tried) {
    begin_at(0x200000000000);
    slots.count = 10; /* all of them below the sanitizers' addresses */
    cr_assert_eq(slots_after(&slots, 0), 1);
    cr_assert_eq(slots_after(&slots, 9), 10);
    begin_at(0x600000000000);
    cr_assert_eq(slots_after(&slots, 0), 1);
}
