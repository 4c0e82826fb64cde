/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays, textures and surfaces on the real driver's device, as the worker describes them. Copies
 * reach the rows that their addresses name, or fail; the driver gets the textures' settings; all
 * memory is accounted for and freed. Calls that a driver would reject are misuses, which the fake
 * driver reports at the end.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/device_arrays.h"
#include "daemon/device/device_driver.h"
#include "daemon/device/device_textures.h"
#include "daemon/worker/front/texture_record.h"
#include "proto/wire/record.h"
#include "test/lib/cuda/cuda_rig.h"

#define PLACE (8 * RIG_GRANULE) /* distance between arrays in the window */

static struct cuda_rig rig;
static struct rig_space space;
static struct dev_queue *queue;
static uint32_t sent;

static void open_all(void) {
    cuda_rig_load(&rig, false);
    rig.fake->start(&(struct fake_options){.greatest = -2});
    cr_assert_eq(cuda_rig_open(&rig), 0);
    cr_assert_eq(cuda_rig_space(&rig, &space, 0), 0);
    cr_assert_eq(rig.ops->driver->host_show(space.space, space.windows.host_base, RIG_HOST), 0);
    cr_assert_eq(rig.ops->queue_create(space.space, 0, &queue), 0);
}

static void close_all(void) {
    rig.ops->queue_destroy(queue);
    cuda_rig_space_end(&rig, &space);
    cuda_rig_close(&rig);
    cr_assert_str_eq(cuda_rig_complaint(&rig), "");
}

TestSuite(cuda_texture, .init = open_all);

/* ---- arrays ---------------------------------------------------------------------------------- */

/* Describes an array of single floats. */
static struct wire_array shape(uint32_t width, uint32_t height, uint32_t depth, uint32_t levels,
                               uint32_t flags) {
    return (struct wire_array){.rec = {.op = WIRE_ARRAY_MAKE, .ticket = 1},
                               .addr = space.windows.dev_base + PLACE,
                               .width = width,
                               .height = height,
                               .depth = depth,
                               .levels = levels,
                               .format = CU_AD_FORMAT_FLOAT,
                               .channels = 1,
                               .flags = flags};
}

static struct dev_array make(const struct wire_array *w) {
    char why[128];
    cr_assert_eq(record_check(w, sizeof(*w), why, sizeof(why)), 0, "%s", why);
    const struct dev_array a = texture_record_describe_array(w);
    cr_assert_eq(rig.ops->arrays->array_create(space.space, &a), 0);
    return a;
}

static struct dev_array make_at(uint32_t place, uint32_t width, uint32_t height, uint32_t depth,
                                uint32_t levels, uint32_t flags) {
    struct wire_array w = shape(width, height, depth, levels, flags);
    w.addr += place * PLACE;
    return make(&w);
}

/* ---- copies ---------------------------------------------------------------------------------- */

struct box {
    uint32_t x, y, z, width, height, depth; /* in elements */
};

static int copy(const struct dev_copy *k) {
    static struct rig_op op;
    op = (struct rig_op){0};
    cr_assert_eq(rig.ops->copy(queue, k, &op.dev), 0);
    cr_assert(cuda_rig_wait(&rig, ++sent));
    return op.dev.result;
}

static uint64_t place_of(const struct dev_texture_level *l, const struct box *b) {
    return l->addr + b->z * l->slice + b->y * l->pitch + b->x * sizeof(uint32_t);
}

/* Rows and slices of host memory without gaps. */
static int put(const struct dev_texture_level *l, const struct box *b, uint64_t host) {
    return copy(&(struct dev_copy){.dst = place_of(l, b),
                                   .src = host,
                                   .width_bytes = b->width * 4ull,
                                   .height = b->height,
                                   .depth = b->depth,
                                   .dst_pitch = l->pitch,
                                   .dst_slice = l->slice,
                                   .src_pitch = b->width * 4ull,
                                   .src_slice = b->width * 4ull * b->height});
}

static int get(const struct dev_texture_level *l, const struct box *b, uint64_t host) {
    return copy(&(struct dev_copy){.dst = host,
                                   .src = place_of(l, b),
                                   .width_bytes = b->width * 4ull,
                                   .height = b->height,
                                   .depth = b->depth,
                                   .src_pitch = l->pitch,
                                   .src_slice = l->slice,
                                   .dst_pitch = b->width * 4ull,
                                   .dst_slice = b->width * 4ull * b->height});
}

static struct box all_of(const struct dev_texture_level *l) {
    return (struct box){0, 0, 0, l->width, l->height, l->depth};
}

static uint32_t mark(uint32_t seed, uint32_t n) {
    return seed * 1000003u + n;
}

/* Writes a whole level, then the box `inner` with another seed; reads back the whole level. */
static void check_level(const struct dev_texture_level *l, const struct box *inner, uint32_t seed) {
    uint32_t *from = space.host, *to = space.host + (1 << 20);
    const struct box all = all_of(l);
    const uint32_t count = l->width * l->height * l->depth;
    for (uint32_t n = 0; n < count; n++)
        from[n] = mark(seed, n);
    cr_assert_eq(put(l, &all, (uintptr_t)from), 0);
    for (uint32_t n = 0; n < inner->width * inner->height * inner->depth; n++)
        from[n] = mark(seed + 1, n);
    cr_assert_eq(put(l, inner, (uintptr_t)from), 0);
    memset(to, 0, count * 4ull);
    cr_assert_eq(get(l, &all, (uintptr_t)to), 0);
    for (uint32_t n = 0; n < count; n++) {
        uint32_t x = n % l->width - inner->x, y = n / l->width % l->height - inner->y;
        uint32_t z = n / l->width / l->height - inner->z;
        bool in = x < inner->width && y < inner->height && z < inner->depth;
        uint32_t want =
            in ? mark(seed + 1, (z * inner->height + y) * inner->width + x) : mark(seed, n);
        cr_assert_eq(to[n], want, "element %u", n);
    }
}

Test(cuda_texture, copies_come_to_the_rows_that_their_addresses_say) {
    const struct dev_array volume = make_at(0, 19, 7, 5, 0, 0);
    const struct dev_array line = make_at(1, 100, 0, 0, 0, 0);
    const struct dev_array layers = make_at(2, 12, 0, 9, 0, CUDA_ARRAY3D_LAYERED);
    const struct dev_array cube = make_at(3, 6, 6, 6, 0, CUDA_ARRAY3D_CUBEMAP);
    check_level(&volume.levels[0], &(struct box){3, 2, 1, 11, 4, 3}, 1);
    check_level(&volume.levels[0], &(struct box){18, 6, 4, 1, 1, 1}, 2);
    check_level(&volume.levels[0], &(struct box){4, 3, 0, 2, 1, 5}, 3);
    check_level(&line.levels[0], &(struct box){50, 0, 0, 50, 1, 1}, 4);
    check_level(&layers.levels[0], &(struct box){1, 0, 7, 11, 1, 2}, 5);
    check_level(&cube.levels[0], &(struct box){0, 1, 5, 6, 5, 1}, 6);
    close_all();
}

Test(cuda_texture, levels_lie_one_behind_the_other) {
    const struct dev_array a = make_at(0, 40, 24, 8, 4, 0);
    for (uint32_t k = 0; k < 4; k++)
        check_level(&a.levels[k], &(struct box){1, 1, 0, 2, 1, 1}, 10 * k);
    uint32_t *first = space.host + (1 << 20);
    const struct box all = all_of(&a.levels[0]);
    cr_assert_eq(get(&a.levels[0], &all, (uintptr_t)first), 0);
    cr_expect_eq(first[0], mark(0, 0), "the others are apart from it");
    close_all();
}

Test(cuda_texture, from_array_to_array) {
    const struct dev_array a = make_at(0, 16, 8, 0, 3, 0), b = make_at(1, 10, 10, 2, 0, 0);
    const struct dev_texture_level *from = &a.levels[1], *to = &b.levels[0];
    check_level(from, &(struct box){0, 0, 0, 1, 1, 1}, 3);
    check_level(to, &(struct box){0, 0, 0, 1, 1, 1}, 4);
    const struct box target = {5, 4, 1, 3, 2, 1}, source = {2, 1, 0, 3, 2, 1};
    cr_assert_eq(copy(&(struct dev_copy){.dst = place_of(to, &target),
                                         .src = place_of(from, &source),
                                         .width_bytes = 12,
                                         .height = 2,
                                         .depth = 1,
                                         .dst_pitch = to->pitch,
                                         .src_pitch = from->pitch}),
                 0);
    uint32_t *got = space.host + 4096;
    cr_assert_eq(get(to, &target, (uintptr_t)got), 0);
    for (uint32_t n = 0; n < 6; n++)
        cr_expect_eq(got[n], mark(3, (1 + n / 3) * 8 + 2 + n % 3));
    close_all();
}

/* A client's slice size need not be a multiple of its row size. */
Test(cuda_texture, slices_of_no_whole_rows) {
    const struct dev_array a = make_at(0, 4, 3, 3, 0, 0);
    const struct dev_texture_level *l = &a.levels[0];
    for (uint32_t n = 0; n < 1000; n++)
        space.host[n] = n;
    cr_assert_eq(copy(&(struct dev_copy){.dst = l->addr,
                                         .src = (uintptr_t)space.host,
                                         .width_bytes = 16,
                                         .height = 3,
                                         .depth = 3,
                                         .dst_pitch = l->pitch,
                                         .dst_slice = l->slice,
                                         .src_pitch = 20,
                                         .src_slice = 72}),
                 0);
    const struct box all = all_of(l);
    cr_assert_eq(get(l, &all, (uintptr_t)(space.host + 4096)), 0);
    for (uint32_t n = 0; n < 36; n++)
        cr_expect_eq(space.host[4096 + n], n / 12 * 18 + n / 4 % 3 * 5 + n % 4);
    close_all();
}

/* Expects that this first copy of its kind fails and the array is unchanged. */
static void refused(const struct dev_array *a, struct dev_copy k) {
    const struct dev_texture_level *l = &a->levels[0];
    const uint64_t host = space.windows.host_base;
    k.dst += l->addr;
    k.src = host;
    k.src_pitch = k.dst_pitch;
    k.src_slice = k.dst_slice;
    cr_expect_eq(copy(&k), ERR_ILLEGAL_ADDRESS, "into it");
    uint64_t swap = k.dst;
    k.dst = k.src;
    k.src = swap;
    cr_expect_eq(copy(&k), ERR_ILLEGAL_ADDRESS, "out of it");
}

Test(cuda_texture, what_lies_in_no_level_fails) {
    const struct dev_array a = make_at(0, 10, 6, 4, 2, 0); /* rows of 40 bytes, 64 apart */
    const uint64_t pitch = a.levels[0].pitch, slice = a.levels[0].slice;
    cr_assert(pitch == 64 && slice == 384);
    refused(&a, (struct dev_copy){.width_bytes = 44, .height = 1, .depth = 1});
    refused(&a, (struct dev_copy){.dst = 36, .width_bytes = 8, .height = 1, .depth = 1});
    refused(&a, (struct dev_copy){.dst = 44, .width_bytes = 4, .height = 1, .depth = 1});
    refused(&a, (struct dev_copy){.width_bytes = 4, .height = 2, .depth = 1, .dst_pitch = 128});
    refused(&a, (struct dev_copy){.width_bytes = 4, .height = 7, .depth = 1, .dst_pitch = pitch});
    refused(&a,
            (struct dev_copy){
                .dst = 5 * pitch, .width_bytes = 4, .height = 2, .depth = 1, .dst_pitch = pitch});
    refused(&a,
            (struct dev_copy){
                .width_bytes = 4, .height = 1, .depth = 5, .dst_slice = slice, .dst_pitch = pitch});
    refused(&a, (struct dev_copy){.width_bytes = 4,
                                  .height = 1,
                                  .depth = 2,
                                  .dst_slice = slice + pitch,
                                  .dst_pitch = pitch});
    refused(&a, (struct dev_copy){.dst = a.bytes, .width_bytes = 4, .height = 1, .depth = 1});
    const struct box all = all_of(&a.levels[0]);
    cr_expect_eq(put(&a.levels[0], &all, space.windows.host_base), 0, "the queue goes on");
    close_all();
}

/* ---- accounting ------------------------------------------------------------------------------ */

Test(cuda_texture, arrays_are_charged_and_given_back) {
    const uint64_t before = rig.ops->mem_used(rig.dev);
    const struct dev_array a = make_at(0, 1024, 64, 0, 0, 0), b = make_at(1, 1, 0, 0, 0, 0);
    cr_expect_eq(a.charge_bytes, 1024 * 64 * 4);
    cr_expect_eq(b.charge_bytes, ARRAY_LAYOUT_PIECE, "no less than drivers give out");
    cr_expect_eq(rig.ops->mem_used(rig.dev), before + a.charge_bytes + b.charge_bytes);
    rig.ops->arrays->array_destroy(space.space, a.addr + 512);
    cr_expect_eq(rig.fake->left().arrays, 2, "only where it begins");
    rig.ops->arrays->array_destroy(space.space, a.addr);
    cr_expect_eq(rig.ops->mem_used(rig.dev), before + b.charge_bytes);
    cr_expect_eq(rig.fake->left().arrays, 1);
    rig.ops->arrays->array_destroy(space.space, a.addr);
    rig.ops->arrays->array_end(space.space);
    cr_expect_eq(rig.ops->mem_used(rig.dev), before);
    cr_expect_eq(rig.fake->left().arrays, 0);
    make_at(0, 1024, 64, 0, 0, 0); /* destroyed with the space */
    close_all();
}

Test(cuda_texture, no_two_arrays_at_one_place) {
    make_at(1, 1024, 64, 0, 0, 0);
    for (int k = -1; k <= 1; k++) {
        struct wire_array w = shape(1024, 64, 0, 0, 0);
        w.addr += PLACE + k * 512;
        const struct dev_array a = texture_record_describe_array(&w);
        cr_expect_eq(rig.ops->arrays->array_create(space.space, &a), -EEXIST);
    }
    make_at(2, 4, 4, 0, 0, 0);
    make_at(0, 4, 4, 0, 0, 0);
    cr_expect_eq(rig.fake->left().arrays, 3);
    close_all();
}

/* ---- textures -------------------------------------------------------------------------------- */

static struct wire_texture view(const struct dev_array *a, uint64_t handle) {
    return (struct wire_texture){.rec = {.op = WIRE_TEXTURE},
                                 .handle = handle,
                                 .addr = a->addr,
                                 .width = a->levels[0].width,
                                 .height = a->levels[0].height,
                                 .depth = a->levels[0].depth,
                                 .levels = (uint8_t)a->level_count,
                                 .format = CU_AD_FORMAT_FLOAT,
                                 .channels = 1,
                                 .flags = WIRE_TEXTURE_NORMALIZED_COORDS};
}

static int add(const struct wire_texture *w, uint64_t *seen) {
    char why[128];
    cr_assert_eq(record_check(w, sizeof(*w), why, sizeof(why)), 0, "%s", why);
    const struct dev_texture t = texture_record_describe(w);
    return rig.ops->textures->texture_add(space.space, &t, seen);
}

static struct fake_texture shown(const struct wire_texture *w) {
    uint64_t seen = 0;
    cr_assert_eq(add(w, &seen), 0);
    cr_expect_neq(seen, 0);
    cr_expect_neq(seen, w->handle, "it is the driver's");
    rig.ops->textures->texture_remove(space.space, w->handle);
    cr_expect_eq(rig.fake->left().textures, 0);
    return rig.fake->last_texture();
}

Test(cuda_texture, how_an_array_is_read) {
    const struct dev_array a = make_at(0, 32, 16, 0, 0, 0);
    struct wire_texture w = view(&a, 7);
    w.flags = WIRE_TEXTURE_SRGB | WIRE_TEXTURE_SEAMLESS;
    w.filter = CU_TR_FILTER_MODE_LINEAR;
    w.address_mode[1] = CU_TR_ADDRESS_MODE_BORDER;
    w.border[2] = 0.5f;
    w.level_bias = 1.5f;
    w.least_level = 0.25f;
    w.most_level = 3;
    w.anisotropy = 8;
    struct fake_texture t = shown(&w);
    cr_expect(!t.viewed && !t.surface && t.resource.resType == CU_RESOURCE_TYPE_ARRAY);
    cr_expect_eq(t.reading.flags,
                 CU_TRSF_READ_AS_INTEGER | CU_TRSF_SRGB | (unsigned int)CU_TRSF_SEAMLESS_CUBEMAP);
    cr_expect(t.reading.filterMode == CU_TR_FILTER_MODE_LINEAR && !t.reading.mipmapFilterMode);
    cr_expect(!t.reading.addressMode[0] && t.reading.addressMode[1] == CU_TR_ADDRESS_MODE_BORDER);
    cr_expect(t.reading.borderColor[2] == 0.5f && t.reading.mipmapLevelBias == 1.5f);
    cr_expect(t.reading.minMipmapLevelClamp == 0.25f && t.reading.maxMipmapLevelClamp == 3);
    cr_expect_eq(t.reading.maxAnisotropy, 8);
    w.flags = WIRE_TEXTURE_NORMALIZED_COORDS | WIRE_TEXTURE_NORMALIZED_VALUES;
    cr_expect_eq(shown(&w).reading.flags, CU_TRSF_NORMALIZED_COORDINATES);
    close_all();
}

Test(cuda_texture, levels_and_layers_that_are_seen) {
    const struct dev_array a = make_at(0, 32, 16, 6, 4, CUDA_ARRAY3D_LAYERED);
    struct wire_texture w = view(&a, 7);
    w.flags |= WIRE_TEXTURE_LAYERED;
    w.layers = 6;
    struct fake_texture t = shown(&w);
    cr_expect(!t.viewed && t.resource.resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY, "all of it");
    w.first_level = 1;
    w.levels = 2;
    t = shown(&w);
    cr_expect(t.viewed && t.view.firstMipmapLevel == 1 && t.view.lastMipmapLevel == 2);
    cr_expect(t.view.width == 32 && t.view.height == 16 && t.view.depth == 6 && !t.view.format);
    cr_expect(t.view.firstLayer == 0 && t.view.lastLayer == 5);
    w.first_layer = 2;
    w.layers = 3;
    w.first_level = 3;
    w.levels = 1;
    t = shown(&w);
    cr_expect(t.viewed && t.resource.resType == CU_RESOURCE_TYPE_ARRAY && t.level == 3);
    cr_expect(t.view.width == 4 && t.view.height == 2 && !t.view.lastMipmapLevel);
    cr_expect(t.view.firstLayer == 2 && t.view.lastLayer == 4);
    w.flags |= WIRE_TEXTURE_SURFACE;
    w.first_layer = 0;
    w.layers = 6;
    t = shown(&w);
    cr_expect(t.surface && t.resource.resType == CU_RESOURCE_TYPE_ARRAY && t.level == 3);
    close_all();
}

Test(cuda_texture, elements_are_read_as_others) {
    struct wire_array bytes = shape(8, 8, 0, 0, 0);
    bytes.format = CU_AD_FORMAT_UNORM_INT8X4;
    bytes.channels = 4;
    const struct dev_array floats = make_at(1, 8, 8, 0, 0, 0), numbers = make(&bytes);
    struct wire_texture w = view(&floats, 1);
    w.format = CU_AD_FORMAT_SIGNED_INT32;
    struct fake_texture t = shown(&w);
    cr_expect(t.viewed && t.view.format == CU_RES_VIEW_FORMAT_SINT_1X32);
    w = view(&numbers, 1);
    w.format = CU_AD_FORMAT_UNSIGNED_INT8;
    w.channels = 4;
    w.flags |= WIRE_TEXTURE_NORMALIZED_VALUES;
    cr_expect(!shown(&w).viewed, "which they always are");
    w.flags &= (uint16_t)~WIRE_TEXTURE_NORMALIZED_VALUES;
    cr_expect_eq(shown(&w).view.format, CU_RES_VIEW_FORMAT_UINT_4X8);
    close_all();
}

Test(cuda_texture, memory_is_shown_where_it_is) {
    struct dev_chunk *chunk;
    uint64_t seen, base = space.windows.dev_base;
    cr_assert_eq(cuda_rig_map(&rig, &space, 2, 1, &chunk), 0);
    struct wire_texture w = {.rec = {.op = WIRE_TEXTURE},
                             .handle = 3,
                             .addr = base + 2 * RIG_GRANULE,
                             .width = RIG_GRANULE / 8,
                             .height = 1,
                             .depth = 1,
                             .levels = 1,
                             .format = CU_AD_FORMAT_HALF,
                             .channels = 4,
                             .flags = WIRE_TEXTURE_LINEAR};
    struct fake_texture t = shown(&w);
    cr_expect(t.resource.resType == CU_RESOURCE_TYPE_LINEAR && !t.viewed);
    cr_expect(t.resource.res.linear.devPtr == w.addr && t.resource.res.linear.numChannels == 4);
    cr_expect_eq(t.resource.res.linear.sizeInBytes, RIG_GRANULE);
    cr_expect_eq(t.resource.res.linear.format, CU_AD_FORMAT_HALF);
    w.addr += 512;
    cr_expect_eq(add(&w, &seen), -EINVAL, "its end is not there");
    w.addr -= 512;
    w.flags = WIRE_TEXTURE_LINEAR | WIRE_TEXTURE_SURFACE;
    cr_expect_eq(add(&w, &seen), -EINVAL, "surfaces are of arrays");
    w.flags = WIRE_TEXTURE_PITCHED;
    w.width = 10;
    w.height = RIG_GRANULE / 128;
    w.pitch = 128;
    t = shown(&w);
    cr_expect(t.resource.resType == CU_RESOURCE_TYPE_PITCH2D && !t.viewed);
    cr_expect(t.resource.res.pitch2D.width == 10 && t.resource.res.pitch2D.pitchInBytes == 128);
    cr_expect_eq(t.resource.res.pitch2D.height, RIG_GRANULE / 128);
    w.height++;
    cr_expect_eq(add(&w, &seen), -EINVAL);
    cuda_rig_unmap(&rig, &space, 2, 1, &chunk);
    close_all();
}

Test(cuda_texture, what_no_array_is_like_is_none) {
    const struct dev_array a = make_at(0, 32, 16, 0, 3, 0), line = make_at(1, 32, 0, 0, 0, 0);
    struct wire_texture w;
    uint64_t seen;
#define UNLIKE(of, ...)                                            \
    do {                                                           \
        w = view(&(of), 5);                                        \
        __VA_ARGS__;                                               \
        cr_expect_eq(add(&w, &seen), -EINVAL, "%s", #__VA_ARGS__); \
        cr_expect_eq(rig.fake->left().textures, 0);                \
    } while (0)
    UNLIKE(a, w.addr += 512);
    UNLIKE(a, w.addr += 100 * PLACE);
    UNLIKE(a, w.levels = 4);
    UNLIKE(a, (w.first_level = 3, w.levels = 1));
    UNLIKE(a, w.width = 16);
    UNLIKE(a, w.height = 17);
    UNLIKE(a, w.depth = 2);
    UNLIKE(a, w.format = CU_AD_FORMAT_HALF);
    UNLIKE(a, (w.format = CU_AD_FORMAT_UNSIGNED_INT16, w.channels = 2));
    UNLIKE(a, (w.flags |= WIRE_TEXTURE_LAYERED, w.layers = 1));
    UNLIKE(line, (w.height = 2, w.levels = 1));
    w = view(&a, 5);
    cr_expect_eq(add(&w, &seen), 0);
    w = view(&line, 5);
    cr_expect_eq(add(&w, &seen), -EEXIST);
    w = view(&line, (1 << 20) + 5);
    cr_expect_eq(add(&w, &seen), -EEXIST, "by its low bits");
    rig.ops->textures->texture_remove(space.space, (1 << 20) + 5);
    cr_expect_eq(rig.fake->left().textures, 1, "another one");
    close_all();
}

Test(cuda_texture, an_array_takes_its_textures_along) {
    const struct dev_array a = make_at(0, 32, 16, 0, 3, 0), b = make_at(1, 8, 8, 0, 0, 0);
    struct wire_texture w;
    uint64_t seen;
    for (uint64_t k = 0; k < 10; k++) {
        w = view(k % 2 ? &a : &b, k);
        if (k == 4) w.flags = WIRE_TEXTURE_SURFACE;
        cr_assert_eq(add(&w, &seen), 0);
    }
    rig.ops->arrays->array_destroy(space.space, a.addr);
    cr_expect_eq(rig.fake->left().textures, 5);
    rig.ops->textures->texture_remove(space.space, 1);
    w = view(&b, 1);
    cr_expect_eq(add(&w, &seen), 0, "its number is free");
    rig.ops->textures->texture_remove(space.space, 4);
    cr_expect_eq(rig.fake->left().textures, 5);
    w = view(&a, 3);
    cr_expect_eq(add(&w, &seen), -EINVAL, "it is gone");
    close_all();
}
