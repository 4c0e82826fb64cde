/* SPDX-License-Identifier: Apache-2.0
 *
 * Buffer ids and SYNC_MEMOPS of allocations when addresses are reused.
 */
#include "shim/memory/identity.h"

#include <criterion/criterion.h>

#define BASE 0x700000000000ull

Test(identity, an_allocation_keeps_its_id_and_another_never_gets_it) {
    uint64_t last = 0;
    for (int i = 0; i < 3000; i++) {
        uint64_t bytes = 512ull << (i / 3 % 5), id = identity_of(BASE, bytes);
        cr_assert_gt(id, last, "allocation %d", i);
        cr_assert_eq(identity_of(BASE, bytes), id);
        cr_assert_gt(identity_next(), id, "physical memory shares the numbers");
        last = identity_next();
        identity_forget(BASE, bytes);
    }
}

Test(identity, an_allocation_over_parts_of_others_is_a_new_one) {
    uint64_t left = identity_of(BASE, 4096), right = identity_of(BASE + 8192, 4096);
    uint64_t far = identity_of(BASE + 65536, 512);
    identity_forget(BASE + 2048, 8192);
    uint64_t middle = identity_of(BASE + 2048, 8192);
    cr_expect(middle != left && middle != right);
    cr_expect_neq(identity_of(BASE + 12288, 512), right);
    cr_expect_eq(identity_of(BASE + 65536, 512), far, "nothing else is forgotten");
}

Test(identity, synchronous_operations_are_of_an_allocation) {
    cr_expect_not(identity_sync(BASE));
    cr_expect(identity_set_sync(BASE, 4096, true));
    cr_expect(identity_set_sync(BASE, 4096, true));
    uint64_t id = identity_of(BASE, 4096);
    cr_expect(identity_sync(BASE + 4095), "an address inside it");
    cr_expect_not(identity_sync(BASE + 4096));
    cr_expect(identity_set_sync(BASE, 4096, false));
    cr_expect_not(identity_sync(BASE));
    cr_expect_eq(identity_of(BASE, 4096), id);
    cr_expect(identity_set_sync(BASE, 4096, true));
    identity_forget(BASE + 512, 512);
    cr_expect_not(identity_sync(BASE), "the next allocation is as allocations begin");
}
