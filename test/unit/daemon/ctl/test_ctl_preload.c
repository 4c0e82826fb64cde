/* SPDX-License-Identifier: Apache-2.0
 *
 * LD_PRELOAD and ASAN_OPTIONS, combined with the user's values.
 */
#include "daemon/ctl/environment/preload.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define OURS "/s/libcuda.so.1"
#define ORDER "verify_asan_link_order=0"

static void expect_list(const char *list, const char *expected) {
    char *got = preload_add(list, OURS);

    cr_assert_str_eq(got, expected);
    free(got);
}

Test(ctl_preload, ours_comes_behind_the_users) {
    expect_list(NULL, OURS);
    expect_list("", OURS);
    expect_list("/lib/a.so", "/lib/a.so:" OURS);
    expect_list("/lib/libasan.so.8:a.so", "/lib/libasan.so.8:a.so:" OURS);
    expect_list("/lib/a.so /lib/b.so", "/lib/a.so /lib/b.so:" OURS);
    expect_list("/lib/notlibcuda.so.1:/libcuda.so.1/x",
                "/lib/notlibcuda.so.1:/libcuda.so.1/x:" OURS);
}

Test(ctl_preload, in_whose_place_ours_stands_comes_behind_it) {
    expect_list("/usr/lib/libcuda.so", OURS ":/usr/lib/libcuda.so");
    expect_list("a.so:/x/libcuda.so.580:b.so", "a.so:" OURS ":/x/libcuda.so.580:b.so");
    expect_list("a.so libnvrtc.so.13", "a.so " OURS ":libnvrtc.so.13");
    expect_list("/x/libnvJitLink.so:b", OURS ":/x/libnvJitLink.so:b");
}

Test(ctl_preload, what_is_there_is_found_whole) {
    cr_assert_not(preload_has(NULL, OURS));
    cr_assert_not(preload_has("", OURS));
    cr_assert(preload_has(OURS, OURS));
    cr_assert(preload_has("a.so " OURS ":b.so", OURS));
    cr_assert_not(preload_has("/x" OURS ":" OURS ".2", OURS));
}

static void expect_options(const char *options, const char *list, const char *expected) {
    char *got = preload_asan_options(options, list);

    if (expected)
        cr_assert_str_eq(got, expected);
    else
        cr_assert_null(got, "%s", got);
    free(got);
}

Test(ctl_preload, the_order_is_not_looked_at_where_the_runtime_is_not_first) {
    expect_options(NULL, NULL, ORDER);
    expect_options("", "", ORDER);
    expect_options("detect_leaks=0", NULL, "detect_leaks=0:" ORDER);
    expect_options(NULL, "a.so:/lib/libasan.so.8", ORDER);
    expect_options(NULL, "/lib/libasan.so.8:a.so", NULL);
    expect_options(NULL, " /lib/libclang_rt.asan-x86_64.so", NULL);
    expect_options("verify_asan_link_order=1", NULL, NULL);
    expect_options("a=1,verify_asan_link_order=0", "a.so", NULL);
}
