/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays, textures and surfaces of a device that has its own: the records for the worker, how
 * copies address rows, and the handles for the program.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "common/err.h"
#include "proto/cuda/array_layout.h"
#include "shim/connection/state.h"
#include "test/lib/shim/rig.h"

static CUdeviceptr device;

static void begin(void) {
    rig_begin();
    state.conn.device.flags |= WIRE_DEVICE_ARRAYS;
    state.conn.minor = 8;
    cr_assert_eq(cuMemAlloc_v2(&device, 1 << 20), CUDA_SUCCESS);
    rig_forget();
}

TestSuite(shim_opaque, .init = begin, .timeout = 60);

static CUDA_ARRAY3D_DESCRIPTOR shape(size_t w, size_t h, size_t d, unsigned int flags) {
    return (CUDA_ARRAY3D_DESCRIPTOR){w, h, d, CU_AD_FORMAT_FLOAT, 1, flags};
}

static CUarray make(size_t w, size_t h, size_t d) {
    CUarray a = NULL;
    const CUDA_ARRAY3D_DESCRIPTOR s = shape(w, h, d, 0);
    cr_assert_eq(cuArray3DCreate_v2(&a, &s), CUDA_SUCCESS);
    return a;
}

static size_t free_bytes(void) {
    size_t left, all;
    cr_assert_eq(cuMemGetInfo_v2(&left, &all), CUDA_SUCCESS);
    return left;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

Test(shim_opaque, the_worker_is_told_of_an_array_and_asked_for_no_memory) {
    const CUDA_ARRAY3D_DESCRIPTOR s = {
        30, 0, 7, CU_AD_FORMAT_UNORM_INT8X4, 4, CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST};
    const size_t before = free_bytes();
    CUarray a;
    cr_assert_eq(cuArray3DCreate_v2(&a, &s), CUDA_SUCCESS);
    const struct wire_array *made = rig_only(WIRE_ARRAY_MAKE);
    cr_expect(made->rec.ticket && made->addr % ARRAY_LAYOUT_ALIGN == 0);
    cr_expect(made->width == 30 && made->height == 0 && made->depth == 7 && made->levels == 0);
    cr_expect(made->format == CU_AD_FORMAT_UNORM_INT8X4 && made->channels == 4);
    cr_expect_eq(made->flags, s.Flags);
    cr_expect_eq(before - free_bytes(), ARRAY_LAYOUT_PIECE);
    const uint64_t addr = made->addr;
    rig_forget();
    cr_assert_eq(cuArrayDestroy(a), CUDA_SUCCESS);
    const struct wire_array_drop *gone = rig_record(rig_count() - 1, NULL);
    cr_expect(gone->rec.op == WIRE_ARRAY_DROP && gone->addr == addr);
    cr_expect_eq(free_bytes(), before);
}

Test(shim_opaque, a_mipmapped_one_is_one_array) {
    const CUDA_ARRAY3D_DESCRIPTOR s = shape(40, 16, 0, 0);
    CUmipmappedArray mips;
    CUarray level;
    cr_assert_eq(cuMipmappedArrayCreate(&mips, &s, 1), CUDA_SUCCESS);
    cr_expect_eq(((const struct wire_array *)rig_only(WIRE_ARRAY_MAKE))->levels, 1);
    cr_assert_eq(cuMipmappedArrayCreate(&mips, &s, 100), CUDA_SUCCESS);
    const struct wire_array *made = rig_record(rig_count() - 1, NULL);
    cr_expect(made->rec.op == WIRE_ARRAY_MAKE && made->levels == 6);
    const uint64_t addr = made->addr;
    cr_assert_eq(cuMipmappedArrayGetLevel(&level, mips, 2), CUDA_SUCCESS);
    cr_assert_eq(cuMemcpyDtoA_v2(level, 4, device, 8), CUDA_SUCCESS);
    const struct wire_copy *c = rig_record(rig_count() - 1, NULL);
    const struct array_shape layout = {40, 16, 1, 4, false};
    struct array_level l;
    array_layout_level(&layout, 2, &l);
    cr_expect_eq(c->dst, addr + l.offset + 4);
    cr_assert_eq(cuMipmappedArrayDestroy(mips), CUDA_SUCCESS);
    const struct wire_array_drop *gone = rig_record(rig_count() - 1, NULL);
    cr_expect(gone->rec.op == WIRE_ARRAY_DROP && gone->addr == addr, "once");
}

Test(shim_opaque, what_the_worker_refuses_leaves_nothing) {
    const CUDA_ARRAY3D_DESCRIPTOR s = shape(64, 64, 0, 0);
    const size_t before = free_bytes();
    CUarray a, b;
    rig_refuse(WIRE_ARRAY_MAKE, ERR_NO_MEMORY, NULL);
    cr_expect_eq(cuArray3DCreate_v2(&a, &s), CUDA_ERROR_OUT_OF_MEMORY);
    const uint64_t addr = ((const struct wire_array *)rig_record(rig_count() - 1, NULL))->addr;
    cr_expect_eq(cuMemcpyDtoD_v2(addr, device, 64), CUDA_ERROR_INVALID_VALUE, "nothing is there");
    rig_refuse(0, 0, NULL);
    cr_expect_eq(free_bytes(), before);
    a = make(64, 64, 0);
    b = make(64, 64, 0);
    cr_expect_neq(a, b);
    const struct wire_array *latest = rig_record(rig_count() - 1, NULL);
    const struct wire_array *other = rig_record(rig_count() - 2, NULL);
    cr_expect_eq(other->addr, addr, "the place is free again");
    cr_expect(latest->addr + 64 * 64 * 4 <= other->addr ||
              other->addr + 64 * 64 * 4 <= latest->addr);
}

Test(shim_opaque, what_a_context_made_ends_with_it) {
    CUcontext own;
    cr_assert_eq(cuCtxCreate_v2(&own, 0, 0), CUDA_SUCCESS);
    const size_t before = free_bytes();
    make(8, 8, 0);
    make(8, 8, 4);
    rig_forget();
    cr_assert_eq(cuCtxDestroy_v2(own), CUDA_SUCCESS);
    uint32_t dropped = 0, count = rig_count();
    for (uint32_t k = 0; k < count; k++)
        dropped += ((const struct wire_record *)rig_record(k, NULL))->op == WIRE_ARRAY_DROP;
    cr_expect_eq(dropped, 2);
    cr_expect_eq(free_bytes(), before);
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* Rows of 128 bytes are adjacent on both sides. */
Test(shim_opaque, rows_without_gaps_are_rows) {
    static float host[3][16][32], back[3][16][32];
    CUarray a = make(32, 16, 3);
    const CUDA_MEMCPY3D box = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                               .srcDevice = device,
                               .srcPitch = 128,
                               .srcHeight = 16,
                               .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                               .dstArray = a,
                               .WidthInBytes = 128,
                               .Height = 16,
                               .Depth = 3};
    const uint64_t addr = ((const struct wire_array *)rig_only(WIRE_ARRAY_MAKE))->addr;
    rig_forget();
    cr_assert_eq(cuMemcpy3D_v2(&box), CUDA_SUCCESS);
    const struct wire_copy *c = rig_only(WIRE_COPY);
    cr_expect(c->dst == addr && c->width_bytes == 128 && c->height == 16 && c->depth == 3);
    cr_expect(c->dst_pitch == 128 && c->dst_slice == 2048);
    for (int n = 0; n < 3 * 16 * 32; n++)
        ((float *)host)[n] = (float)n;
    rig_forget();
    CUDA_MEMCPY3D up = box, down = box;
    up.srcMemoryType = CU_MEMORYTYPE_HOST;
    up.srcHost = host;
    cr_assert_eq(cuMemcpy3D_v2(&up), CUDA_SUCCESS);
    uint32_t count = rig_count(), copies = 0;
    for (uint32_t k = 0; k < count; k++) {
        c = rig_record(k, NULL);
        if (c->rec.op != WIRE_COPY) continue;
        cr_expect(c->width_bytes == 128 && c->height == 16 && c->depth == 1);
        cr_expect(c->dst_pitch == 128 && (c->dst - addr) % 2048 == 0, "a slice each");
        copies++;
    }
    cr_expect_eq(copies, 3);
    down.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    down.srcArray = a;
    down.dstMemoryType = CU_MEMORYTYPE_HOST;
    down.dstHost = back;
    down.dstPitch = 128;
    down.dstHeight = 16;
    cr_assert_eq(cuMemcpy3D_v2(&down), CUDA_SUCCESS);
    cr_expect_eq(memcmp(host, back, sizeof(host)), 0);
}

Test(shim_opaque, memory_is_copied_as_ever) {
    make(32, 16, 3);
    rig_forget();
    const CUDA_MEMCPY2D flat = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                .srcDevice = device,
                                .srcPitch = 128,
                                .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                .dstDevice = device + 65536,
                                .dstPitch = 128,
                                .WidthInBytes = 128,
                                .Height = 16};
    cr_assert_eq(cuMemcpy2D_v2(&flat), CUDA_SUCCESS);
    const struct wire_copy *c = rig_only(WIRE_COPY);
    cr_expect(c->width_bytes == 2048 && c->height == 1, "rows without gaps are one");
}

/* ---- textures -------------------------------------------------------------------------------- */

static CUDA_RESOURCE_DESC of_array(CUarray a) {
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_ARRAY};
    r.res.array.hArray = a;
    return r;
}

Test(shim_opaque, the_program_has_the_devices_handles) {
    const CUDA_RESOURCE_DESC r = of_array(make(8, 8, 0));
    const CUDA_TEXTURE_DESC plain = {.maxAnisotropy = 100};
    CUDA_RESOURCE_DESC got;
    CUtexObject t;
    CUsurfObject s;
    rig_forget();
    cr_assert_eq(cuTexObjectCreate(&t, &r, &plain, NULL), CUDA_SUCCESS);
    const struct wire_texture *w = rig_only(WIRE_TEXTURE);
    const uint64_t number = w->handle;
    cr_expect(w->rec.ticket && w->anisotropy == 16);
    cr_expect_eq(t, RIG_SEEN((uint16_t)number));
    cr_assert_eq(cuSurfObjectCreate(&s, &r), CUDA_SUCCESS);
    cr_expect_eq(s, t, "which may be equal");
    cr_expect_eq(cuSurfObjectGetResourceDesc(&got, s), CUDA_SUCCESS);
    cr_expect_eq(got.res.array.hArray, r.res.array.hArray);
    cr_expect_eq(cuTexObjectGetResourceDesc(&got, number), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuTexObjectDestroy(t), CUDA_SUCCESS);
    cr_expect_eq(cuTexObjectDestroy(t), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuSurfObjectGetResourceDesc(&got, s), CUDA_SUCCESS, "the other one");
    cr_expect_eq(cuSurfObjectDestroy(s), CUDA_SUCCESS);
}

/* Destroyed objects are dropped before their numbers run out, because they belong to the device. */
Test(shim_opaque, destroyed_objects_do_not_stay) {
    const CUDA_RESOURCE_DESC r = of_array(make(8, 8, 0));
    const CUDA_TEXTURE_DESC plain = {.flags = 0};
    uint32_t made = 0, dropped = 0;
    CUtexObject t;
    for (int round = 0; round < 20; round++) {
        rig_forget();
        for (int k = 0; k < 100; k++) {
            cr_assert_eq(cuTexObjectCreate(&t, &r, &plain, NULL), CUDA_SUCCESS);
            cr_assert_eq(cuTexObjectDestroy(t), CUDA_SUCCESS);
        }
        for (uint32_t k = rig_count(); k-- > 0;) {
            const struct wire_record *rec = rig_record(k, NULL);
            made += rec->op == WIRE_TEXTURE;
            dropped += rec->op == WIRE_TEXTURE_DROP;
        }
        cr_assert_leq(made - dropped, 300);
    }
    cr_assert_eq(made, 2000);
}

Test(shim_opaque, an_object_that_the_device_refuses_is_none) {
    const CUDA_RESOURCE_DESC r = of_array(make(8, 8, 0));
    const CUDA_TEXTURE_DESC plain = {.flags = 0};
    CUtexObject t;
    rig_refuse(WIRE_TEXTURE, -EINVAL, NULL);
    cr_expect_eq(cuTexObjectCreate(&t, &r, &plain, NULL), CUDA_ERROR_INVALID_VALUE);
    rig_refuse(0, 0, NULL);
    cr_expect_eq(cuTexObjectCreate(&t, &r, &plain, NULL), CUDA_SUCCESS);
    cr_expect_eq(cuTexObjectDestroy(t), CUDA_SUCCESS);
}

/* ---- references ------------------------------------------------------------------------------ */

static CUmodule module;

static CUtexref reference(const char *name) {
    CUtexref t = NULL;
    if (!module) cr_assert_eq(cuModuleLoadData(&module, rig_ptx), CUDA_SUCCESS);
    cr_assert_eq(cuModuleGetTexRef(&t, module, name), CUDA_SUCCESS);
    return t;
}

/* Returns the latest record, which must be of this reference. */
static const struct wire_texture_ref *told(const char *name) {
    const struct wire_texture_ref *w = rig_record(rig_count() - 1, NULL);
    cr_assert_eq(w->texture.rec.op, WIRE_TEXTURE_REF);
    cr_assert(w->texture.rec.ticket && !w->texture.handle);
    cr_assert_str_eq((const char *)(w + 1), name);
    cr_assert_eq(w->name_bytes, strlen(name) + 1);
    return w;
}

Test(shim_opaque, a_reference_is_asked_for_by_its_name) {
    CUsurfref s, again;
    CUtexref t = reference("plane");
    cr_expect(!told("plane")->bound && !told("plane")->texture.flags);
    cr_assert_eq(cuModuleGetSurfRef(&s, module, "sheet"), CUDA_SUCCESS);
    cr_expect(!told("sheet")->bound && told("sheet")->texture.flags == WIRE_TEXTURE_SURFACE);
    rig_forget();
    cr_expect_eq(reference("plane"), t);
    cr_assert_eq(cuModuleGetSurfRef(&again, module, "sheet"), CUDA_SUCCESS);
    cr_expect_eq(again, s);
    cr_expect_eq(rig_count(), 0, "once");
    rig_refuse(WIRE_TEXTURE_REF, ERR_NOT_FOUND, NULL);
    cr_expect_eq(cuModuleGetTexRef(&t, module, "none"), CUDA_ERROR_NOT_FOUND);
    cr_expect_eq(cuModuleGetTexRef(&t, module, ""), CUDA_ERROR_NOT_FOUND);
}

Test(shim_opaque, a_reference_is_told_whatever_is_said_of_it) {
    CUtexref t = reference("plane");
    CUarray a = make(8, 4, 0);
    float border[] = {1, 2, 3, 4};
    rig_forget();
    cr_assert_eq(cuTexRefSetFilterMode(t, CU_TR_FILTER_MODE_LINEAR), CUDA_SUCCESS);
    cr_expect_eq(rig_count(), 0, "it reads nothing yet");
    cr_assert_eq(cuTexRefSetArray(t, a, CU_TRSA_OVERRIDE_FORMAT), CUDA_SUCCESS);
    const struct wire_texture_ref *w = told("plane");
    cr_expect(w->bound && w->texture.width == 8 && w->texture.height == 4 && w->texture.filter);
    cr_assert_eq(cuTexRefSetBorderColor(t, border), CUDA_SUCCESS);
    cr_expect_eq(told("plane")->texture.border[2], 3);
    cr_assert_eq(cuTexRefSetFlags(t, CU_TRSF_NORMALIZED_COORDINATES), CUDA_SUCCESS);
    cr_expect(told("plane")->texture.flags & WIRE_TEXTURE_NORMALIZED_COORDS);
    cr_expect_eq(rig_count(), 3);
    cr_assert_eq(cuTexRefSetArray(t, NULL, CU_TRSA_OVERRIDE_FORMAT), CUDA_SUCCESS);
    cr_expect(!told("plane")->bound && !told("plane")->texture.width);
    cr_assert_eq(cuTexRefSetFlags(t, 0), CUDA_SUCCESS);
    cr_expect_eq(rig_count(), 4, "it reads nothing any more");
}

/* Descriptions that make no texture: a destroyed array, and levels without normalised coordinates.
 */
Test(shim_opaque, what_cannot_be_read_is_nothing) {
    CUtexref t = reference("plane");
    CUarray a = make(8, 4, 0);
    const CUDA_ARRAY3D_DESCRIPTOR s = shape(40, 16, 0, 0);
    CUmipmappedArray mips;
    cr_assert_eq(cuMipmappedArrayCreate(&mips, &s, 3), CUDA_SUCCESS);
    cr_assert_eq(cuTexRefSetArray(t, a, CU_TRSA_OVERRIDE_FORMAT), CUDA_SUCCESS);
    cr_assert_eq(cuArrayDestroy(a), CUDA_SUCCESS);
    cr_assert_eq(cuTexRefSetFilterMode(t, CU_TR_FILTER_MODE_LINEAR), CUDA_SUCCESS);
    cr_expect(!told("plane")->bound);
    rig_forget();
    cr_assert_eq(cuTexRefSetMipmappedArray(t, mips, CU_TRSA_OVERRIDE_FORMAT), CUDA_SUCCESS);
    cr_expect_eq(rig_count(), 0);
    cr_assert_eq(cuTexRefSetFlags(t, CU_TRSF_NORMALIZED_COORDINATES), CUDA_SUCCESS);
    cr_expect(told("plane")->bound && told("plane")->texture.levels == 3);
    rig_refuse(WIRE_TEXTURE_REF, -EINVAL, NULL);
    cr_expect_eq(cuTexRefSetFilterMode(t, CU_TR_FILTER_MODE_POINT), CUDA_ERROR_INVALID_VALUE);
}

Test(shim_opaque, a_daemon_that_is_older_knows_no_references) {
    CUtexref t;
    CUsurfref s;
    cr_assert_eq(cuModuleLoadData(&module, rig_ptx), CUDA_SUCCESS);
    state.conn.minor = 7;
    rig_forget();
    cr_expect_eq(cuModuleGetTexRef(&t, module, "reference"), CUDA_ERROR_NOT_SUPPORTED);
    cr_expect_eq(cuModuleGetSurfRef(&s, module, "reference"), CUDA_ERROR_NOT_SUPPORTED);
    cr_expect_eq(rig_count(), 0);
}
