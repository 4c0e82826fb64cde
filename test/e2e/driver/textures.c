/* SPDX-License-Identifier: Apache-2.0
 * Arrays, kernels that read them as textures and write them as surfaces, and copies. */
#include "test/e2e/driver/driver.h"
#include "test/e2e/driver/driver_code.h"

#define WIDTH 64u
#define HEIGHT 4u

static CUfunction sample, store;
static float line[WIDTH * HEIGHT], got[WIDTH * HEIGHT];

static void copy(CUarray array, float *host, bool in) {
    CUDA_MEMCPY2D c = {.WidthInBytes = WIDTH * sizeof(float), .Height = HEIGHT};
    c.srcMemoryType = in ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_ARRAY;
    c.dstMemoryType = in ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_HOST;
    c.srcHost = c.dstHost = host;
    c.srcArray = c.dstArray = array;
    c.srcPitch = c.dstPitch = WIDTH * sizeof(float);
    WORKS(cu.Memcpy2DAsync(&c, CU_STREAM_LEGACY));
    WORKS(cu.StreamSynchronize(CU_STREAM_LEGACY));
}

static CUtexObject texture_of(const CUDA_RESOURCE_DESC *resource, unsigned flags) {
    CUDA_TEXTURE_DESC how = {.flags = flags,
                             .addressMode = {CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP,
                                             CU_TR_ADDRESS_MODE_CLAMP},
                             .filterMode = CU_TR_FILTER_MODE_POINT};
    CUtexObject texture;
    WORKS(cu.TexObjectCreate(&texture, resource, &how, NULL));
    return texture;
}

/* Checks that the first row, read by a kernel, begins with `first` and grows by one. */
static void check_row(CUtexObject texture, float scale, float first) {
    unsigned width = WIDTH;
    CUdeviceptr out;
    WORKS(cu.MemAlloc(&out, WIDTH * sizeof(float)));
    void *params[] = {&texture, &out, &width, &scale};
    driver_launch(sample, CU_STREAM_LEGACY, width, params);
    WORKS(cu.MemcpyDtoHAsync(got, out, width * sizeof(float), CU_STREAM_LEGACY));
    WORKS(cu.StreamSynchronize(CU_STREAM_LEGACY));
    for (unsigned i = 0; i < width; i++)
        REQUIRE(got[i] == first + (float)i);
    WORKS(cu.MemFree(out));
}

static void plane(void) {
    CUDA_ARRAY3D_DESCRIPTOR desc = {.Width = WIDTH,
                                    .Height = HEIGHT,
                                    .Format = CU_AD_FORMAT_FLOAT,
                                    .NumChannels = 1,
                                    .Flags = CUDA_ARRAY3D_SURFACE_LDST};
    unsigned n = WIDTH;
    CUarray array;
    CUsurfObject surface;
    WORKS(cu.Array3DCreate(&array, &desc));
    copy(array, line, true);
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY,
                                   .res = {.array = {.hArray = array}}};
    CUtexObject texture = texture_of(&resource, 0);
    check_row(texture, 1, 0);
    WORKS(cu.SurfObjectCreate(&surface, &resource));
    void *params[] = {&surface, &n};
    driver_launch(store, CU_STREAM_LEGACY, n, params);
    check_row(texture, 1, 1000);
    copy(array, got, false);
    REQUIRE(got[3] == 1003 && got[WIDTH + 3] == line[WIDTH + 3]);
    WORKS(cu.SurfObjectDestroy(surface));
    WORKS(cu.TexObjectDestroy(texture));
    WORKS(cu.ArrayDestroy(array));
}

static void levels(void) {
    CUDA_ARRAY3D_DESCRIPTOR desc = {
        .Width = WIDTH, .Height = HEIGHT, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    CUmipmappedArray levels_of;
    CUarray first;
    WORKS(cu.MipmappedArrayCreate(&levels_of, &desc, 3));
    WORKS(cu.MipmappedArrayGetLevel(&first, levels_of, 0));
    copy(first, line, true);
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY,
                                   .res = {.mipmap = {.hMipmappedArray = levels_of}}};
    CUtexObject texture = texture_of(&resource, CU_TRSF_NORMALIZED_COORDINATES);
    check_row(texture, 1.0f / WIDTH, 0);
    WORKS(cu.TexObjectDestroy(texture));
    WORKS(cu.MipmappedArrayDestroy(levels_of));
}

static void pitched_memory(void) {
    CUdeviceptr p;
    WORKS(cu.MemAlloc(&p, sizeof(line)));
    WORKS(cu.MemcpyHtoDAsync(p, line, sizeof(line), CU_STREAM_LEGACY));
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_PITCH2D,
                                   .res = {.pitch2D = {.devPtr = p,
                                                       .format = CU_AD_FORMAT_FLOAT,
                                                       .numChannels = 1,
                                                       .width = WIDTH,
                                                       .height = HEIGHT,
                                                       .pitchInBytes = WIDTH * sizeof(float)}}};
    CUtexObject texture = texture_of(&resource, 0);
    check_row(texture, 1, 0);
    WORKS(cu.TexObjectDestroy(texture));
    WORKS(cu.MemFree(p));
}

void topic_textures(void) {
    CUmodule m;
    CUarray array;
    CUDA_ARRAY_DESCRIPTOR desc = {
        .Width = WIDTH, .Height = HEIGHT, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    WORKS(cu.ModuleLoadData(&m, DRIVER_TEXTURE_CODE));
    sample = driver_function(m, "sample");
    store = driver_function(m, "store");
    for (unsigned i = 0; i < WIDTH * HEIGHT; i++)
        line[i] = (float)i;
    plane();
    levels();
    pitched_memory();
    WORKS(cu.ArrayCreate(&array, &desc));
    copy(array, line, true);
    copy(array, got, false);
    for (unsigned i = 0; i < WIDTH * HEIGHT; i++)
        REQUIRE(got[i] == line[i]);
    WORKS(cu.ArrayDestroy(array));
    WORKS(cu.ModuleUnload(m));
}
