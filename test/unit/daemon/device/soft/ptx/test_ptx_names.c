/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "daemon/device/soft/ptx/ptx_names.h"

static uint32_t kind_of(const struct ptx_names *t, const char *name) {
    const struct ptx_name *e = ptx_names_find(t, name, strlen(name));
    return e ? e->kind : 0;
}

Test(ptx_names, the_innermost_scope_wins) {
    struct ptx_names t;
    ptx_names_init(&t);
    cr_assert_eq(kind_of(&t, "a"), 0);
    ptx_names_add(&t, "a", 1, 1, NULL);
    ptx_names_add(&t, "b", 1, 2, NULL);
    ptx_names_open(&t);
    ptx_names_add(&t, "a", 1, 3, NULL);
    cr_assert_eq(kind_of(&t, "a"), 3);
    cr_assert_eq(ptx_names_find(&t, "a", 1)->depth, 1);
    cr_assert_eq(kind_of(&t, "b"), 2);
    ptx_names_close(&t);
    cr_assert_eq(kind_of(&t, "a"), 1);
    ptx_names_finish(&t);
}

Test(ptx_names, many_in_scopes) {
    static char names[5000][8];
    struct ptx_names t;
    ptx_names_init(&t);
    for (uint32_t i = 0; i < 5000; i++) {
        if (i % 1000 == 999) ptx_names_open(&t);
        size_t len = (size_t)snprintf(names[i], sizeof(names[i]), "n%u", i);
        cr_assert_not_null(ptx_names_add(&t, names[i], len, i + 1, NULL));
    }
    for (uint32_t i = 0; i < 5000; i++)
        cr_assert_eq(kind_of(&t, names[i]), i + 1);
    for (int scope = 0; scope < 3; scope++)
        ptx_names_close(&t);
    for (uint32_t i = 0; i < 5000; i++)
        cr_assert_eq(kind_of(&t, names[i]), i < 2999 ? i + 1 : 0);
    ptx_names_finish(&t);
}
