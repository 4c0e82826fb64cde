/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays, textures and surfaces: valid and invalid ones, the destinations of copies, the records
 * that arrive, and the reuse of numbers.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/atomics.h"
#include "proto/cuda/array_layout.h"
#include "shim/connection/state.h"
#include "test/lib/shim/rig.h"

static CUdeviceptr device;

static void begin(void) {
    rig_begin();
    cr_assert_eq(cuMemAlloc_v2(&device, 1 << 20), CUDA_SUCCESS);
    rig_forget();
}

TestSuite(shim_texture, .init = begin, .timeout = 60);

/* ---- arrays ---------------------------------------------------------------------------------- */

static CUDA_ARRAY3D_DESCRIPTOR shape(size_t w, size_t h, size_t d, unsigned int flags) {
    return (CUDA_ARRAY3D_DESCRIPTOR){w, h, d, CU_AD_FORMAT_FLOAT, 1, flags};
}

static CUarray make(CUDA_ARRAY3D_DESCRIPTOR d) {
    CUarray a = NULL;
    cr_assert_eq(cuArray3DCreate_v2(&a, &d), CUDA_SUCCESS);
    return a;
}

static CUresult create(CUDA_ARRAY3D_DESCRIPTOR d) {
    CUarray a;
    return cuArray3DCreate_v2(&a, &d);
}

Test(shim_texture, arrays_are_of_shapes_that_there_are) {
    static const struct {
        size_t w, h, d;
        unsigned int flags;
        bool ok;
    } cases[] = {
        {100, 0, 0, 0, true},         {100, 50, 0, 0, true},   {100, 50, 20, 0, true},
        {100, 0, 7, 1, true},         {100, 50, 7, 1, true},   {64, 64, 6, 4, true},
        {64, 64, 12, 5, true},        {131072, 1, 0, 0, true}, {0, 50, 0, 0, false},
        {100, 0, 20, 0, false},       {100, 50, 0, 1, false},  {64, 32, 6, 4, false},
        {64, 64, 7, 4, false},        {64, 64, 0, 4, false},   {131073, 0, 0, 0, false},
        {131072, 65537, 0, 0, false}, {32769, 1, 1, 1, false}, {100, 1, 2049, 1, false},
        {16385, 1, 1, 0, false},      {64, 2, 32768, 0, true}, {100, 50, 0, 512, false},
        {64, 64, 12, 4, false},       {100, 50, 20, 8, false}, {100, 50, 0, 8, true},
    };
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++)
        cr_expect_eq(create(shape(cases[k].w, cases[k].h, cases[k].d, cases[k].flags)),
                     cases[k].ok ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE, "case %zu", k);
}

Test(shim_texture, what_arrays_lack_is_said) {
    CUDA_ARRAY3D_DESCRIPTOR d = shape(64, 64, 0, CUDA_ARRAY3D_SPARSE);
    cr_expect_eq(create(d), CUDA_ERROR_NOT_SUPPORTED);
    cr_expect_eq(create(shape(64, 64, 0, CUDA_ARRAY3D_DEPTH_TEXTURE)), CUDA_ERROR_NOT_SUPPORTED);
    d = shape(64, 64, 0, 0);
    d.Format = CU_AD_FORMAT_BC3_UNORM;
    cr_expect_eq(create(d), CUDA_ERROR_NOT_SUPPORTED);
    d.Format = CU_AD_FORMAT_NV12;
    cr_expect_eq(create(d), CUDA_ERROR_NOT_SUPPORTED);
    d.Format = (CUarray_format)0x77;
    cr_expect_eq(create(d), CUDA_ERROR_NOT_SUPPORTED);
    d.Format = (CUarray_format)5;
    cr_expect_eq(create(d), CUDA_ERROR_INVALID_VALUE);
    d = shape(64, 64, 0, 0);
    d.NumChannels = 3;
    cr_expect_eq(create(d), CUDA_ERROR_INVALID_VALUE);
    d.Format = CU_AD_FORMAT_UNORM_INT8X4;
    cr_expect_eq(create(d), CUDA_ERROR_INVALID_VALUE);
    d.NumChannels = 4;
    cr_expect_eq(create(d), CUDA_SUCCESS);
    CUarray a = make(shape(8, 8, 0, 0)), plane;
    CUDA_ARRAY_MEMORY_REQUIREMENTS needs;
    cr_expect_eq(cuArrayGetMemoryRequirements(&needs, a, 0), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuArrayGetPlane(&plane, a, 0), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuArrayGetPlane(&plane, (CUarray)&plane, 0), CUDA_ERROR_INVALID_HANDLE);
}

Test(shim_texture, arrays_say_what_they_were_asked_to_be) {
    CUDA_ARRAY_DESCRIPTOR flat = {30, 20, CU_AD_FORMAT_HALF, 2}, got;
    CUDA_ARRAY3D_DESCRIPTOR got3;
    CUarray a;
    cr_assert_eq(cuArrayCreate_v2(&a, &flat), CUDA_SUCCESS);
    cr_assert_eq(cuArrayGetDescriptor_v2(&got, a), CUDA_SUCCESS);
    cr_assert(got.Width == 30 && got.Height == 20 && got.Format == CU_AD_FORMAT_HALF &&
              got.NumChannels == 2);
    cr_assert_eq(cuArray3DGetDescriptor_v2(&got3, a), CUDA_SUCCESS);
    cr_assert(got3.Width == 30 && got3.Height == 20 && got3.Depth == 0 && got3.Flags == 0);
    cr_assert_eq(cuArrayDestroy(a), CUDA_SUCCESS);
    cr_assert_eq(cuArrayDestroy(a), CUDA_ERROR_INVALID_HANDLE);
    cr_assert_eq(cuArrayGetDescriptor_v2(&got, a), CUDA_ERROR_INVALID_HANDLE);
    CUarray b;
    cr_assert_eq(cuArrayCreate_v2(&b, &flat), CUDA_SUCCESS);
    cr_assert_neq(a, b, "a handle is of one array only");
}

Test(shim_texture, levels_are_arrays_of_their_own) {
    CUDA_ARRAY3D_DESCRIPTOR d = shape(40, 16, 0, 0), got;
    CUmipmappedArray mips;
    CUarray level, again;
    cr_assert_eq(cuMipmappedArrayCreate(&mips, &d, 100), CUDA_SUCCESS);
    cr_assert_eq(cuMipmappedArrayGetLevel(&level, mips, 3), CUDA_SUCCESS);
    cr_assert_eq(cuMipmappedArrayGetLevel(&again, mips, 3), CUDA_SUCCESS);
    cr_assert_eq(level, again);
    cr_assert_eq(cuArray3DGetDescriptor_v2(&got, level), CUDA_SUCCESS);
    cr_assert(got.Width == 5 && got.Height == 2 && got.Depth == 0);
    cr_assert_eq(cuMipmappedArrayGetLevel(&again, mips, 5), CUDA_SUCCESS);
    cr_assert_eq(cuArray3DGetDescriptor_v2(&got, again), CUDA_SUCCESS);
    cr_assert(got.Width == 1 && got.Height == 1);
    cr_assert_eq(cuMipmappedArrayGetLevel(&again, mips, 6), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuArrayDestroy(level), CUDA_ERROR_INVALID_HANDLE, "not its own to end");
    cr_assert_eq(cuMipmappedArrayDestroy(mips), CUDA_SUCCESS);
    cr_assert_eq(cuArray3DGetDescriptor_v2(&got, level), CUDA_ERROR_INVALID_HANDLE);
}

Test(shim_texture, arrays_are_no_memory_of_pointers) {
    CUarray a = make(shape(64, 64, 0, 0));
    cr_assert_eq(cuMemcpyDtoA_v2(a, 0, device, 256), CUDA_SUCCESS);
    const struct wire_copy *c = rig_record(rig_count() - 1, NULL);
    CUdeviceptr base;
    size_t bytes;
    cr_assert_eq(cuMemGetAddressRange_v2(&base, &bytes, c->dst), CUDA_ERROR_NOT_FOUND);
    cr_assert_eq(cuMemFree_v2(c->dst), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(c->dst % ARRAY_LAYOUT_ALIGN, 0);
}

/* ---- copies ---------------------------------------------------------------------------------- */

static CUDA_MEMCPY3D into(CUarray a, size_t x, size_t y, size_t z, size_t w, size_t h, size_t d) {
    return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = device,
                           .srcPitch = 256,
                           .srcHeight = 16,
                           .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                           .dstArray = a,
                           .dstXInBytes = x,
                           .dstY = y,
                           .dstZ = z,
                           .WidthInBytes = w,
                           .Height = h,
                           .Depth = d};
}

static CUresult copy(CUarray a, size_t x, size_t y, size_t z, size_t w, size_t h, size_t d) {
    CUDA_MEMCPY3D c = into(a, x, y, z, w, h, d);
    return cuMemcpy3D_v2(&c);
}

/* Rows of 40 bytes are 64 bytes apart, slices of 10 rows 640. */
Test(shim_texture, copies_keep_to_the_rows_of_an_array) {
    CUarray a = make(shape(10, 10, 5, 0));
    rig_forget();
    cr_assert_eq(copy(a, 0, 0, 0, 40, 10, 5), CUDA_SUCCESS);
    const struct wire_copy *c = rig_only(WIRE_COPY);
    uint64_t base = c->dst;
    cr_assert(c->dst_pitch == 64 && c->dst_slice == 640 && c->src_pitch == 256);
    cr_assert(c->width_bytes == 40 && c->height == 10 && c->depth == 5);
    rig_forget();
    cr_assert_eq(copy(a, 8, 3, 2, 4, 2, 2), CUDA_SUCCESS);
    c = rig_only(WIRE_COPY);
    cr_assert_eq(c->dst, base + 2 * 640 + 3 * 64 + 8);
    cr_assert_eq(copy(a, 4, 0, 0, 40, 10, 5), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(copy(a, 0, 1, 0, 40, 10, 5), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(copy(a, 0, 0, 1, 40, 10, 5), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(copy(a, SIZE_MAX - 3, 0, 0, 8, 1, 1), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(copy(a, 2, 0, 0, 8, 1, 1), CUDA_ERROR_INVALID_VALUE, "half an element");
    cr_assert_eq(copy((CUarray)&c, 0, 0, 0, 8, 1, 1), CUDA_ERROR_INVALID_HANDLE);
    CUmipmappedArray mips;
    CUDA_ARRAY3D_DESCRIPTOR d = shape(10, 10, 0, 0);
    cr_assert_eq(cuMipmappedArrayCreate(&mips, &d, 2), CUDA_SUCCESS);
    cr_assert_eq(copy((CUarray)mips, 0, 0, 0, 8, 1, 1), CUDA_ERROR_INVALID_HANDLE);
}

Test(shim_texture, rows_are_copied_every_way) {
    CUarray a = make(shape(256, 0, 0, 0)), b = make(shape(256, 0, 0, 0));
    unsigned char there[1024], back[1024] = {0};
    for (int k = 0; k < 1024; k++)
        there[k] = (unsigned char)(k * 7);
    cr_assert_eq(cuMemcpyHtoA_v2(a, 64, there, 800), CUDA_SUCCESS);
    cr_assert_eq(cuMemcpyAtoA_v2(b, 0, a, 64, 800), CUDA_SUCCESS);
    cr_assert_eq(cuMemcpyAtoD_v2(device, b, 0, 800), CUDA_SUCCESS);
    cr_assert_eq(cuMemcpyDtoA_v2(a, 128, device + 64, 512), CUDA_SUCCESS);
    cr_assert_eq(cuMemcpyAtoH_v2(back, a, 64, 800), CUDA_SUCCESS);
    cr_assert_arr_eq(back, there, 800);
    cr_assert_eq(cuMemcpyHtoAAsync_v2(a, 0, there, 100, NULL), CUDA_SUCCESS);
    cr_assert_eq(cuMemcpyAtoHAsync_v2(back + 800, a, 0, 100, NULL), CUDA_SUCCESS);
    cr_assert_arr_eq(back + 800, there, 100);
    cr_assert_eq(cuMemcpyHtoA_v2(a, 512, there, 516), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuMemcpyAtoH_v2(back, a, 1028, 4), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuMemcpyAtoA_v2(NULL, 0, a, 0, 4), CUDA_ERROR_INVALID_HANDLE);
}

/* ---- textures -------------------------------------------------------------------------------- */

static CUDA_RESOURCE_DESC of_array(CUarray a) {
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_ARRAY};
    r.res.array.hArray = a;
    return r;
}

static CUDA_RESOURCE_DESC of_linear(CUdeviceptr p, size_t bytes) {
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_LINEAR};
    r.res.linear.devPtr = p;
    r.res.linear.format = CU_AD_FORMAT_FLOAT;
    r.res.linear.numChannels = 4;
    r.res.linear.sizeInBytes = bytes;
    return r;
}

static CUDA_RESOURCE_DESC of_pitch(CUdeviceptr p, size_t w, size_t h, size_t pitch) {
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_PITCH2D};
    r.res.pitch2D.devPtr = p;
    r.res.pitch2D.format = CU_AD_FORMAT_UNSIGNED_INT8;
    r.res.pitch2D.numChannels = 1;
    r.res.pitch2D.width = w;
    r.res.pitch2D.height = h;
    r.res.pitch2D.pitchInBytes = pitch;
    return r;
}

static const CUDA_TEXTURE_DESC plain = {
    .addressMode = {CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP}};

static CUresult texture(CUDA_RESOURCE_DESC r, CUDA_TEXTURE_DESC d) {
    CUtexObject t;
    return cuTexObjectCreate(&t, &r, &d, NULL);
}

Test(shim_texture, a_texture_is_one_record) {
    CUDA_ARRAY3D_DESCRIPTOR s = shape(100, 50, 3, CUDA_ARRAY3D_LAYERED);
    CUmipmappedArray mips;
    CUtexObject t;
    cr_assert_eq(cuMipmappedArrayCreate(&mips, &s, 4), CUDA_SUCCESS);
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY}, got;
    r.res.mipmap.hMipmappedArray = mips;
    CUDA_TEXTURE_DESC d = {.addressMode = {0, 2, 3},
                           .filterMode = CU_TR_FILTER_MODE_LINEAR,
                           .flags = CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SEAMLESS_CUBEMAP,
                           .mipmapFilterMode = CU_TR_FILTER_MODE_LINEAR,
                           .mipmapLevelBias = 0.5f,
                           .maxMipmapLevelClamp = 2,
                           .borderColor = {1, 2, 3, 4}},
                      reads;
    CUDA_RESOURCE_VIEW_DESC v = {.format = CU_RES_VIEW_FORMAT_SINT_1X32,
                                 .width = 100,
                                 .height = 50,
                                 .depth = 3,
                                 .firstMipmapLevel = 1,
                                 .lastMipmapLevel = 2,
                                 .firstLayer = 1,
                                 .lastLayer = 2},
                            seen;
    rig_forget();
    cr_assert_eq(cuTexObjectCreate(&t, &r, &d, &v), CUDA_ERROR_INVALID_VALUE, "integers, filtered");
    v.format = CU_RES_VIEW_FORMAT_FLOAT_1X32;
    cr_assert_eq(cuTexObjectCreate(&t, &r, &d, &v), CUDA_SUCCESS);
    const struct wire_texture *w = rig_only(WIRE_TEXTURE);
    cr_assert(w->handle == t && w->rec.ticket == 0 && t != 0);
    cr_assert(w->width == 100 && w->height == 50 && w->depth == 3);
    cr_assert(w->first_level == 1 && w->levels == 2 && w->first_layer == 1 && w->layers == 2);
    cr_assert(w->format == CU_AD_FORMAT_FLOAT && w->channels == 1 && w->pitch == 0);
    cr_assert(w->address_mode[0] == 0 && w->address_mode[1] == 2 && w->address_mode[2] == 3);
    cr_assert(w->filter == 1 && w->level_filter == 1 && w->level_bias == 0.5f);
    cr_assert(w->most_level == 2 && w->border[3] == 4);
    cr_assert_eq(w->flags, WIRE_TEXTURE_LAYERED | WIRE_TEXTURE_NORMALIZED_COORDS |
                               WIRE_TEXTURE_NORMALIZED_VALUES | WIRE_TEXTURE_SEAMLESS);
    cr_assert_eq(cuTexObjectGetResourceDesc(&got, t), CUDA_SUCCESS);
    cr_assert_eq(got.res.mipmap.hMipmappedArray, mips);
    cr_assert_eq(cuTexObjectGetTextureDesc(&reads, t), CUDA_SUCCESS);
    cr_assert_arr_eq(&reads, &d, sizeof(d));
    cr_assert_eq(cuTexObjectGetResourceViewDesc(&seen, t), CUDA_SUCCESS);
    cr_assert_arr_eq(&seen, &v, sizeof(v));
    rig_forget();
    cr_assert_eq(cuTexObjectDestroy(t), CUDA_SUCCESS);
    cr_assert_eq(rig_count(), 0, "nothing is sent, nothing is waited for");
    cr_assert_eq(cuTexObjectDestroy(t), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuTexObjectGetTextureDesc(&reads, t), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuTexObjectDestroy(0), CUDA_SUCCESS);
}

Test(shim_texture, plain_memory_has_its_rules) {
    cr_expect_eq(texture(of_linear(device, 4096), plain), CUDA_SUCCESS);
    const struct wire_texture *w = rig_only(WIRE_TEXTURE);
    cr_assert(w->width == 256 && w->flags & WIRE_TEXTURE_LINEAR && w->addr == device);
    cr_expect_eq(texture(of_linear(device + 16, 4096), plain), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(texture(of_linear(device, 15), plain), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(texture(of_linear(0, 4096), plain), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(texture(of_linear(1ull << 40, 4096), plain), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(texture(of_linear(device, 1ull << 33), plain), CUDA_ERROR_INVALID_VALUE);
    rig_forget();
    cr_expect_eq(texture(of_pitch(device + 512, 100, 20, 128), plain), CUDA_SUCCESS);
    w = rig_only(WIRE_TEXTURE);
    cr_assert(w->width == 100 && w->height == 20 && w->pitch == 128);
    cr_assert(w->flags & WIRE_TEXTURE_PITCHED && !(w->flags & WIRE_TEXTURE_LINEAR));
    cr_expect_eq(texture(of_pitch(device, 100, 20, 130), plain), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(texture(of_pitch(device, 100, 20, 96), plain), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(texture(of_pitch(device + 256, 100, 20, 128), plain), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(texture(of_pitch(device, 100, 65001, 128), plain), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(texture(of_pitch(device, 0, 20, 128), plain), CUDA_ERROR_INVALID_VALUE);
    CUDA_RESOURCE_DESC r = of_linear(device, 4096);
    CUDA_RESOURCE_VIEW_DESC v = {.width = 256};
    CUtexObject t;
    cr_expect_eq(cuTexObjectCreate(&t, &r, &plain, &v), CUDA_ERROR_INVALID_VALUE);
}

Test(shim_texture, ways_to_read_that_there_are_not) {
    CUDA_RESOURCE_DESC r = of_array(make(shape(8, 8, 0, 0))), m;
    CUDA_ARRAY3D_DESCRIPTOR ints = shape(8, 8, 0, 0), mipmapped = shape(8, 8, 0, 0);
    CUmipmappedArray mips;
    CUDA_TEXTURE_DESC d = plain;
    d.addressMode[1] = (CUaddress_mode)4;
    cr_expect_eq(texture(r, d), CUDA_ERROR_INVALID_VALUE);
    d = plain;
    d.filterMode = (CUfilter_mode)2;
    cr_expect_eq(texture(r, d), CUDA_ERROR_INVALID_VALUE);
    d = plain;
    d.flags = 4;
    cr_expect_eq(texture(r, d), CUDA_ERROR_INVALID_VALUE);
    r.flags = 1;
    cr_expect_eq(texture(r, plain), CUDA_ERROR_INVALID_VALUE);
    r.flags = 0;
    r.resType = (CUresourcetype)4;
    cr_expect_eq(texture(r, plain), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(texture(of_array(NULL), plain), CUDA_ERROR_INVALID_HANDLE);
    ints.Format = CU_AD_FORMAT_UNSIGNED_INT8;
    r = of_array(make(ints));
    d = plain;
    d.filterMode = CU_TR_FILTER_MODE_LINEAR;
    cr_expect_eq(texture(r, d), CUDA_SUCCESS, "bytes as numbers");
    d.flags = CU_TRSF_READ_AS_INTEGER;
    cr_expect_eq(texture(r, d), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuMipmappedArrayCreate(&mips, &mipmapped, 2), CUDA_SUCCESS);
    m = (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY};
    m.res.mipmap.hMipmappedArray = mips;
    cr_expect_eq(texture(m, plain), CUDA_ERROR_INVALID_VALUE, "coordinates must be normalised");
    CUDA_RESOURCE_VIEW_DESC v = {
        .format = CU_RES_VIEW_FORMAT_UNSIGNED_BC1, .width = 8, .height = 8};
    CUtexObject t;
    r = of_array(make(shape(8, 8, 0, 0)));
    cr_expect_eq(cuTexObjectCreate(&t, &r, &plain, &v), CUDA_ERROR_NOT_SUPPORTED);
    v.format = CU_RES_VIEW_FORMAT_FLOAT_2X32;
    cr_expect_eq(cuTexObjectCreate(&t, &r, &plain, &v), CUDA_ERROR_INVALID_VALUE);
    v.format = CU_RES_VIEW_FORMAT_UINT_1X32;
    cr_expect_eq(cuTexObjectCreate(&t, &r, &plain, &v), CUDA_SUCCESS);
    v.lastMipmapLevel = 1;
    cr_expect_eq(cuTexObjectCreate(&t, &r, &plain, &v), CUDA_ERROR_INVALID_VALUE);
    v.lastMipmapLevel = 0;
    v.width = 4;
    cr_expect_eq(cuTexObjectCreate(&t, &r, &plain, &v), CUDA_ERROR_INVALID_VALUE);
}

Test(shim_texture, surfaces_are_of_arrays) {
    CUDA_RESOURCE_DESC r = of_array(make(shape(8, 8, 0, CUDA_ARRAY3D_SURFACE_LDST))), got;
    CUsurfObject s;
    rig_forget();
    cr_assert_eq(cuSurfObjectCreate(&s, &r), CUDA_SUCCESS);
    const struct wire_texture *w = rig_only(WIRE_TEXTURE);
    cr_assert(w->handle == s && w->flags == WIRE_TEXTURE_SURFACE && w->levels == 1);
    cr_assert_eq(cuSurfObjectGetResourceDesc(&got, s), CUDA_SUCCESS);
    cr_assert_eq(cuTexObjectGetResourceDesc(&got, s), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuTexObjectDestroy(s), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuSurfObjectDestroy(s), CUDA_SUCCESS);
    r = of_array(make(shape(8, 8, 0, 0)));
    cr_assert_eq(cuSurfObjectCreate(&s, &r), CUDA_SUCCESS, "the flag is for surface references");
    r = of_linear(device, 4096);
    cr_assert_eq(cuSurfObjectCreate(&s, &r), CUDA_ERROR_INVALID_VALUE);
}

/* A number is reused only after the worker has dropped it and replied. */
Test(shim_texture, numbers_are_dropped_before_they_come_again) {
    static uint64_t used[WIRE_TEXTURES_FIRST], live[16];
    CUDA_RESOURCE_DESC r = of_linear(device, 4096);
    CUtexObject t;
    for (uint32_t k = 0; k < WIRE_TEXTURES_FIRST; k++) {
        cr_assert_eq(cuTexObjectCreate(&t, &r, &plain, NULL), CUDA_SUCCESS);
        cr_assert_eq(used[(uint16_t)t], 0);
        used[(uint16_t)t] = t;
        if (k < 16)
            live[k] = t;
        else
            cr_assert_eq(cuTexObjectDestroy(t), CUDA_SUCCESS);
        if (k % 1024 == 0) rig_count(); /* keeps the ring from filling */
    }
    rig_forget();
    cr_assert_eq(cuTexObjectCreate(&t, &r, &plain, NULL), CUDA_SUCCESS);
    uint32_t count = rig_count();
    cr_assert_eq(count, WIRE_TEXTURES_FIRST - 16 + 1);
    for (uint32_t k = 0; k < count - 1; k++) {
        const struct wire_texture_drop *drop = rig_record(k, NULL);
        cr_assert(drop->rec.op == WIRE_TEXTURE_DROP &&
                  used[(uint16_t)drop->handle] == drop->handle);
        cr_assert_eq(drop->rec.ticket != 0, k == count - 2, "the last one is answered");
        used[(uint16_t)drop->handle] = 0;
    }
    for (int k = 0; k < 16; k++)
        cr_assert_eq(used[(uint16_t)live[k]], live[k], "those that live are not dropped");
    cr_assert(((const struct wire_record *)rig_record(count - 1, NULL))->op == WIRE_TEXTURE);
    cr_assert_eq(used[(uint16_t)t], 0);
    rig_forget();
    for (uint32_t k = 0; k < 1000; k++)
        cr_assert_eq(cuTexObjectCreate(&t, &r, &plain, NULL), CUDA_SUCCESS);
    cr_assert_eq(rig_count(), 1000, "the others that were dropped are ready");
}

/* Since 1.9 numbers have 20 bits. */
Test(shim_texture, more_can_be_alive_than_there_were_numbers) {
    static bool used[WIRE_TEXTURES];
    CUDA_RESOURCE_DESC r = of_linear(device, 4096), got;
    CUtexObject t, first = 0;
    state.conn.minor = 9;
    for (uint32_t k = 0; k < WIRE_TEXTURES_FIRST + 100; k++) {
        cr_assert_eq(cuTexObjectCreate(&t, &r, &plain, NULL), CUDA_SUCCESS, "%u", k);
        cr_assert_not(used[t % WIRE_TEXTURES]);
        used[t % WIRE_TEXTURES] = true;
        if (!first) first = t;
        if (k % 1024 == 0) rig_forget();
    }
    cr_assert_eq(cuTexObjectGetResourceDesc(&got, first), CUDA_SUCCESS);
    cr_assert_eq(cuTexObjectGetResourceDesc(&got, t), CUDA_SUCCESS);
    cr_assert_eq(got.res.linear.devPtr, device);
}

/* The next creation drops them: a destruction by itself makes no request to the worker. */
Test(shim_texture, destroyed_ones_are_dropped_when_there_are_many) {
    CUDA_RESOURCE_DESC r = of_linear(device, 4096);
    CUtexObject t;
    uint32_t most = 65536;
    state.conn.minor = 9;
    for (uint32_t k = 0; k < most; k++) {
        cr_assert_eq(cuTexObjectCreate(&t, &r, &plain, NULL), CUDA_SUCCESS);
        cr_assert_eq(cuTexObjectDestroy(t), CUDA_SUCCESS);
        if (k % 1024 == 0) rig_forget();
        if (k == most - 1) rig_forget();
    }
    cr_assert_eq(cuTexObjectCreate(&t, &r, &plain, NULL), CUDA_SUCCESS);
    cr_assert_eq(rig_count(), 1 + most, "all are dropped, and one is made");
}

Test(shim_texture, what_a_context_made_ends_with_it) {
    CUcontext own, first;
    CUDA_ARRAY3D_DESCRIPTOR got;
    cr_assert_eq(cuCtxGetCurrent(&first), CUDA_SUCCESS);
    cr_assert_eq(cuCtxCreate_v2(&own, 0, 0), CUDA_SUCCESS);
    CUarray a = make(shape(8, 8, 0, 0));
    CUDA_RESOURCE_DESC r = of_array(a);
    CUtexObject t;
    cr_assert_eq(cuTexObjectCreate(&t, &r, &plain, NULL), CUDA_SUCCESS);
    cr_assert_eq(cuCtxDestroy_v2(own), CUDA_SUCCESS);
    cr_assert_eq(cuCtxSetCurrent(first), CUDA_SUCCESS);
    cr_assert_eq(cuArray3DGetDescriptor_v2(&got, a), CUDA_ERROR_INVALID_HANDLE);
    cr_assert_eq(cuTexObjectDestroy(t), CUDA_ERROR_INVALID_VALUE);
}

Test(shim_texture, the_widest_linear_texture) {
    size_t width;
    cr_assert_eq(cuDeviceGetTexture1DLinearMaxWidth(&width, CU_AD_FORMAT_FLOAT, 4, 0),
                 CUDA_SUCCESS);
    int attribute;
    cr_assert_eq(
        cuDeviceGetAttribute(&attribute, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH, 0),
        CUDA_SUCCESS);
    cr_assert_eq(width, (size_t)attribute);
    cr_assert_eq(cuDeviceGetTexture1DLinearMaxWidth(&width, CU_AD_FORMAT_FLOAT, 3, 0),
                 CUDA_ERROR_INVALID_VALUE);
}

/* ---- references ------------------------------------------------------------------------------ */

static CUtexref reference(CUmodule *module) {
    CUtexref t, other;
    cr_assert_eq(cuModuleLoadData(module, rig_ptx), CUDA_SUCCESS);
    cr_assert_eq(cuModuleGetTexRef(&other, *module, "variable"), CUDA_ERROR_NOT_FOUND);
    cr_assert_eq(cuModuleGetTexRef(&t, *module, "reference"), CUDA_SUCCESS);
    cr_assert_eq(cuModuleGetTexRef(&other, *module, "reference"), CUDA_SUCCESS);
    cr_assert_eq(other, t, "the same each time");
    rig_forget();
    return t;
}

/* Returns the record of the only texture that was created since rig_forget. */
static const struct wire_texture *made(void) {
    const struct wire_texture *found = NULL;
    uint32_t bytes;
    for (uint32_t k = 0; k < rig_count(); k++) {
        const struct wire_record *rec = rig_record(k, &bytes);
        if (rec->op != WIRE_TEXTURE) continue;
        cr_assert(!found, "more than one");
        found = (const void *)rec;
    }
    cr_assert(found);
    return found;
}

Test(shim_texture, a_reference_is_an_object_of_what_it_was_told) {
    CUmodule module;
    CUtexref t = reference(&module);
    size_t offset;
    cr_assert_eq(cuTexRefSetFormat(t, CU_AD_FORMAT_FLOAT, 4), CUDA_SUCCESS);
    cr_assert_eq(cuTexRefSetFilterMode(t, CU_TR_FILTER_MODE_LINEAR), CUDA_SUCCESS);
    cr_assert_eq(rig_count(), 0, "it reads nothing yet");
    cr_assert_eq(cuTexRefSetAddress_v2(&offset, t, device + 16, 4096), CUDA_SUCCESS);
    cr_assert_eq(offset, 16);
    const struct wire_texture *w = made();
    cr_assert(w->addr == device && w->width == 257 && w->channels == 4 && w->filter == 1);
    rig_forget();
    cr_assert_eq(cuTexRefSetFilterMode(t, CU_TR_FILTER_MODE_LINEAR), CUDA_SUCCESS);
    cr_assert_eq(rig_count(), 0, "nothing has changed");
    cr_assert_eq(cuTexRefSetFilterMode(t, CU_TR_FILTER_MODE_POINT), CUDA_SUCCESS);
    cr_assert_eq(made()->filter, 0);
}

/* Completes the stream once a thread waits for it: only the call that writes the object into the
 * module waits. */
static void *let_go(void *ended) {
    const _Atomic uint32_t *sleeping = &state.conn.submission->client_sleeping;
    while (!atom_load_relaxed((_Atomic bool *)ended) && !atom_load_relaxed(sleeping))
        usleep(100);
    if (!atom_load_relaxed((_Atomic bool *)ended)) rig_hold_streams(false);
    return NULL;
}

/* Another stream may run a kernel that reads the reference as soon as the call has returned. */
Test(shim_texture, a_reference_is_told_when_the_call_is_back) {
    CUmodule module;
    CUtexref t = reference(&module);
    static _Atomic bool ended;
    pthread_t other;
    rig_hold_streams(true);
    cr_assert_eq(pthread_create(&other, NULL, let_go, (void *)&ended), 0);
    cr_assert_eq(cuTexRefSetAddress_v2(NULL, t, device, 4096), CUDA_SUCCESS);
    cr_expect_eq(cuStreamQuery(CU_STREAM_LEGACY), CUDA_SUCCESS);
    atom_store_relaxed(&ended, true);
    pthread_join(other, NULL);
    rig_hold_streams(false);
}

Test(shim_texture, a_reference_ends_with_its_module) {
    CUmodule module;
    CUtexref t = reference(&module);
    unsigned int flags;
    cr_assert_eq(cuTexRefGetFlags(&flags, t), CUDA_SUCCESS);
    cr_assert_eq(cuTexRefDestroy(t), CUDA_ERROR_INVALID_VALUE, "the module's");
    cr_assert_eq(cuModuleUnload(module), CUDA_SUCCESS);
    cr_assert_eq(cuTexRefGetFlags(&flags, t), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuTexRefSetFlags(t, 0), CUDA_ERROR_INVALID_VALUE);
}
