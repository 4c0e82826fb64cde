/* SPDX-License-Identifier: Apache-2.0
 *
 * The share of the device's threads that a queue may use, on a clock that the test advances:
 * threads take slices whenever they may.
 */
#include <criterion/criterion.h>

#include "daemon/device/soft/dev/allowance.h"

#define SMS 132
#define SLICE_NS 160000u
#define WHOLE_NS 4000000000u

/* The average number of threads that the queue had, on a device of its own. */
static double used(struct allowance *a, uint32_t device) {
    uint64_t end_ns[16] = {0}, used_ns = 0;
    uint32_t inside = 0;
    for (uint64_t now_ns = 1; now_ns < WHOLE_NS; now_ns += SLICE_NS / 8) {
        for (uint32_t i = 0; i < device; i++) {
            if (!end_ns[i] || end_ns[i] > now_ns) continue;
            allowance_use(a, end_ns[i] - SLICE_NS, SLICE_NS);
            end_ns[i] = 0;
            inside--;
        }
        for (uint32_t i = 0; i < device; i++) {
            if (end_ns[i] || allowance_withholds(a, inside, now_ns)) continue;
            end_ns[i] = now_ns + SLICE_NS;
            used_ns += SLICE_NS;
            inside++;
        }
    }
    return (double)used_ns / WHOLE_NS;
}

Test(allowance, over_time_it_is_the_share_exactly) {
    for (uint32_t device = 1; device <= 16; device *= 2)
        for (uint32_t sms = 1; sms < SMS; sms += 10) {
            struct allowance a;
            allowance_set(&a, sms, SMS, device);
            double want = (double)device * sms / SMS, got = used(&a, device);
            cr_expect_float_eq(got, want, 0.13 * want, "%u of %u on %u threads: %.3f, not %.3f",
                               sms, SMS, device, got, want);
            cr_expect_leq(got, want + (double)device * SLICE_NS / WHOLE_NS, "%u on %u: %.3f", sms,
                          device, got);
        }
}

Test(allowance, at_a_time_no_more_threads_than_it_is_of_them) {
    struct allowance a;
    allowance_set(&a, 2 * SMS / 4 + 1, SMS, 4);
    cr_expect(!allowance_withholds(&a, 2, 0), "two and a little are three at most");
    cr_expect(allowance_withholds(&a, 3, 0));
}

Test(allowance, what_was_not_used_is_not_saved_up) {
    struct allowance a;
    allowance_set(&a, SMS / 4, SMS, 2); /* half a thread */
    allowance_use(&a, 1000, 10);
    cr_expect(allowance_withholds(&a, 0, 1019));
    cr_expect(!allowance_withholds(&a, 0, 1020));
    allowance_use(&a, 1000000, 10);
    cr_expect(allowance_withholds(&a, 0, 1000019));
}

Test(allowance, all_or_none_is_no_limit) {
    struct allowance a;
    for (uint32_t sms = 0; sms <= SMS; sms += SMS) {
        allowance_set(&a, sms, SMS, 2);
        allowance_use(&a, 0, 1000000);
        cr_expect(!allowance_withholds(&a, 2, 1));
    }
    allowance_set(&a, 1, SMS, 2);
    allowance_use(&a, 0, 1000000);
    cr_expect(allowance_withholds(&a, 0, 1));
    allowance_set(&a, 2, SMS, 2);
    cr_expect(!allowance_withholds(&a, 0, 1), "another share begins anew");
}
