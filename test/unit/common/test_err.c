/* SPDX-License-Identifier: Apache-2.0
 *
 * Every error of the list has a name, a text and a CUresult; unknown errors get a default text that
 * says they are unknown.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <limits.h>

#include "common/err.h"

Test(err, list_is_complete_and_distinct) {
    int numbers[64], count = 0;
#define X(ident, number, words, cu)                          \
    cr_assert_str_eq(err_name(ident), #ident);               \
    cr_assert_str_eq(err_text(ident), words);                \
    cr_assert_eq(err_cuda(ident), cu);                       \
    cr_assert_lt(ident, ERR_BASE, "%s is no errno", #ident); \
    numbers[count++] = ident;
    ERR_LIST(X)
#undef X
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < i; j++)
            cr_assert_neq(numbers[i], numbers[j]);
    }
}

Test(err, errnos) {
    cr_assert_str_eq(err_name(-EINVAL), "EINVAL");
    cr_assert_str_eq(err_text(-ENOMEM), "Cannot allocate memory");
    cr_assert_eq(err_cuda(-ENOMEM), 2);
    cr_assert_eq(err_cuda(-EINVAL), 1);
    cr_assert_eq(err_cuda(-ENOTSUP), 801);
    cr_assert_eq(err_cuda(-EIO), 999, "no CUresult says EIO");
}

Test(err, success_and_strangers) {
    cr_assert_str_eq(err_name(0), "OK");
    cr_assert_str_eq(err_text(0), "success");
    cr_assert_eq(err_cuda(0), 0);
    int strangers[] = {1, -4000, ERR_BASE, -5999, INT_MIN, INT_MAX};
    for (unsigned i = 0; i < sizeof(strangers) / sizeof(strangers[0]); i++) {
        cr_assert_str_eq(err_name(strangers[i]), "ERR_UNKNOWN");
        cr_assert_str_eq(err_text(strangers[i]), "unknown error");
        cr_assert_eq(err_cuda(strangers[i]), 999);
    }
}
