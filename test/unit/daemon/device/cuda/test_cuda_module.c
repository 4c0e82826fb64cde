/* SPDX-License-Identifier: Apache-2.0
 *
 * Modules on the real driver's device: images with one part and with several, kernels and their
 * attributes, and variables outside the windows.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/device_driver.h"
#include "daemon/device/device_native.h"
#include "test/lib/cuda/cuda_rig.h"
#include "test/lib/ptx/devmodule.h"

static struct cuda_rig rig;
static struct rig_space space;

static void open_all(void) {
    cuda_rig_load(&rig, false);
    rig.fake->start(&(struct fake_options){.greatest = -2});
    cr_assert_eq(cuda_rig_open(&rig), 0);
    cr_assert_eq(cuda_rig_space(&rig, &space, 0), 0);
}

static void close_all(void) {
    cuda_rig_space_end(&rig, &space);
    cuda_rig_close(&rig);
    cr_assert_str_eq(cuda_rig_complaint(&rig), "");
}

static int load(const void *image, size_t bytes, struct dev_module **m) {
    char why[256] = "";
    return devmodule_load(rig.ops, space.space, 0, image, bytes, m, why, sizeof(why));
}

static struct dev_module *loaded(const char *image) {
    struct dev_module *m = NULL;
    cr_assert_eq(load(image, strlen(image), &m), 0);
    return m;
}

TestSuite(cuda_module, .init = open_all, .fini = close_all);

/* The text has any length and no terminator: the copy for the driver is terminated. */
Test(cuda_module, text_is_ended_for_the_driver) {
    size_t bytes = strlen(RIG_IMAGE);
    char *image = malloc(bytes);
    struct dev_module *m = NULL;
    memcpy(image, RIG_IMAGE, bytes);
    cr_assert_eq(load(image, bytes, &m), 0);
    free(image);
    cr_assert_eq(rig.ops->func_count(m), 4);
    for (uint32_t i = 0; i < 4; i++)
        cr_assert(strstr(RIG_IMAGE, rig.ops->func_name(m, i)));
    cr_assert_null(rig.ops->func_name(m, 4));
    devmodule_unload(rig.ops, m);
}

Test(cuda_module, what_is_said_of_a_kernel) {
    struct dev_module *m = loaded(RIG_IMAGE);
    struct dev_func *f, *again;
    struct dev_func_info info;
    char why[256];
    cr_assert_eq(rig.ops->func_get(m, "fill", &f, &info, why, sizeof(why)), 0);
    cr_assert_eq(info.param_count, 3);
    cr_assert_eq(info.param_bytes, 20);
    cr_assert_eq(info.params[2].offset, 16);
    cr_assert_eq(info.params[2].bytes, 4);
    cr_assert_eq(info.regs, 32);
    cr_assert_eq(info.max_threads, 1024);
    cr_assert_eq(rig.ops->func_get(m, "fill", &again, &info, why, sizeof(why)), 0);
    cr_assert_eq(f, again);
    cr_assert_eq(rig.ops->func_get(m, "fill.7", &f, &info, why, sizeof(why)), ERR_NOT_FOUND);
    devmodule_unload(rig.ops, m);
}

/* The driver counts the clusters that fit, and shared memory must be allowed before the
 * question. */
Test(cuda_module, clusters_are_the_drivers_to_count) {
    struct dev_module *m = loaded(RIG_IMAGE);
    struct dev_func_info info;
    struct dev_launch like = {.grid = {2, 1, 2}, .block = {1024, 1, 1}, .cluster = {2, 1, 2}};
    uint32_t count;
    char why[256];
    cr_assert_eq(rig.ops->func_get(m, "fill", &like.func, &info, why, sizeof(why)), 0);
    like.shared_bytes = 100 << 10;
    cr_expect(rig.info.clusters);
    cr_expect_eq(rig.ops->native->cluster_count(&like, false, &count), 0);
    cr_expect_eq(count, FAKE_SMS / 4 - 1);
    cr_expect_eq(rig.ops->native->cluster_count(&like, true, &count), 0);
    cr_expect_eq(count, 2);
    like.grid[1] = like.cluster[1] = 2;
    cr_expect_eq(rig.ops->native->cluster_count(&like, false, &count), 0,
                 "it is no mistake to ask");
    cr_expect_eq(count, 0);
    like.shared_bytes = 228 << 10;
    cr_expect_neq(rig.ops->native->cluster_count(&like, false, &count), 0);
    devmodule_unload(rig.ops, m);
}

Test(cuda_module, an_image_that_is_none_is_explained) {
    struct dev_module *m = (void *)&rig;
    char why[256] = "";
    cr_assert_eq(rig.ops->module_read(space.space, 0, "nothing", 7, &m, why, sizeof(why)),
                 ERR_INVALID_IMAGE);
    cr_assert_null(m);
    cr_assert_str_eq(why, "CUDA_ERROR_INVALID_IMAGE: line 1;is not understood");
}

/* ---- fatbins --------------------------------------------------------------------------------- */

static size_t add_fatbin(unsigned char *at, const char *text) {
    struct {
        uint32_t magic;
        uint16_t version, header_bytes;
        uint64_t bytes;
    } head = {0xba55ed50, 1, 16, strlen(text)};
    memcpy(at, &head, sizeof(head));
    memcpy(at + sizeof(head), text, head.bytes);
    return sizeof(head) + head.bytes;
}

static bool has(struct dev_module *m, const char *name) {
    struct dev_func *f;
    struct dev_func_info info;
    char why[256];
    return !rig.ops->func_get(m, name, &f, &info, why, sizeof(why));
}

Test(cuda_module, one_fatbin_is_a_module) {
    unsigned char image[512];
    struct dev_module *m = NULL;
    cr_assert_eq(load(image, add_fatbin(image, "fake\nkernel fill 8 8 4\n"), &m), 0);
    cr_assert(has(m, "fill"));
    devmodule_unload(rig.ops, m);
}

Test(cuda_module, several_fatbins_are_linked_code_and_its_units) {
    unsigned char image[512];
    struct dev_module *m = NULL;
    size_t bytes = add_fatbin(image, "fake\nkernel fill 8 8 4\n");
    bytes += add_fatbin(image + bytes, "fake\nkernel add 8 8 8 8\n");
    bytes += add_fatbin(image + bytes, "fake\nkernel append 8 4\nglobal table 8\n");
    memset(image + bytes, 0, 7); /* alignment */
    cr_assert_eq(load(image, bytes + 7, &m), 0);
    cr_assert(has(m, "fill") && has(m, "add") && has(m, "append"));
    cr_assert_eq(rig.fake->left().modules, 2, "the library and its module");
    devmodule_unload(rig.ops, m);
    cr_assert_eq(rig.fake->left().modules, 0);
}

/* A unit of PTX only, as nvcc writes it for linking. */
static size_t add_ptx(unsigned char *at, const char *text) {
    unsigned char entry[64] = {1, 0, 1, 1, 64};
    size_t bytes = add_fatbin(at, "");
    uint64_t length = strlen(text) + 1, behind = sizeof(entry) + length;
    memcpy(entry + 8, &length, sizeof(length));
    memcpy(at + 8, &behind, sizeof(behind));
    memcpy(at + bytes, entry, sizeof(entry));
    memcpy(at + bytes + sizeof(entry), text, length);
    return bytes + behind;
}

Test(cuda_module, what_is_not_linked_yet_the_driver_links) {
    unsigned char image[1024];
    struct dev_module *m = NULL;
    size_t bytes = add_fatbin(image, "");
    bytes += add_ptx(image + bytes, "fake\nkernel fill 8 8 4\n");
    bytes += add_fatbin(image + bytes, "fake\nkernel add 8 8 8 8\n");
    cr_assert_eq(load(image, bytes, &m), 0);
    cr_assert(has(m, "fill") && has(m, "add"));
    cr_assert_eq(rig.fake->left().modules, 1, "the link is gone, and there is no library");
    devmodule_unload(rig.ops, m);
    bytes += add_ptx(image + bytes, "nothing");
    cr_assert_eq(load(image, bytes, &m), ERR_INVALID_IMAGE);
    cr_assert_eq(rig.fake->left().modules, 0);
}

Test(cuda_module, fatbins_whose_lengths_do_not_fit) {
    unsigned char image[512];
    struct dev_module *m = NULL;
    size_t first = add_fatbin(image, "fake\nkernel fill 8 8 4\n");
    size_t bytes = first + add_fatbin(image + first, "fake\nkernel add 8 8 8 8\n");
    for (size_t cut = first + 16; cut < bytes; cut++)
        cr_assert_eq(load(image, cut, &m), ERR_INVALID_IMAGE, "%zu bytes", cut);
    image[first] ^= 1;
    cr_assert_eq(load(image, bytes, &m), ERR_INVALID_IMAGE);
}

/* ---- variables ------------------------------------------------------------------------------- */

Test(cuda_module, variables_are_the_client_s_as_long_as_their_module) {
    struct dev_module *m = loaded(RIG_IMAGE);
    uint64_t addr = 0, bytes = 0;
    cr_assert_eq(rig.ops->global_get(m, "none", &addr, &bytes), ERR_NOT_FOUND);
    cr_assert_eq(rig.ops->global_get(m, "table", &addr, &bytes), 0);
    cr_assert_eq(bytes, 256);
    cr_assert(rig.ops->driver->space_owns(space.space, addr, 256));
    cr_assert_not(rig.ops->driver->space_owns(space.space, addr + 1, 256));
    cr_assert_not(rig.ops->driver->space_owns(space.space, addr - 1, 1));
    cr_assert_not(rig.ops->driver->space_owns(space.space, space.windows.dev_base, 1));
    devmodule_unload(rig.ops, m);
    cr_assert_not(rig.ops->driver->space_owns(space.space, addr, 1));
}

Test(cuda_module, variables_are_copied_and_peeked_at) {
    struct dev_module *m = loaded(RIG_IMAGE);
    struct dev_queue *q;
    struct rig_op ops[2];
    uint64_t addr, bytes, value;
    cr_assert_eq(rig.ops->global_get(m, "table", &addr, &bytes), 0);
    cr_assert_eq(rig.ops->queue_create(space.space, 0, &q), 0);
    cuda_rig_fill(&rig, q, &ops[0], addr, 12, bytes / 4);
    cuda_rig_fill(&rig, q, &ops[1], addr, 13, bytes / 4 + 1);
    cr_assert(cuda_rig_wait(&rig, 2));
    cr_assert_eq(ops[0].dev.result, 0);
    cr_assert_eq(ops[1].dev.result, ERR_ILLEGAL_ADDRESS);
    cr_assert_eq(rig.ops->peek(space.space, addr + 252, 4, &value), 0);
    cr_assert_eq(value, 12);
    rig.ops->queue_destroy(q);
    devmodule_unload(rig.ops, m);
}

Test(cuda_module, each_space_has_variables_of_its_own) {
    struct rig_space other;
    struct dev_module *m = loaded(RIG_IMAGE), *n = NULL;
    char why[256];
    uint64_t a, b, bytes;
    cr_assert_eq(cuda_rig_space(&rig, &other, 1), 0);
    cr_assert_eq(
        devmodule_load(rig.ops, other.space, 0, RIG_IMAGE, sizeof(RIG_IMAGE), &n, why, sizeof(why)),
        0);
    cr_assert_eq(rig.ops->global_get(m, "table", &a, &bytes), 0);
    cr_assert_eq(rig.ops->global_get(n, "table", &b, &bytes), 0);
    cr_assert(rig.ops->driver->space_owns(other.space, b, bytes));
    cr_assert_not(rig.ops->driver->space_owns(other.space, a, bytes));
    devmodule_unload(rig.ops, n);
    cuda_rig_space_end(&rig, &other);
    devmodule_unload(rig.ops, m);
}
