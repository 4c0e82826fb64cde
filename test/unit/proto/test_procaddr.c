/* SPDX-License-Identifier: Apache-2.0
 *
 * Lookup by name, version and flags, compared with the facts in test/data/procaddr_facts.txt, and
 * the order that the binary search needs.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "proto/gen/calls.h"
#include "proto/gen/procaddr_rows.h"
#include "proto/procaddr.h"

#define FACTS "test/data/procaddr_facts.txt"

static const char *const answers[] = {"FOUND", "NOT_FOUND", "TOO_OLD"};

static void check_fact(unsigned int line, const char *name, int version, unsigned long flags,
                       const char *want) {
    CUdriverProcAddressQueryResult why = 77;
    unsigned int call = procaddr_find(strcmp(name, "\"\"") ? name : "", version, flags, &why);
    const char *got = call ? call_info(call)->name : answers[why];

    cr_expect_eq(call != 0, why == CU_GET_PROC_ADDRESS_SUCCESS);
    cr_expect_str_eq(got, want, FACTS ":%u: %s %d %lu gives %s, not %s", line, name, version, flags,
                     got, want);
}

Test(procaddr, agrees_with_the_facts) {
    char text[256], name[128], want[128];
    unsigned int line = 0, facts = 0;
    FILE *f = fopen(FACTS, "r");

    cr_assert_not_null(f, "%s is missing: run tests from the root of the tree", FACTS);
    while (fgets(text, sizeof(text), f)) {
        int version;
        unsigned long flags;
        line++;
        if (text[0] == '#' || text[0] == '\n') continue;
        cr_assert_eq(sscanf(text, "%127s %d %lu %127s", name, &version, &flags, want), 4,
                     FACTS ":%u: not a fact", line);
        check_fact(line, name, version, flags, want);
        facts++;
    }
    fclose(f);
    cr_assert_gt(facts, 50);
}

Test(procaddr, refuses_no_name) {
    CUdriverProcAddressQueryResult why = 77;
    cr_assert_eq(procaddr_find(NULL, 13000, 0, &why), 0);
    cr_assert_eq(why, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
}

Test(procaddr, rows_are_in_order_and_point_at_calls) {
    cr_assert_gt(procaddr_rows_count, 500);
    for (size_t i = 0; i < procaddr_rows_count; i++) {
        const struct procaddr_row *row = &procaddr_rows[i];
        const struct call_info *call = call_info(row->call);
        cr_assert_not_null(call);
        cr_expect_str_eq(call->base, row->name);
        cr_expect_eq(call->since, row->since);
        if (row->twin) {
            const char *twin = call_info(row->twin)->name;
            cr_expect_eq(strncmp(twin, call->name, strlen(call->name)), 0);
            cr_expect(strstr(twin, "_ptds") || strstr(twin, "_ptsz"));
        }
        if (i == 0) continue;
        int order = strcmp(row[-1].name, row->name);
        cr_expect(order < 0 || (order == 0 && row[-1].since < row->since), "%s %d", row->name,
                  row->since);
    }
}

Test(procaddr, every_row_is_found_at_its_own_version) {
    for (size_t i = 0; i < procaddr_rows_count; i++) {
        const struct procaddr_row *row = &procaddr_rows[i];
        CUdriverProcAddressQueryResult why;
        cr_expect_eq(procaddr_find(row->name, row->since, 0, &why), row->call);
        cr_expect_eq(procaddr_find(row->name, row->since, 2, &why),
                     row->twin ? row->twin : row->call);
    }
}
