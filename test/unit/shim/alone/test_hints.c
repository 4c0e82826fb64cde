/* SPDX-License-Identifier: Apache-2.0
 *
 * Hints about memory, against a model with one value for each address.
 */
#include "shim/memory/hints.h"

#include <criterion/criterion.h>
#include <string.h>

#define END 48
#define BASE 0x1000

static uint64_t model[HINT_KINDS][END];
static uint64_t state = 11;

static uint32_t dice(uint32_t below) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(state >> 33) % below;
}

static void check(enum hint kind, uint32_t at, uint32_t bytes) {
    uint64_t got = 0;
    bool same = true;
    for (uint32_t i = at; i < at + bytes; i++)
        same &= model[kind][i] == model[kind][at];
    cr_assert_eq(hints_get(BASE + at, bytes, kind, &got), same);
    if (same) cr_assert_eq(got, model[kind][at]);
}

Test(hints, any_order_of_calls) {
    for (int i = 0; i < 300000; i++) {
        uint32_t at = dice(END - 12), bytes = 1 + dice(12);
        enum hint kind = (enum hint)dice(HINT_KINDS);
        uint64_t value = dice(3);
        switch (dice(8)) {
        case 0:
            hints_forget(BASE + at, bytes);
            for (int k = 0; k < HINT_KINDS; k++)
                memset(&model[k][at], 0, bytes * sizeof(model[k][0]));
            break;
        case 1:
        case 2:
        case 3:
            cr_assert_eq(hints_set(BASE + at, bytes, kind, value), 0);
            for (uint32_t k = at; k < at + bytes; k++)
                model[kind][k] = value;
            break;
        default: check(kind, at, bytes);
        }
    }
}
