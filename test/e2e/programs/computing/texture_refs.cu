/* SPDX-License-Identifier: Apache-2.0
 * Texture and surface references, as programs of CUDA 11 use them: variables of a module, each
 * set to the memory and the mode of its reads. The PTX is that of nvcc 11.8, since newer
 * compilers cannot make it. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include <cstring>
#include <cuda.h>
#include <vector>

#include "common.h"

#define N 64

static const char ptx[] =
    ".version 7.8\n.target sm_75\n.address_size 64\n"
    ".global .texref line;\n.visible .global .texref plane;\n.visible .global .surfref sheet;\n"
    ".visible .global .align 4 .u32 other;\n"
    ".visible .entry fetch(.param .u64 out)\n{\n"
    ".reg .b64 %rd<4>; .reg .b32 %r<8>; .reg .f32 %f<8>;\n"
    "ld.param.u64 %rd1, [out]; cvta.to.global.u64 %rd1, %rd1; mov.u32 %r1, %tid.x;\n"
    "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [line, {%r1}];\n"
    "mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd1, %rd2; st.global.f32 [%rd2], %f1; ret;\n}\n"
    ".visible .entry filter(.param .u64 out, .param .f32 scale)\n{\n"
    ".reg .b64 %rd<4>; .reg .b32 %r<8>; .reg .f32 %f<8>;\n"
    "ld.param.u64 %rd1, [out]; cvta.to.global.u64 %rd1, %rd1; mov.u32 %r1, %tid.x;\n"
    "and.b32 %r2, %r1, 7; shr.u32 %r3, %r1, 3; cvt.rn.f32.u32 %f5, %r2; cvt.rn.f32.u32 %f6, %r3;\n"
    "ld.param.f32 %f7, [scale]; mul.f32 %f5, %f5, %f7; mul.f32 %f6, %f6, %f7;\n"
    "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [plane, {%f5, %f6}];\n"
    "mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd1, %rd2; st.global.f32 [%rd2], %f1; ret;\n}\n"
    ".visible .entry store()\n{\n"
    ".reg .b32 %r<8>; .reg .f32 %f<3>;\n"
    "mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 7; shr.u32 %r3, %r1, 3; shl.b32 %r2, %r2, 2;\n"
    "cvt.rn.f32.u32 %f1, %r1; add.f32 %f1, %f1, %f1; mov.b32 %r4, %f1;\n"
    "sust.b.2d.b32.trap [sheet, {%r2, %r3}], {%r4}; ret;\n}\n";

#define DRIVER(call) REQUIRE((call) == CUDA_SUCCESS, "%s failed", #call)
#define REFUSED(call) REQUIRE((call) == CUDA_ERROR_INVALID_VALUE, "%s was taken", #call)

static CUmodule module;
static uint64_t sum = CHECKSUM_START;
static float *device;

static CUfunction kernel(const char *name) {
    CUfunction f;
    DRIVER(cuModuleGetFunction(&f, module, name));
    return f;
}

static CUtexref reference(const char *name) {
    CUtexref first, second;
    DRIVER(cuModuleGetTexRef(&first, module, name));
    DRIVER(cuModuleGetTexRef(&second, module, name));
    REQUIRE(first == second, "%s is another one each time", name);
    return first;
}

static std::vector<float> run(CUfunction f, float scale = 0) {
    std::vector<float> host(N);
    void *params[] = {&device, &scale};
    DRIVER(cuLaunchKernel(f, 1, 1, 1, N, 1, 1, 0, nullptr, params, nullptr));
    CHECK(cudaMemcpy(host.data(), device, N * 4, cudaMemcpyDeviceToHost));
    sum = checksum_add(sum, host.data(), N * 4);
    return host;
}

template <class F> static void expect(const std::vector<float> &got, const char *what, F want) {
    for (int k = 0; k < N; k++)
        REQUIRE(got[k] == want(k), "%s: %d is %g, not %g", what, k, got[k], (float)want(k));
}

/* ---- linear memory --------------------------------------------------------------------------- */

static void linear() {
    CUtexref line = reference("line");
    CUdeviceptr memory, told;
    size_t offset = 1;
    float values[2 * N];
    for (int k = 0; k < 2 * N; k++)
        values[k] = 3.0f * k;
    DRIVER(cuMemAlloc(&memory, sizeof(values)));
    DRIVER(cuMemcpyHtoD(memory, values, sizeof(values)));
    DRIVER(cuTexRefSetFormat(line, CU_AD_FORMAT_FLOAT, 1));
    DRIVER(cuTexRefSetAddress(&offset, line, memory, sizeof(values)));
    REQUIRE(offset == 0, "an offset of %zu", offset);
    expect(run(kernel("fetch")), "linear", [](int k) { return 3.0f * k; });
    DRIVER(cuTexRefSetAddress(&offset, line, memory + 4, N * 4));
    REQUIRE(offset == 4, "an offset of %zu, not 4", offset);
    DRIVER(cuTexRefGetAddress(&told, line));
    REQUIRE(told == memory + 4, "another address");
    REFUSED(cuTexRefSetAddress(nullptr, line, memory + 4, N * 4));
    /* bytes, read as numbers from 0 to 1; then as integers */
    DRIVER(cuTexRefSetAddress(nullptr, line, memory, N));
    DRIVER(cuTexRefSetFormat(line, CU_AD_FORMAT_UNSIGNED_INT8, 1));
    unsigned char bytes[N];
    for (int k = 0; k < N; k++)
        bytes[k] = (unsigned char)(k * 4);
    DRIVER(cuMemcpyHtoD(memory, bytes, N));
    expect(run(kernel("fetch")), "bytes", [](int k) { return (float)(k * 4 / 255.0); });
    DRIVER(cuTexRefSetFlags(line, CU_TRSF_READ_AS_INTEGER));
    expect(run(kernel("fetch")), "integers", [](int k) {
        unsigned int bits = k * 4;
        float f;
        memcpy(&f, &bits, 4);
        return f;
    });
    DRIVER(cuMemFree(memory));
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static CUarray array(unsigned int flags) {
    CUDA_ARRAY3D_DESCRIPTOR d = {};
    CUarray a;
    d.Width = d.Height = 8;
    d.Format = CU_AD_FORMAT_FLOAT;
    d.NumChannels = 1;
    d.Flags = flags;
    DRIVER(cuArray3DCreate(&a, &d));
    return a;
}

static void fill(CUarray a, const float *values) {
    CUDA_MEMCPY2D c = {};
    c.srcMemoryType = CU_MEMORYTYPE_HOST;
    c.srcHost = values;
    c.srcPitch = c.WidthInBytes = 32;
    c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    c.dstArray = a;
    c.Height = 8;
    DRIVER(cuMemcpy2D(&c));
}

static void planes() {
    CUtexref plane = reference("plane");
    CUsurfref sheet;
    CUarray a = array(CUDA_ARRAY3D_SURFACE_LDST), told;
    float values[N], border[4] = {7, 0, 0, 0};
    for (int k = 0; k < N; k++)
        values[k] = (float)(k * k);
    fill(a, values);
    DRIVER(cuTexRefSetArray(plane, a, CU_TRSA_OVERRIDE_FORMAT));
    DRIVER(cuTexRefGetArray(&told, plane));
    REQUIRE(told == a, "another array");
    expect(run(kernel("filter"), 1), "points", [&](int k) { return values[k]; });
    DRIVER(cuTexRefSetFilterMode(plane, CU_TR_FILTER_MODE_LINEAR));
    for (int k = 0; k < 2; k++)
        DRIVER(cuTexRefSetAddressMode(plane, k, CU_TR_ADDRESS_MODE_BORDER));
    DRIVER(cuTexRefSetBorderColor(plane, border));
    std::vector<float> soft = run(kernel("filter"), 1);
    REQUIRE(soft[0] == (7 * 3 + values[0]) / 4, "the corner is %g", soft[0]);
    REQUIRE(soft[9] == (values[0] + values[1] + values[8] + values[9]) / 4, "inside is %g",
            soft[9]);
    DRIVER(cuTexRefSetFlags(plane, CU_TRSF_NORMALIZED_COORDINATES));
    std::vector<float> scaled = run(kernel("filter"), 1 / 8.0f);
    expect(scaled, "normalised", [&](int k) { return soft[k]; });
    /* the same array as a surface */
    DRIVER(cuModuleGetSurfRef(&sheet, module, "sheet"));
    DRIVER(cuSurfRefSetArray(sheet, a, 0));
    DRIVER(cuLaunchKernel(kernel("store"), 1, 1, 1, N, 1, 1, 0, nullptr, nullptr, nullptr));
    DRIVER(cuTexRefSetFlags(plane, 0));
    DRIVER(cuTexRefSetFilterMode(plane, CU_TR_FILTER_MODE_POINT));
    expect(run(kernel("filter"), 1), "stored", [](int k) { return 2.0f * k; });
    DRIVER(cuArrayDestroy(a));
}

static void pitched() {
    CUtexref plane = reference("plane");
    CUDA_ARRAY_DESCRIPTOR d = {8, 8, CU_AD_FORMAT_FLOAT, 1};
    std::vector<float> values(8 * 16);
    CUdeviceptr memory;
    for (int k = 0; k < 8 * 16; k++)
        values[k] = (float)k;
    DRIVER(cuMemAlloc(&memory, values.size() * 4));
    DRIVER(cuMemcpyHtoD(memory, values.data(), values.size() * 4));
    DRIVER(cuTexRefSetAddress2D(plane, &d, memory, 64));
    expect(run(kernel("filter"), 1), "pitched", [](int k) { return k / 8 * 16.0f + k % 8; });
    DRIVER(cuMemFree(memory));
}

/* ---- refused calls --------------------------------------------------------------------------- */

static void refusals() {
    CUtexref t = reference("plane"), own;
    CUarray a;
    CUarray_format format;
    int channels;
    REQUIRE(cuModuleGetTexRef(&t, module, "none") == CUDA_ERROR_NOT_FOUND, "a name that is none");
    REQUIRE(cuModuleGetTexRef(&t, module, "other") == CUDA_ERROR_NOT_FOUND, "no reference");
    REFUSED(cuTexRefSetFormat(t, CU_AD_FORMAT_FLOAT, 3));
    REFUSED(cuTexRefSetAddressMode(t, 3, CU_TR_ADDRESS_MODE_WRAP));
    REFUSED(cuTexRefGetArray(&a, t));
    REFUSED(cuTexRefSetFlags((CUtexref)&t, 0));
    REFUSED(cuTexRefDestroy(t));
    DRIVER(cuTexRefCreate(&own));
    DRIVER(cuTexRefSetFormat(own, CU_AD_FORMAT_HALF, 4));
    DRIVER(cuTexRefGetFormat(&format, &channels, own));
    REQUIRE(format == CU_AD_FORMAT_HALF && channels == 4, "another format");
    DRIVER(cuTexRefDestroy(own));
    REFUSED(cuTexRefSetFlags(own, 0));
    DRIVER(cuModuleUnload(module));
    REFUSED(cuTexRefSetFlags(t, 0));
}

int main() {
    CHECK(cudaMalloc(&device, N * 4));
    DRIVER(cuModuleLoadData(&module, ptx));
    linear();
    planes();
    pitched();
    refusals();
    checksum_print("texture_refs", sum);
    return 0;
}
