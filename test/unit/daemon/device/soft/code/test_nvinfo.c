/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/image/nvinfo.h"
#include "test/lib/ptx/image_build.h"

static struct image_kernel kernel;

/* Reads a copy of exactly the section's length. */
static int read_section(const void *data, size_t bytes) {
    free(kernel.params);
    kernel = (struct image_kernel){0};
    void *copy = malloc(bytes ? bytes : 1);
    if (bytes) memcpy(copy, data, bytes);
    int err = nvinfo_kernel(&kernel, copy, bytes);
    free(copy);
    return err;
}

static void done(void) {
    free(kernel.params);
    kernel = (struct image_kernel){0};
}

TestSuite(nvinfo, .fini = done);

static const struct image_param params[] = {{2, 16, 5000, 1}, {0, 0, 8, 0}, {1, 8, 4, 0}};
static const struct image_build_kernel sample = {
    .name = "k", .block = {16, 16, 2}, .param_bytes = 5016, .params = params, .param_count = 3};

Test(nvinfo, a_kernel) {
    struct buf b;
    buf_init(&b);
    image_build_kernel_info(&b, &sample);
    cr_assert_eq(read_section(b.data, b.len), 0);
    cr_assert(kernel.param_count == 3 && kernel.param_bytes == 5016 && kernel.max_threads == 512);
    cr_assert(kernel.params[0].offset == 0 && kernel.params[0].bytes == 8);
    cr_assert(kernel.params[1].offset == 8 && kernel.params[1].bytes == 4);
    cr_assert(kernel.params[2].offset == 16 && kernel.params[2].bytes == 5000);
    for (size_t n = 1; n < b.len; n++) {
        int err = read_section(b.data, n);
        cr_assert(err == 0 || err == ERR_INVALID_IMAGE);
        if (err == 0) cr_assert_leq(kernel.param_count, 3);
    }
    buf_finish(&b);
}

Test(nvinfo, nothing) {
    cr_assert_eq(read_section("", 0), 0);
    cr_assert_eq(kernel.param_count, 0);
}

Test(nvinfo, damaged) {
    cr_assert_eq(read_section("\x04\x17\x0c", 3), ERR_INVALID_IMAGE, "half a header");
    cr_assert_eq(read_section("\x04\x17\xff\xff", 4), ERR_INVALID_IMAGE, "longer than the section");
    cr_assert_eq(read_section("\x00\x17\x00\x00", 4), ERR_INVALID_IMAGE, "format 0");
    cr_assert_eq(read_section("\x05\x17\x00\x00", 4), ERR_INVALID_IMAGE, "format 5");
    cr_assert_eq(read_section("\x04\x17\x04\x00\x00\x00\x00\x00", 8), ERR_INVALID_IMAGE,
                 "too short for a parameter");
}

/* Builds one record for each byte of `ordinals`. */
static int with_ordinals(const char *ordinals) {
    struct buf b;
    struct image_param list[8] = {{0}};
    struct image_build_kernel k = {.name = "k", .params = list, .param_count = strlen(ordinals)};
    for (size_t i = 0; i < k.param_count; i++)
        list[i] = (struct image_param){(uint16_t)(ordinals[i] - '0'), (uint16_t)(8 * i), 8, 0};
    buf_init(&b);
    image_build_kernel_info(&b, &k);
    int err = read_section(b.data, b.len);
    buf_finish(&b);
    return err;
}

Test(nvinfo, each_ordinal_once) {
    cr_assert_eq(with_ordinals("3120"), 0);
    cr_assert_eq(with_ordinals("0013"), ERR_INVALID_IMAGE);
    cr_assert_eq(with_ordinals("0124"), ERR_INVALID_IMAGE);
    cr_assert_eq(with_ordinals("1"), ERR_INVALID_IMAGE);
}

Test(nvinfo, launch_bounds_are_bounded) {
    struct buf b;
    struct image_build_kernel k = {.name = "k", .block = {0xffffffff, 0xffffffff, 0xffffffff}};
    buf_init(&b);
    image_build_kernel_info(&b, &k);
    cr_assert_eq(read_section(b.data, b.len), 0);
    cr_assert_eq(kernel.max_threads, 1024);
    buf_finish(&b);
}
