/* SPDX-License-Identifier: Apache-2.0
 *
 * Contents survive growth, and a failure persists until the buffer is cleared.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "common/buf.h"

Test(buf, content_survives_growth) {
    struct buf b;
    buf_init(&b);
    for (uint32_t i = 0; i < 10000; i++)
        cr_assert_eq(buf_append(&b, &i, sizeof(i)), 0);
    cr_assert_eq(b.len, 40000);
    for (uint32_t i = 0; i < 10000; i++)
        cr_assert_eq(memcmp(b.data + 4 * i, &i, 4), 0);
    buf_finish(&b);
    cr_assert_null(b.data);
}

Test(buf, empty_append_and_empty_string) {
    struct buf b;
    buf_init(&b);
    cr_assert_eq(buf_append(&b, NULL, 0), 0);
    cr_assert_str_eq(buf_str(&b), "");
    cr_assert_eq(b.len, 0);
    buf_finish(&b);
}

Test(buf, printf_of_any_length) {
    struct buf b;
    buf_init(&b);
    for (int width = 1; width < 2000; width++) {
        buf_clear(&b);
        cr_assert_eq(buf_printf(&b, "%*d", width, 7), 0);
        cr_assert_eq(b.len, width);
        cr_assert_eq(buf_str(&b)[width - 1], '7');
    }
    buf_clear(&b);
    buf_printf(&b, "a=%d", 1);
    buf_printf(&b, " b=%s", "x");
    cr_assert_str_eq(buf_str(&b), "a=1 b=x");
    buf_finish(&b);
}

Test(buf, extend_gives_zeroes) {
    struct buf b;
    buf_init(&b);
    buf_append(&b, "junkjunk", 8);
    buf_clear(&b);
    unsigned char *p = buf_extend(&b, 8);
    for (int i = 0; i < 8; i++)
        cr_assert_eq(p[i], 0);
    cr_assert_eq(b.len, 8);
    cr_assert_not_null(buf_extend(&b, 0));
    cr_assert_eq(b.len, 8);
    buf_finish(&b);
}

Test(buf, failure_is_sticky_until_cleared) {
    struct buf b;
    buf_init(&b);
    buf_append(&b, "ab", 2);
    cr_assert_eq(buf_reserve(&b, SIZE_MAX), -ENOMEM);
    cr_assert(b.failed);
    cr_assert_eq(buf_append(&b, "c", 1), -ENOMEM);
    cr_assert_eq(buf_printf(&b, "c"), -ENOMEM);
    cr_assert_null(buf_extend(&b, 1));
    cr_assert_str_eq(buf_str(&b), "");
    cr_assert_eq(b.len, 2);
    buf_clear(&b);
    cr_assert_eq(buf_append(&b, "c", 1), 0);
    cr_assert_str_eq(buf_str(&b), "c");
    buf_finish(&b);
}
