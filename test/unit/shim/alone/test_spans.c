/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranges that do not overlap, compared with a model that has a number for each address.
 */
#include "shim/memory/spans.h"

#include <criterion/criterion.h>
#include <errno.h>

#define END 64

static struct spans spans;
static uint32_t model[END + 1]; /* number of the span that has the address; 0: none */
static uint64_t state = 7;

static uint32_t dice(uint32_t below) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(state >> 33) % below;
}

static bool starts(uint64_t at) {
    return model[at] && (at == 0 || model[at - 1] != model[at]);
}

static void set(uint64_t at, uint64_t bytes, uint32_t tag) {
    for (uint64_t i = at; i < at + bytes; i++)
        model[i] = tag;
}

static void add(uint64_t at, uint64_t bytes, uint32_t tag) {
    struct span span = {.addr = at, .bytes = bytes, .tag = tag, .access = tag % 3};
    bool taken = false;
    for (uint64_t i = at; i < at + bytes; i++)
        taken |= model[i] != 0;
    cr_assert_eq(spans_overlap(&spans, at, bytes), taken);
    cr_assert_eq(spans_add(&spans, &span), taken ? -EEXIST : 0);
    if (!taken) set(at, bytes, tag);
}

static void remove_exactly(uint64_t at, uint64_t bytes) {
    uint32_t first, want = 0;
    bool exact = starts(at) && model[at + bytes] != model[at + bytes - 1];
    for (uint64_t i = at; i < at + bytes; i++) {
        exact &= model[i] != 0;
        want += starts(i);
    }
    uint32_t count = spans_exactly(&spans, at, bytes, &first);
    cr_assert_eq(count, exact ? want : 0);
    if (!exact) return;
    spans_remove(&spans, first, count);
    set(at, bytes, 0);
}

static void look(uint64_t at, uint64_t bytes) {
    const struct span *found = spans_find(&spans, at);
    bool covered = true;
    cr_assert_eq(found ? found->tag : 0, model[at]);
    for (uint64_t i = at; i < at + bytes; i++)
        covered &= model[i] && model[i] % 3;
    cr_assert_eq(spans_cover(&spans, at, bytes), covered);
}

Test(spans, any_order_of_calls) {
    uint32_t tag = 0;
    for (int i = 0; i < 200000; i++) {
        uint64_t at = dice(END - 8), bytes = 1 + dice(8);
        switch (dice(3)) {
        case 0: add(at, bytes, ++tag); break;
        case 1: remove_exactly(at, bytes); break;
        default: look(at, bytes);
        }
    }
    spans_finish(&spans);
}

Test(spans, the_end_of_the_addresses) {
    cr_expect_eq(spans_add(&spans, &(struct span){.addr = UINT64_MAX - 4, .bytes = 4, .access = 1}),
                 0);
    cr_expect(spans_cover(&spans, UINT64_MAX - 4, 4));
    cr_expect_not(spans_cover(&spans, UINT64_MAX - 4, 6));
    spans_finish(&spans);
}

Test(spans, none_of_none_is_removed) {
    uint32_t first;
    struct spans none = {0};
    uint32_t count = spans_exactly(&none, 8, 8, &first);
    spans_remove(&none, first, count); /* checked by UBSan */
    cr_expect_eq(none.count, 0);
}
