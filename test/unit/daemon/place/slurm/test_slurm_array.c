/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists of tasks as Slurm prints them.
 */
#include <criterion/criterion.h>
#include <stdio.h>

#include "daemon/place/slurm/placer/array.h"

#define FREE 77u /* a number that no task has */

/* The tasks of a list as "1 2 3", at most `most`. */
static const char *tasks(const char *list, uint32_t most) {
    static char text[1000];
    uint32_t out[32], count;
    size_t n = 0;

    for (uint32_t i = 0; i < 32; i++)
        out[i] = FREE;
    count = array_tasks(list, out, most);
    cr_assert_leq(count, most);
    text[0] = '\0';
    for (uint32_t i = 0; i < count; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%u", i ? " " : "", out[i]);
    for (uint32_t i = most; i < 32; i++)
        cr_expect_eq(out[i], FREE, "written behind the end");
    return text;
}

Test(slurm_array, ranges_and_numbers) {
    cr_expect_str_eq(tasks("3", 16), "3");
    cr_expect_str_eq(tasks("0-3,7,9-10", 16), "0 1 2 3 7 9 10");
    cr_expect_str_eq(tasks("5-5", 16), "5");
    cr_expect_str_eq(tasks("4000000", 16), "4000000");
}

Test(slurm_array, steps) {
    cr_expect_str_eq(tasks("0-7:3,8", 16), "0 3 6 8");
}

Test(slurm_array, a_limit_ends_the_list) {
    cr_expect_str_eq(tasks("0-3%2", 16), "0 1 2 3");
}

Test(slurm_array, long_lists_end_in_dots) {
    cr_expect_str_eq(tasks("1,3,5,...", 16), "1 3 5");
    cr_expect_str_eq(tasks("1,3,5-...%4", 16), "1 3");
}

Test(slurm_array, no_more_than_there_is_room_for) {
    cr_expect_str_eq(tasks("0-1000", 3), "0 1 2");
    cr_expect_str_eq(tasks("0,1,2,3", 3), "0 1 2");
    cr_expect_str_eq(tasks("0-3", 0), "");
}

Test(slurm_array, nonsense_is_no_task) {
    cr_expect_str_eq(tasks("", 16), "");
    cr_expect_str_eq(tasks("-3", 16), "");
    cr_expect_str_eq(tasks("0x1f", 16), "");
    cr_expect_str_eq(tasks("9-3", 16), "");
    cr_expect_str_eq(tasks("0-9:0", 16), "");
    cr_expect_str_eq(tasks("4294967297", 16), "", "it is not 1");
    cr_expect_str_eq(tasks("4000001", 16), "");
}
