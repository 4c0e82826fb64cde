/* SPDX-License-Identifier: Apache-2.0
 *
 * Texture and surface references on the real driver's device: the driver gets all settings, none
 * that it would punish, and no reference reads freed memory. Calls that a driver would reject are
 * misuses, which the fake driver reports at the end.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/device_arrays.h"
#include "daemon/device/device_textures.h"
#include "daemon/worker/front/texture_record.h"
#include "proto/wire/record.h"
#include "test/lib/cuda/cuda_rig.h"
#include "test/lib/ptx/devmodule.h"

#define PLACE (8 * RIG_GRANULE) /* distance between arrays in the window */
#define IMAGE RIG_IMAGE "texref line\ntexref plane\nsurfref sheet\n"
#define FLOAT CU_AD_FORMAT_FLOAT

static struct cuda_rig rig;
static struct rig_space space;
static struct dev_module *module;

static struct dev_module *load(const char *image) {
    struct dev_module *m = NULL;
    char why[256] = "";
    cr_assert_eq(devmodule_load(rig.ops, space.space, 0, image, strlen(image), &m, why, 256), 0);
    return m;
}

static void open_all(void) {
    cuda_rig_load(&rig, false);
    rig.fake->start(&(struct fake_options){.greatest = -2});
    cr_assert_eq(cuda_rig_open(&rig), 0);
    cr_assert_eq(cuda_rig_space(&rig, &space, 0), 0);
    module = load(IMAGE);
}

static void close_all(void) {
    if (module) devmodule_unload(rig.ops, module);
    cuda_rig_space_end(&rig, &space);
    cuda_rig_close(&rig);
    cr_assert_str_eq(cuda_rig_complaint(&rig), "");
}

TestSuite(cuda_reference, .init = open_all, .fini = close_all);

/* ---- resources ------------------------------------------------------------------------------- */

/* Describes an array of single floats. */
static struct dev_array make_at(uint32_t place, uint32_t depth, uint32_t levels, uint32_t flags) {
    const struct wire_array w = {.rec = {.op = WIRE_ARRAY_MAKE, .ticket = 1},
                                 .addr = space.windows.dev_base + (1 + place) * PLACE,
                                 .width = 32,
                                 .height = 16,
                                 .depth = depth,
                                 .levels = levels,
                                 .format = FLOAT,
                                 .channels = 1,
                                 .flags = flags};
    char why[128];
    cr_assert_eq(record_check(&w, sizeof(w), why, sizeof(why)), 0, "%s", why);
    const struct dev_array a = texture_record_describe_array(&w);
    cr_assert_eq(rig.ops->arrays->array_create(space.space, &a), 0);
    return a;
}

static struct wire_texture of_array(const struct dev_array *a) {
    return (struct wire_texture){.rec = {.op = WIRE_TEXTURE},
                                 .addr = a->addr,
                                 .width = a->levels[0].width,
                                 .height = a->levels[0].height,
                                 .depth = a->levels[0].depth,
                                 .levels = (uint8_t)a->level_count,
                                 .format = FLOAT,
                                 .channels = 1,
                                 .flags = WIRE_TEXTURE_NORMALIZED_COORDS};
}

static struct wire_texture of_memory(uint64_t addr, uint32_t width) {
    return (struct wire_texture){.rec = {.op = WIRE_TEXTURE},
                                 .addr = addr,
                                 .width = width,
                                 .height = 1,
                                 .depth = 1,
                                 .levels = 1,
                                 .format = CU_AD_FORMAT_HALF,
                                 .channels = 4,
                                 .flags = WIRE_TEXTURE_LINEAR};
}

static int set_of(struct dev_module *m, const char *name, const struct wire_texture *w) {
    char why[128];
    cr_assert_eq(record_check(w, sizeof(*w), why, sizeof(why)), 0, "%s", why);
    const struct dev_texture t = texture_record_describe(w);
    return rig.ops->arrays->module_reference(m, name, t.surface, &t);
}

static int set(const char *name, const struct wire_texture *w) {
    return set_of(module, name, w);
}

static int unset(const char *name, bool surface) {
    return rig.ops->arrays->module_reference(module, name, surface, NULL);
}

/* True if the reference reads a dummy array of one element, which has no owner. */
static bool reads_nothing(const char *name) {
    const struct fake_texture t = rig.fake->reference(name);
    return t.resource.resType == CU_RESOURCE_TYPE_ARRAY && t.resource.res.array.hArray &&
           t.elements == 1;
}

/* ---- names ----------------------------------------------------------------------------------- */

Test(cuda_reference, only_those_that_there_are) {
    const uint32_t arrays = rig.fake->left().arrays;
    const struct dev_array a = make_at(0, 0, 0, CUDA_ARRAY3D_SURFACE_LDST);
    struct wire_texture w = of_array(&a);
    cr_expect_eq(unset("line", false), 0);
    cr_expect_eq(unset("sheet", true), 0);
    cr_expect_eq(unset("none", false), ERR_NOT_FOUND);
    cr_expect_eq(unset("line", true), ERR_NOT_FOUND);
    cr_expect_eq(unset("sheet", false), ERR_NOT_FOUND);
    cr_expect_eq(set("none", &w), ERR_NOT_FOUND);
    w.flags |= WIRE_TEXTURE_SURFACE;
    cr_expect_eq(set("line", &w), ERR_NOT_FOUND);
    cr_expect_eq(rig.fake->left().arrays, arrays + 1, "and nothing was made for that");
    cr_expect_eq(rig.fake->reference("line").elements, 0, "nor told");
}

/* ---- settings -------------------------------------------------------------------------------- */

Test(cuda_reference, how_an_array_is_read) {
    const struct dev_array a = make_at(0, 0, 0, CUDA_ARRAY3D_SURFACE_LDST);
    struct wire_texture w = of_array(&a);
    w.flags |= WIRE_TEXTURE_SRGB | WIRE_TEXTURE_SEAMLESS;
    w.filter = CU_TR_FILTER_MODE_LINEAR;
    w.address_mode[1] = CU_TR_ADDRESS_MODE_BORDER;
    w.border[2] = 0.5f;
    w.level_bias = 1.5f;
    w.least_level = 0.25f;
    w.most_level = 3;
    w.anisotropy = 8;
    cr_assert_eq(set("plane", &w), 0);
    struct fake_texture t = rig.fake->reference("plane");
    cr_expect(t.resource.resType == CU_RESOURCE_TYPE_ARRAY && t.elements == 32 * 16);
    cr_expect_eq(t.reading.flags, CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES |
                                      CU_TRSF_SRGB | (unsigned int)CU_TRSF_SEAMLESS_CUBEMAP);
    cr_expect(t.reading.filterMode == CU_TR_FILTER_MODE_LINEAR && !t.reading.mipmapFilterMode);
    cr_expect(!t.reading.addressMode[0] && t.reading.addressMode[1] == CU_TR_ADDRESS_MODE_BORDER);
    cr_expect(t.reading.borderColor[2] == 0.5f && t.reading.mipmapLevelBias == 1.5f);
    cr_expect(t.reading.minMipmapLevelClamp == 0.25f && t.reading.maxMipmapLevelClamp == 3);
    cr_expect_eq(t.reading.maxAnisotropy, 8);
    w.flags = WIRE_TEXTURE_NORMALIZED_VALUES;
    w.address_mode[1] = 0;
    w.anisotropy = 0;
    cr_assert_eq(set("plane", &w), 0);
    t = rig.fake->reference("plane");
    cr_expect(!t.reading.flags && !t.reading.addressMode[1] && t.reading.maxAnisotropy == 1);
    w.flags = WIRE_TEXTURE_SURFACE;
    cr_assert_eq(set("sheet", &w), 0);
    cr_expect_eq(rig.fake->reference("sheet").elements, 32 * 16);
}

Test(cuda_reference, memory_is_read_where_it_is) {
    struct dev_chunk *chunk;
    const uint64_t base = space.windows.dev_base + 2 * RIG_GRANULE;
    cr_assert_eq(cuda_rig_map(&rig, &space, 2, 1, &chunk), 0);
    struct wire_texture w = of_memory(base, RIG_GRANULE / 8);
    cr_assert_eq(set("line", &w), 0);
    struct fake_texture t = rig.fake->reference("line");
    cr_expect(t.resource.resType == CU_RESOURCE_TYPE_LINEAR);
    cr_expect(t.resource.res.linear.devPtr == base && t.resource.res.linear.numChannels == 4);
    cr_expect_eq(t.resource.res.linear.sizeInBytes, RIG_GRANULE);
    cr_expect_eq(t.resource.res.linear.format, CU_AD_FORMAT_HALF);
    w = of_memory(base + 512, RIG_GRANULE / 8);
    cr_expect_eq(set("line", &w), -EINVAL, "its end is not there");
    cr_expect(reads_nothing("line"));
    w = of_memory(base + 8, 16);
    cr_expect_lt(set("line", &w), 0, "kernels would read from before it");
    cr_expect(reads_nothing("line"));
    w = of_memory(base, 10);
    w.flags = WIRE_TEXTURE_PITCHED;
    w.height = RIG_GRANULE / 128;
    w.pitch = 128;
    cr_assert_eq(set("plane", &w), 0);
    t = rig.fake->reference("plane");
    cr_expect(t.resource.resType == CU_RESOURCE_TYPE_PITCH2D);
    cr_expect(t.resource.res.pitch2D.width == 10 && t.resource.res.pitch2D.pitchInBytes == 128);
    cr_expect_eq(t.resource.res.pitch2D.height, RIG_GRANULE / 128);
    cr_expect(t.resource.res.pitch2D.devPtr == base && t.resource.res.pitch2D.numChannels == 4);
    w.height++;
    cr_expect_eq(set("plane", &w), -EINVAL);
    cuda_rig_unmap(&rig, &space, 2, 1, &chunk);
}

/* A reference has no resource views, so it cannot show a part of a resource. */
Test(cuda_reference, all_of_an_array_or_one_level) {
    const struct dev_array a = make_at(0, 0, 4, CUDA_ARRAY3D_SURFACE_LDST);
    const struct dev_array layers = make_at(1, 6, 0, CUDA_ARRAY3D_LAYERED);
    struct wire_texture w = of_array(&a);
    cr_assert_eq(set("plane", &w), 0);
    cr_expect_eq(rig.fake->reference("plane").resource.resType, CU_RESOURCE_TYPE_MIPMAPPED_ARRAY);
    w.first_level = 2;
    w.levels = 1;
    cr_assert_eq(set("plane", &w), 0);
    cr_expect_eq(rig.fake->reference("plane").level, 2);
    w.flags = WIRE_TEXTURE_SURFACE;
    cr_assert_eq(set("sheet", &w), 0);
    cr_expect_eq(rig.fake->reference("sheet").level, 2);
    w = of_array(&a);
    w.levels = 2;
    cr_expect_eq(set("plane", &w), -ENOTSUP, "two levels of four");
    w = of_array(&a);
    w.format = CU_AD_FORMAT_SIGNED_INT32;
    cr_expect_eq(set("plane", &w), -ENOTSUP, "as others");
    w = of_array(&layers);
    w.flags |= WIRE_TEXTURE_LAYERED;
    w.layers = 6;
    cr_expect_eq(set("plane", &w), 0);
    w.first_layer = 1;
    w.layers = 5;
    cr_expect_eq(set("plane", &w), -ENOTSUP, "some layers");
    w = of_array(&layers);
    cr_expect_eq(set("plane", &w), -EINVAL, "it is not like this");
    w.flags = WIRE_TEXTURE_SURFACE | WIRE_TEXTURE_LAYERED;
    w.layers = 6;
    cr_expect_lt(set("sheet", &w), 0, "kernels may not write it");
    cr_expect(reads_nothing("sheet"));
}

/* ---- destruction ----------------------------------------------------------------------------- */

Test(cuda_reference, nothing_reads_an_array_that_is_gone) {
    const struct dev_array a = make_at(0, 0, 3, CUDA_ARRAY3D_SURFACE_LDST);
    const struct dev_array b = make_at(1, 0, 0, CUDA_ARRAY3D_SURFACE_LDST);
    struct wire_texture w = of_array(&a);
    cr_assert_eq(set("line", &w), 0);
    w.levels = 1;
    w.flags = WIRE_TEXTURE_SURFACE;
    cr_assert_eq(set("sheet", &w), 0);
    w = of_array(&b);
    cr_assert_eq(set("plane", &w), 0);
    rig.ops->arrays->array_destroy(space.space, a.addr);
    cr_expect(reads_nothing("line") && reads_nothing("sheet"));
    cr_expect_eq(rig.fake->reference("plane").elements, 32 * 16);
    cr_expect_eq(unset("plane", false), 0);
    cr_expect(reads_nothing("plane"));
    rig.ops->arrays->array_destroy(space.space, b.addr);
    cr_expect_eq(rig.fake->left().arrays, 1, "for all that read nothing");
}

/* An array may be destroyed while the driver still has the module, which is unloaded on another
 * thread. */
Test(cuda_reference, a_module_leaves_its_arrays) {
    const struct dev_array a = make_at(0, 0, 0, CUDA_ARRAY3D_SURFACE_LDST);
    struct dev_module *other = load("fake\ntexref other\n");
    const struct wire_texture w = of_array(&a);
    cr_assert_eq(set_of(other, "other", &w), 0);
    cr_assert_eq(set("plane", &w), 0);
    rig.ops->module_remove(other);
    cr_expect(reads_nothing("other"));
    cr_expect_eq(rig.fake->reference("plane").elements, 32 * 16, "another's does not");
    rig.ops->arrays->array_destroy(space.space, a.addr);
    rig.ops->module_free(other);
}

/* The end of the space finds the remaining references. */
Test(cuda_reference, they_are_so_many) {
    char image[64 << 10] = "fake\n";
    size_t used = strlen(image);
    for (int k = 0; k < 1025; k++)
        used += (size_t)snprintf(image + used, sizeof(image) - used, "texref r%d\n", k);
    struct dev_module *many = load(image);
    const struct dev_array a = make_at(0, 0, 0, 0);
    const struct wire_texture w = of_array(&a);
    char name[16];
    for (int k = 0; k < 1024; k++) {
        snprintf(name, sizeof(name), "r%d", k);
        cr_assert_eq(set_of(many, name, &w), 0);
        cr_assert_eq(set_of(many, name, &w), 0, "again is no other one");
    }
    cr_expect_eq(set_of(many, "r1024", &w), ERR_NO_MEMORY);
    cr_expect_eq(rig.ops->arrays->module_reference(many, "r7", false, NULL), 0);
    cr_expect_eq(set_of(many, "r1024", &w), 0);
    devmodule_unload(rig.ops, many);
    cr_expect_eq(set("line", &w), 0, "there is room again");
}
