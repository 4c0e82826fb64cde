/* SPDX-License-Identifier: Apache-2.0
 *
 * Code that another process can load again on the real GPU, and the code that it asks for: single
 * PTX texts and cubins, and modules of the device on the fake driver.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "common/buf.h"
#include "daemon/device/cuda/module/cuda_again.h"
#include "daemon/device/device_recovery.h"
#include "test/lib/cuda/cuda_rig.h"
#include "test/lib/ptx/image_build.h"

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
#define NOTHING ".visible .entry nothing() { ret; }\n"
#define ENTRY ".visible .entry k(.param .u64 p) {\n.reg .b64 %rd<4>;\nld.param.u64 %rd1, [p];\n"
#define EXTERN_MALLOC ".extern .func (.param .b64 r) malloc (.param .b64 n);\n"
#define HELPER ".func helper() { ret; }\n"

static struct cuda_again again;

static const char *lacks_of(const void *image, size_t bytes) {
    cr_assert_eq(cuda_again_read(&again, image, bytes, 90), 0);
    static char text[sizeof(again.lacks)];
    memcpy(text, again.lacks, sizeof(text));
    return text;
}

/* Checks one image; `lack` is the reason why it cannot be loaded again; "": it can. */
static void expect(const void *image, size_t bytes, const char *lack, uint32_t names) {
    const char *text = lacks_of(image, bytes);
    if (lack[0])
        cr_expect(strstr(text, lack), "\"%s\" instead of \"%s\"", text, lack);
    else
        cr_expect_str_eq(text, "");
    if (!lack[0]) cr_expect_eq(again.count, names, "%u names", again.count);
    cuda_again_finish(&again);
}

static void expect_text(const char *text, const char *lack, uint32_t names) {
    expect(text, strlen(text) + 1, lack, names);
}

Test(cuda_again, ptx_says_what_is_lost) {
    expect_text(HEAD NOTHING, "", 0);
    expect_text(HEAD ".const .align 4 .b8 table[16];\n" NOTHING, "", 1);
    expect_text(HEAD ".global .align 1 .b8 $str[4] = {65, 0};\n"
                     ".global .align 1 .b8 __unnamed_1[4];\n"
                     ".global .align 4 .b8 __cudart_i2opi_f[24];\n" NOTHING,
                "", 3);
    expect_text(HEAD ".visible .global .align 4 .u32 counter;\n" NOTHING, "variable counter", 0);
    expect_text(HEAD ".global .align 4 .u32 hidden = 4;\n" NOTHING, "variable hidden", 0);
    expect_text(HEAD ".global .attribute(.managed) .align 8 .u64 $str$m;\n" NOTHING,
                "variable $str$m", 0);
    expect_text(HEAD ".const .align 4 .b8 first[4];\n.const .align 8 .u64 at = first;\n" NOTHING,
                "variable at", 0);
    expect_text(HEAD ".extern .shared .align 4 .b8 more[];\n"
                     ".shared .align 4 .b8 some[8];\n" NOTHING,
                "", 0);
}

Test(cuda_again, ptx_says_what_functions_are_kept) {
    expect_text(HEAD HELPER ENTRY "call.uni helper;\nret;\n}\n", "", 0);
    expect_text(HEAD HELPER ENTRY "mov.u64 %rd2, helper;\nst.global.u64 [%rd1], %rd2;\nret;\n}\n",
                "function helper", 0);
    expect_text(HEAD EXTERN_MALLOC NOTHING, "malloc", 0);
    expect_text(HEAD "what is this\n", "cannot be read", 0);
    expect_text("fake\nkernel fill 8 8 4\n", "cannot be read", 0);
}

/* ---- machine code ---------------------------------------------------------------------------- */

static void expect_cubin(const struct image_build_kernel *kernels, size_t count,
                         const struct image_build_var *vars, size_t var_count, const char *lack,
                         uint32_t names) {
    struct buf cubin, fatbin;
    buf_init(&cubin);
    buf_init(&fatbin);
    image_build_cubin_vars(&cubin, 90, kernels, count, vars, var_count);
    expect(cubin.data, cubin.len, lack, names);
    const struct image_entry packed = {
        .kind = 2, .target = 90, .packing = IMAGE_LZ4, .data = cubin.data, .bytes = cubin.len};
    image_build_fatbin(&fatbin, &packed, 1);
    expect(fatbin.data, fatbin.len, lack, names);
    buf_finish(&cubin);
    buf_finish(&fatbin);
}

static void expect_var(struct image_build_var v, const char *lack, uint32_t names) {
    static const struct image_build_kernel k = {.name = "k"};
    expect_cubin(&k, 1, &v, 1, lack, names);
}

static void expect_func(struct image_build_kernel f, const char *lack) {
    const struct image_build_kernel kernels[] = {{.name = "k"}, f};
    expect_cubin(kernels, 2, NULL, 0, lack, 0);
}

Test(cuda_again, machine_code_says_it_with_symbols) {
    static const char bytes[16] = "abc";
    expect_var((struct image_build_var){.name = "zeros", .bytes = 8}, "variable zeros", 0);
    expect_var((struct image_build_var){.name = "filled", .bytes = 8, .init = bytes},
               "variable filled", 0);
    expect_var((struct image_build_var){.name = "table", .bytes = 8, .init = bytes, .constant = 1},
               "", 1);
    expect_var((struct image_build_var){.name = "$str$2", .bytes = 8, .init = bytes}, "", 1);
    expect_var(
        (struct image_build_var){
            .name = "table", .bytes = 8, .init = bytes, .constant = 1, .relocated = 1},
        "addresses", 0);
    expect_func((struct image_build_kernel){.name = "other"}, "");
    expect_func((struct image_build_kernel){.name = "$k$helper", .function = 1},
                "function $k$helper");
    expect_func(
        (struct image_build_kernel){.name = "$__internal_0_$__cuda_sm20_div", .function = 1}, "");
    expect_func((struct image_build_kernel){.name = "malloc", .function = 1, .missing = 1},
                "malloc");
    expect_func((struct image_build_kernel){.name = "vprintf", .function = 1, .missing = 1}, "");
}

/* If the image has machine code for the GPU, the driver uses it; each unit decides separately. */
Test(cuda_again, what_the_gpu_runs_decides) {
    static const char bad[] = HEAD ".global .u32 counter;\n", good[] = HEAD NOTHING;
    struct buf cubin, image;
    buf_init(&cubin);
    buf_init(&image);
    image_build_cubin(&cubin, 90, &(struct image_build_kernel){.name = "k"}, 1);
    struct image_entry code = {.kind = 2, .target = 90, .data = cubin.data, .bytes = cubin.len},
                       ptx = {.kind = 1, .target = 90, .data = bad, .bytes = sizeof(bad)},
                       lto = {.kind = 8, .target = 90, .data = bad, .bytes = sizeof(bad)};
    image_build_fatbin(&image, (struct image_entry[]){code, ptx}, 2);
    expect(image.data, image.len, "", 0);
    image_build_fatbin(&image, &ptx, 1);
    expect(image.data, image.len, "variable counter", 0);
    image.len = 0;
    image_build_fatbin(&image, &lto, 1);
    expect(image.data, image.len, "cannot be read", 0);
    image.len = 0;
    code.target = 80;
    ptx = (struct image_entry){.kind = 1, .target = 80, .data = good, .bytes = sizeof(good)};
    image_build_fatbin(&image, (struct image_entry[]){code, ptx}, 2);
    expect(image.data, image.len, "", 0);
    buf_finish(&cubin);
    buf_finish(&image);
}

/* ---- modules --------------------------------------------------------------------------------- */

#define FAKE_TABLE "/*fake\nkernel fill 8 8 4\nglobal table 256\n*/\n"
static const char with_table[] = HEAD FAKE_TABLE ".const .align 4 .b8 table[256];\n" NOTHING;
static const char with_counter[] = HEAD FAKE_TABLE ".global .align 4 .b8 table[256];\n" NOTHING;
static const char without[] = HEAD "/*fake\nkernel fill 8 8 4\n*/\n" NOTHING;
static const char untold[] =
    HEAD "/*fake\nkernel fill 8 8 4\n*/\n.const .align 4 .b8 secret[4];\n" NOTHING;

static struct cuda_rig rig;
static struct rig_space space;
static char why[256];

static void setup(void) {
    cuda_rig_load(&rig, false);
    rig.fake->start(&(struct fake_options){.greatest = -2});
    cr_assert_eq(cuda_rig_open(&rig), 0);
    cr_assert_eq(cuda_rig_space(&rig, &space, 0), 0);
}

static void teardown(void) {
    cuda_rig_space_end(&rig, &space);
    cuda_rig_close(&rig);
    cr_expect_str_eq(cuda_rig_complaint(&rig), "");
}

TestSuite(cuda_again_module, .init = setup, .fini = teardown);

static struct dev_module *read_text(const char *text) {
    struct dev_module *m;
    why[0] = '\0';
    cr_assert_eq(rig.ops->module_read(space.space, 0, text, strlen(text) + 1, &m, why, sizeof(why)),
                 0, "%s", why);
    return m;
}

static void drop(struct dev_module *m) {
    rig.ops->module_remove(m);
    rig.ops->module_free(m);
}

static const char *lacks(void) {
    const char *text = rig.ops->recovery->space_unrestorable(space.space);
    return text ? text : "";
}

Test(cuda_again_module, it_is_where_it_was_or_it_is_not_taken) {
    struct dev_granule where[2];
    struct dev_module *m = read_text(with_table);
    cr_assert_eq(rig.ops->module_place(m, why, sizeof(why)), 0);
    cr_assert_eq(rig.ops->recovery->module_where(m, NULL, 0), 1);
    cr_assert_eq(rig.ops->recovery->module_where(m, where, 2), 1);
    cr_expect_eq(where[0].chunk, DEV_NO_CHUNK);
    cr_expect_str_eq(lacks(), "");
    cr_expect_eq(rig.ops->recovery->module_place_at(m, where, 1, why, sizeof(why)), 0);
    cr_expect_eq(rig.ops->recovery->module_place_at(m, where, 0, why, sizeof(why)), -EINVAL);
    where[0].addr += 256;
    cr_expect_eq(rig.ops->recovery->module_place_at(m, where, 1, why, sizeof(why)), -EINVAL);
    cr_expect(strstr(why, "variable table"), "%s", why);
    drop(m);
    m = read_text(without);
    cr_expect_eq(rig.ops->recovery->module_where(m, where, 2), 0);
    cr_expect_eq(rig.ops->recovery->module_place_at(m, where, 0, why, sizeof(why)), 0);
    drop(m);
}

Test(cuda_again_module, variables_that_change_are_named) {
    struct dev_module *m = read_text(with_counter);
    cr_expect_str_eq(lacks(), "");
    cr_assert_eq(rig.ops->module_place(m, why, sizeof(why)), 0);
    cr_expect(strstr(lacks(), "variable table"), "%s", lacks());
    cr_expect_eq(rig.ops->recovery->module_where(m, NULL, 0), 0);
    cr_expect_eq(rig.ops->recovery->module_place_at(m, NULL, 0, why, sizeof(why)), -EINVAL);
    cr_expect(strstr(why, "variable table"), "%s", why);
    drop(m);
    cr_expect(strstr(lacks(), "variable table"), "what it did before counts");
}

Test(cuda_again_module, who_knows_the_address_may_write_it) {
    uint64_t addr, bytes;
    struct dev_module *m = read_text(with_table);
    cr_assert_eq(rig.ops->module_place(m, why, sizeof(why)), 0);
    cr_expect_neq(rig.ops->global_get(m, "nothing", &addr, &bytes), 0);
    cr_expect_str_eq(lacks(), "");
    cr_assert_eq(rig.ops->global_get(m, "table", &addr, &bytes), 0);
    cr_expect(strstr(lacks(), "variable table"), "%s", lacks());
    drop(m);
}

Test(cuda_again_module, what_the_driver_does_not_tell_is_lost) {
    struct dev_module *m = read_text(untold);
    cr_assert_eq(rig.ops->module_place(m, why, sizeof(why)), 0);
    cr_expect(strstr(lacks(), "secret"), "%s", lacks());
    drop(m);
}
