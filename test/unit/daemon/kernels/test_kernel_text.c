/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of profiles: it reads back unchanged, and a wrong one is rejected with its line.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/kernels/kernel_text.h"

static struct kernel_set s, again;
static struct buf b;
static char why[KERNEL_PROFILE_WHY_BYTES];

static void setup(void) {
    kernel_set_init(&s, 1);
    kernel_set_init(&again, 2);
    buf_init(&b);
}

static void teardown(void) {
    kernel_set_finish(&s);
    kernel_set_finish(&again);
    buf_finish(&b);
}

TestSuite(kernel_text, .init = setup, .fini = teardown);

#define TITLE "salus-kernels 1 1 1\n"
#define DEVICE "device sms=80 name=Soft GPU\n"
#define HINT                                                                          \
    "hint grid=0,0,0 block=32,1,1 sms=40 class=memory compute=10 memory=700 ns=5152 " \
    "name=at::native::(anonymous namespace)::f\n"
#define KERNEL                                                                             \
    "kernel func=00f0c3a5d2e14b77 grid=40,1,1 block=128,2,1 shared=512 uid=1000 sms=10 "   \
    "class=compute source=counted compute=870 memory=120 lone=1 sum=22756 bins=26:3,30:1 " \
    "name=f\n"
#define GOOD TITLE DEVICE HINT KERNEL

Test(kernel_text, it_has_these_bytes) {
    struct kernel_profile p = {.key = {0xf0c3a5d2e14b77, {40, 1, 1}, {128, 2, 1}, 512, 1000},
                               .name = "f",
                               .sms = 10,
                               .class = KERNEL_PROFILE_COMPUTE,
                               .source = KERNEL_PROFILE_COUNTED,
                               .lone = 1,
                               .compute_milli = 870,
                               .memory_milli = 120};
    struct kernel_profile_hint h = {.name = "at::native::(anonymous namespace)::f",
                                    .block = {32, 1, 1},
                                    .sms = 40,
                                    .class = KERNEL_PROFILE_MEMORY,
                                    .compute_milli = 10,
                                    .memory_milli = 700,
                                    .duration_ns = 5152};

    for (int i = 0; i < 3; i++)
        kernel_dist_add(&p.durations, 5152);
    kernel_dist_add(&p.durations, 7300);
    strcpy(s.device.name, "Soft GPU");
    s.device.sms = 80;
    cr_assert_eq(kernel_set_learn(&s, &p), 0);
    cr_assert_eq(kernel_set_add_hints(&s, &h, 1), 0);
    kernel_text_print(&s, &b);
    cr_assert_str_eq(buf_str(&b), GOOD);
}

Test(kernel_text, it_comes_back) {
    cr_assert_eq(kernel_text_parse(&s, GOOD, sizeof(GOOD) - 1, why), 0, "%s", why);
    cr_assert_eq(s.count, 1);
    cr_assert_eq(s.hint_count, 1);
    cr_assert_str_eq(s.device.name, "Soft GPU");
    cr_assert_eq(s.items[0].durations.count, 4);
    kernel_text_print(&s, &b);
    cr_assert_str_eq(buf_str(&b), GOOD);
}

/* The longest possible text: every counter and every name at its limit. */
Test(kernel_text, a_full_set_comes_back_in_the_order_of_use) {
    struct kernel_profile p = {.key = {0,
                                       {UINT32_MAX, UINT32_MAX, UINT32_MAX},
                                       {UINT32_MAX, UINT32_MAX, UINT32_MAX},
                                       UINT32_MAX,
                                       0},
                               .sms = KERNEL_PROFILE_SMS_MAX,
                               .source = KERNEL_PROFILE_IMPORTED,
                               .compute_milli = 1000,
                               .memory_milli = 1000};
    struct kernel_profile_hint h = {.sms = KERNEL_PROFILE_SMS_MAX,
                                    .duration_ns = KERNEL_PROFILE_NS_MAX};
    uint32_t *order, *order_again;

    memset(p.name, 'x', sizeof(p.name) - 1);
    memset(h.name, 'x', sizeof(h.name) - 1);
    memset(p.durations.bins, 0xff, sizeof(p.durations.bins));
    for (uint32_t i = 0; i < KERNEL_DIST_BINS; i++)
        p.durations.sum_ns += 65535 * ((8ull + i % 8) << (6 + i / 8));
    cr_assert(kernel_dist_settle(&p.durations));
    memset(s.device.name, 'd', sizeof(s.device.name) - 1);
    for (uint32_t i = 0; i < KERNEL_SET_MAX; i++) {
        p.key.func = UINT64_MAX - i * 2654435761u % KERNEL_SET_MAX;
        p.key.uid = UINT32_MAX - 2 - i % 2;
        cr_assert_eq(kernel_set_learn(&s, &p), 0);
    }
    for (uint32_t i = 0; i < 100; i++) { /* used again: first in the array, most recent in time */
        p = s.items[i];
        cr_assert_eq(kernel_set_learn(&s, &p), 0);
    }
    for (uint32_t i = 0; i < KERNEL_SET_HINTS_MAX; i++) {
        memcpy(h.grid, (uint32_t[]){UINT32_MAX - i, 1, 1}, sizeof(h.grid));
        cr_assert_eq(kernel_set_add_hints(&s, &h, 1), 0);
    }
    kernel_text_print(&s, &b);
    cr_assert_leq(b.len, KERNEL_TEXT_BYTES_MAX);
    cr_assert_eq(kernel_text_parse(&again, buf_str(&b), b.len, why), 0, "%s", why);
    cr_assert_eq(again.count, s.count);
    cr_assert_eq(again.hint_count, s.hint_count);
    order = kernel_set_order(&s);
    order_again = kernel_set_order(&again);
    for (uint32_t i = 0; i < s.count; i++)
        cr_assert_arr_eq(&s.items[order[i]], &again.items[order_again[i]], sizeof(s.items[0]));
    cr_assert_arr_eq(s.hints, again.hints, s.hint_count * sizeof(*s.hints));
    free(order);
    free(order_again);
}

Test(kernel_text, every_cut_of_a_good_text_is_refused) {
    for (size_t n = 0; n < sizeof(GOOD) - 1; n++) {
        cr_assert_eq(kernel_text_parse(&s, GOOD, n, why), -EINVAL, "cut at %zu", n);
        cr_assert_eq(s.count + s.hint_count, 0);
    }
}

#define REFUSED(text, reason)                                                      \
    do {                                                                           \
        cr_assert_eq(kernel_text_parse(&s, text, sizeof(text) - 1, why), -EINVAL); \
        cr_assert_str_eq(why, reason, "%s", why);                                  \
        cr_assert_eq(s.count + s.hint_count, 0);                                   \
    } while (0)

Test(kernel_text, a_head_that_is_wrong) {
    static const char title[] =
        "line 1: the line does not begin with 'salus-kernels VERSION PROFILES HINTS'";

    REFUSED("", "line 1: the text ends before this line");
    REFUSED("salus-kernels 1 0 0", "line 1: the line has no end");
    REFUSED("salus-profiles 1 0 0\n", title);
    REFUSED("salus-kernels 2 0 0\n", "line 1: the file has version 2 instead of 1");
    REFUSED("salus-kernels x 0 0\n", "line 1: 'VERSION' is not a number");
    REFUSED("salus-kernels 1 16385 0\n", "line 1: 'PROFILES' is more than 16384");
    REFUSED("salus-kernels 1 0 4097\n", "line 1: 'HINTS' is more than 4096");
    REFUSED("salus-kernels 1 0 0 \n", "line 1: text follows the numbers");
    REFUSED("salus-kernels 1 0 0\n", "line 2: the text ends before this line");
    REFUSED("salus-kernels 1 0 0\ndevice sms=80\n", "line 2: 'name=' is missing before \"\"");
    REFUSED("salus-kernels 1 0 0\ndevice sms=8 name= a\n",
            "line 2: 'name=' is not 1 to 63 printable characters");
    REFUSED("salus-kernels 1 0 0\n" DEVICE "\n",
            "line 3: the text has more lines than its header announces");
    REFUSED("salus-kernels 1 0 0\n" DEVICE "x",
            "line 3: the text has more lines than its header announces");
    REFUSED("salus-kernels 1 1 0\n" DEVICE HINT,
            "line 3: 'kernel func=' is missing before \"hint grid=0,0,0 block=32\"");
}

#define HINT_REFUSED(line, reason) \
    REFUSED("salus-kernels 1 0 1\n" DEVICE line "\n", "line 3: " reason)

Test(kernel_text, hints_that_are_wrong) {
#define REST " class=unknown compute=0 memory=0 ns=0 name=k"
    HINT_REFUSED("hint grid=1,1 block=0,0,0 sms=1" REST,
                 "',' is missing before \" block=0,0,0 sms=1 class\"");
    HINT_REFUSED("hint grid=1,0,1 block=0,0,0 sms=1" REST, "the grid has no blocks");
    HINT_REFUSED("hint grid=0,0,0 block=4294967296,1,1 sms=1" REST,
                 "'block=' is more than 4294967295");
    HINT_REFUSED("hint grid=0,0,0 block=0,0,0 sms=-1" REST, "'sms=' is not a number");
    HINT_REFUSED("hint grid=0,0,0  block=0,0,0 sms=1" REST,
                 "'block=' is missing before \"  block=0,0,0 sms=1 clas\"");
    HINT_REFUSED("hint grid=0,0,0 block=0,0,0 sms=1 class=computer compute=0 memory=0 ns=0 name=k",
                 "'class=' cannot have the value \"computer\"");
    HINT_REFUSED(
        "hint grid=0,0,0 block=0,0,0 sms=1 class=unknown compute=1001 memory=0 ns=0 name=k",
        "'compute=' is more than 1000");
    HINT_REFUSED("hint grid=0,0,0 block=0,0,0 sms=1 class=unknown compute=0 memory=0 "
                 "ns=3600000000001 name=k",
                 "'ns=' is more than 3600000000000");
    HINT_REFUSED("hint grid=0,0,0 block=0,0,0 sms=1 class=unknown compute=0 memory=0 ns=0 name=",
                 "'name=' is not 1 to 127 printable characters");
    HINT_REFUSED("hint grid=0,0,0 block=0,0,0\0sms=1" REST, "the line contains a NUL byte");
    REFUSED("salus-kernels 1 0 2\n" DEVICE HINT HINT, "line 4: the hint is a duplicate");
#undef REST
}

#define KERNEL_REFUSED(line, reason) \
    REFUSED("salus-kernels 1 1 0\n" DEVICE line "\n", "line 3: " reason)
#define KEY "kernel func=1 grid=1,1,1 block=1,1,1 shared=0 uid=0"
#define FIRST KEY " sms=1 class=memory source=none compute=0 memory=0 lone=0"

Test(kernel_text, kernels_that_are_wrong) {
    KERNEL_REFUSED("kernel func=xyz", "'func' is not a number");
    KERNEL_REFUSED("kernel func=10000000000000000", "'func' is more than 18446744073709551615");
    KERNEL_REFUSED("kernel func=1 grid=1,1,1 block=1,1,1 shared=0 uid=4294967295",
                   "'uid=' is more than 4294967294");
    KERNEL_REFUSED(KEY " sms=1 class=memory source=nowhere",
                   "'source=' cannot have the value \"nowhere\"");
    KERNEL_REFUSED(KEY " sms=1 class=memory source=none compute=0 memory=0 lone=2",
                   "'lone=' is more than 1");
    KERNEL_REFUSED("kernel func=1 grid=1,1,0 block=1,1,1 shared=0 uid=0 sms=1 class=memory "
                   "source=none compute=0 memory=0 lone=0 sum=0 bins= name=k",
                   "the grid has no blocks");
    KERNEL_REFUSED(FIRST " sum=1000 bins=7:1,6:1 name=k",
                   "'bins=' are not sorted, or one is empty");
    KERNEL_REFUSED(FIRST " sum=1000 bins=7:1,7:1 name=k",
                   "'bins=' are not sorted, or one is empty");
    KERNEL_REFUSED(FIRST " sum=1000 bins=7:0 name=k", "'bins=' are not sorted, or one is empty");
    KERNEL_REFUSED(FIRST " sum=1000 bins=208:1 name=k", "'bins=' is more than 207");
    KERNEL_REFUSED(FIRST " sum=1000 bins=7:65536 name=k", "'bins=' is more than 65535");
    KERNEL_REFUSED(FIRST " sum=1000 bins=7:1, name=k", "'bins=' is not a number");
    KERNEL_REFUSED(FIRST " sum=1000 bins=7;1 name=k", "':' is missing before \";1 name=k\"");
    KERNEL_REFUSED(FIRST " sum=1024 bins=7:1 name=k", "the sum of the durations is wrong");
    KERNEL_REFUSED(FIRST " sum=1000 bins=7:1 nam=k", "'name=' is missing before \" nam=k\"");
    KERNEL_REFUSED(FIRST " sum=1000 bins=7:1 name=k ",
                   "'name=' is not 1 to 127 printable characters");
    REFUSED("salus-kernels 1 2 0\n" DEVICE KERNEL KERNEL, "line 4: the kernel is a duplicate");
}

Test(kernel_text, a_line_that_is_too_long) {
    buf_printf(&b, "salus-kernels 1 1 0\n" DEVICE FIRST " sum=1000 bins=7:1 name=%*s\n", 5000, "k");
    cr_assert_eq(kernel_text_parse(&s, buf_str(&b), b.len, why), -EINVAL);
    cr_assert_str_eq(why, "line 3: the line is too long");
}

Test(kernel_text, more_than_half_of_one_user_is_refused) {
    buf_printf(&b, "salus-kernels 1 %u 0\n" DEVICE, KERNEL_SET_USER_MAX + 1);
    for (uint32_t i = 0; i <= KERNEL_SET_USER_MAX; i++)
        buf_printf(&b,
                   "kernel func=%x grid=1,1,1 block=1,1,1 shared=0 uid=3 sms=1 class=memory "
                   "source=none compute=0 memory=0 lone=0 sum=0 bins= name=k\n",
                   i);
    cr_assert_eq(kernel_text_parse(&s, buf_str(&b), b.len, why), -EINVAL);
    cr_assert_str_eq(why, "line 8195: user 3 has too many kernels");
}
