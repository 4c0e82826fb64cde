/* SPDX-License-Identifier: Apache-2.0
 *
 * Growing tables: allocation and reuse of their items.
 */
#include <criterion/criterion.h>

#include "shim/table.h"

struct thing {
    struct table_item item;
    uint32_t value;
};

#define MOST 3000u

static struct table things = {.bytes = sizeof(struct thing)};

static void take_all(void) {
    for (uint32_t k = 0; k < MOST; k++) {
        struct thing *t = table_take(&things, MOST);
        cr_assert_eq(t->item.number, k);
        cr_assert_eq(t->value, 0);
        t->value = k;
    }
}

Test(shim_table, has_as_many_as_are_asked_for) {
    cr_assert_null(table_at(&things, 0));
    take_all();
    cr_assert_null(table_take(&things, MOST));
    cr_assert_null(table_at(&things, MOST + TABLE_BLOCK));
    for (uint32_t k = 0; k < MOST; k++)
        cr_assert_eq(((struct thing *)table_at(&things, k))->value, k, "items stay where they are");
}

Test(shim_table, items_come_again_once_they_were_given_back) {
    take_all();
    for (uint32_t k = 0; k < MOST; k += 100)
        table_give(&things, table_at(&things, k));
    for (uint32_t k = (MOST - 1) / 100 * 100;; k -= 100) {
        cr_assert_eq(((struct thing *)table_take(&things, MOST))->item.number, k);
        if (!k) break;
    }
    cr_assert_null(table_take(&things, MOST));
}
