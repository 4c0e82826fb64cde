/* SPDX-License-Identifier: Apache-2.0
 * Textures and surfaces by the runtime, from every kind of memory, compared with the host's
 * results. */
#include <cmath>
#include <vector>

#include "common.h"

static uint64_t sum = CHECKSUM_START;
static uint32_t seed = 7;

static cudaTextureDesc reading(cudaTextureAddressMode mode, cudaTextureFilterMode filter,
                               bool normalized,
                               cudaTextureReadMode read = cudaReadModeElementType) {
    cudaTextureDesc d = {};
    for (int k = 0; k < 3; k++)
        d.addressMode[k] = mode;
    d.filterMode = filter;
    d.readMode = read;
    d.normalizedCoords = normalized;
    return d;
}

static cudaTextureObject_t texture_of(const cudaResourceDesc &r, const cudaTextureDesc &d) {
    cudaTextureObject_t t;
    CHECK(cudaCreateTextureObject(&t, &r, &d, nullptr));
    return t;
}

static cudaResourceDesc array_resource(cudaArray_t a) {
    cudaResourceDesc r = {};
    r.resType = cudaResourceTypeArray;
    r.res.array.array = a;
    return r;
}

/* Results of n threads, compared one by one. */
template <class T> struct results {
    T *device;
    std::vector<T> host;
    explicit results(int n) : host(n) { CHECK(cudaMalloc(&device, n * sizeof(T))); }
    ~results() { cudaFree(device); }
    void fetch() {
        CHECK(cudaMemcpy(host.data(), device, host.size() * sizeof(T), cudaMemcpyDeviceToHost));
        sum = checksum_add(sum, host.data(), host.size() * sizeof(T));
    }
};

static bool near(float a, float b, float by) {
    return std::fabs(a - b) <= by;
}

/* ---- linear and pitched memory --------------------------------------------------------------- */

__global__ void fetch_linear(cudaTextureObject_t f, cudaTextureObject_t b, float4 *o, uchar4 *p,
                             int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    o[i] = tex1Dfetch<float4>(f, i * 7 % (n + 10));
    p[i] = tex1Dfetch<uchar4>(b, n - i);
}

static void linear() {
    const int n = 1000;
    std::vector<float4> host(n);
    for (int i = 0; i < n; i++)
        host[i] = make_float4(i, i + 0.25f, -i, random_unit(&seed));
    float4 *f;
    CHECK(cudaMalloc(&f, n * sizeof(float4)));
    CHECK(cudaMemcpy(f, host.data(), n * sizeof(float4), cudaMemcpyHostToDevice));
    cudaResourceDesc r = {};
    r.resType = cudaResourceTypeLinear;
    r.res.linear.devPtr = f;
    r.res.linear.desc = cudaCreateChannelDesc<float4>();
    r.res.linear.sizeInBytes = n * sizeof(float4);
    cudaTextureDesc d = reading(cudaAddressModeClamp, cudaFilterModePoint, false);
    cudaTextureObject_t floats = texture_of(r, d);
    r.res.linear.desc = cudaCreateChannelDesc<uchar4>();
    r.res.linear.sizeInBytes = n * 4;
    cudaTextureObject_t bytes = texture_of(r, d);
    results<float4> o(n);
    results<uchar4> p(n);
    fetch_linear<<<(n + 127) / 128, 128>>>(floats, bytes, o.device, p.device, n);
    CHECK(cudaDestroyTextureObject(floats)); /* the queued kernel still uses it */
    CHECK(cudaDestroyTextureObject(bytes));
    o.fetch();
    p.fetch();
    for (int i = 0; i < n; i++) {
        int at = i * 7 % (n + 10);
        float4 want = at < n ? host[at] : make_float4(0, 0, 0, 0), got = o.host[i];
        REQUIRE(!memcmp(&want, &got, 16), "float4 %d: %g %g %g %g", at, got.x, got.y, got.z, got.w);
        uchar4 byte = make_uchar4(0, 0, 0, 0);
        if (i) memcpy(&byte, (char *)host.data() + 4 * (n - i), 4);
        REQUIRE(!memcmp(&byte, &p.host[i], 4), "uchar4 %d", n - i);
    }
    CHECK(cudaFree(f));
}

__global__ void fetch_2d(cudaTextureObject_t t, float *o, int n, float x0, float y0, float step) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n * n) o[i] = tex2D<float>(t, x0 + i % n * step, y0 + i / n * step);
}

/* Computes the filtered value by the programming guide's formula. */
static float bilinear(const std::vector<float> &a, int w, int h, float x, float y) {
    x -= 0.5f, y -= 0.5f;
    int i = (int)std::floor(x), j = (int)std::floor(y);
    float s = x - i, t = y - j;
    auto at = [&](int c, int r) {
        c = c < 0 ? 0 : c >= w ? w - 1 : c;
        r = r < 0 ? 0 : r >= h ? h - 1 : r;
        return a[r * w + c];
    };
    return (1 - s) * (1 - t) * at(i, j) + s * (1 - t) * at(i + 1, j) + (1 - s) * t * at(i, j + 1) +
           s * t * at(i + 1, j + 1);
}

static void pitched() {
    const int w = 37, h = 21, n = 64;
    std::vector<float> a(w * h);
    for (float &v : a)
        v = random_unit(&seed);
    float *d;
    size_t pitch;
    CHECK(cudaMallocPitch(&d, &pitch, w * 4, h));
    CHECK(cudaMemcpy2D(d, pitch, a.data(), w * 4, w * 4, h, cudaMemcpyHostToDevice));
    cudaResourceDesc r = {};
    r.resType = cudaResourceTypePitch2D;
    r.res.pitch2D.devPtr = d;
    r.res.pitch2D.desc = cudaCreateChannelDesc<float>();
    r.res.pitch2D.width = w;
    r.res.pitch2D.height = h;
    r.res.pitch2D.pitchInBytes = pitch;
    cudaTextureObject_t t =
        texture_of(r, reading(cudaAddressModeClamp, cudaFilterModeLinear, false));
    results<float> o(n * n);
    fetch_2d<<<n * n / 128, 128>>>(t, o.device, n, -2.3f, -1.7f, 0.61f);
    o.fetch();
    for (int i = 0; i < n * n; i++) {
        float want = bilinear(a, w, h, -2.3f + i % n * 0.61f, -1.7f + i / n * 0.61f);
        REQUIRE(near(o.host[i], want, 0.02f), "pitched %d: %g, not %g", i, o.host[i], want);
    }
    cudaResourceDesc back;
    CHECK(cudaGetTextureObjectResourceDesc(&back, t));
    REQUIRE(back.res.pitch2D.devPtr == d && back.res.pitch2D.pitchInBytes == pitch,
            "the description");
    CHECK(cudaDestroyTextureObject(t));
    CHECK(cudaFree(d));
}

/* ---- arrays ---------------------------------------------------------------------------------- */

__global__ void fetch_modes(cudaTextureObject_t wrap, cudaTextureObject_t mirror,
                            cudaTextureObject_t border, float4 *o, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = (i - n / 2 + 0.5f) / 16;
    if (i < n)
        o[i] = make_float4(tex2D<float>(wrap, x, 0.3f), tex2D<float>(mirror, x, 0.3f),
                           tex2D<float>(border, x, 0.3f), tex2D<float>(border, 0.3f, x));
}

static void modes() {
    const int w = 16, h = 4, n = 256;
    std::vector<unsigned char> a(w * h);
    for (auto &v : a)
        v = random_next(&seed);
    cudaChannelFormatDesc f = cudaCreateChannelDesc<unsigned char>();
    cudaArray_t array;
    CHECK(cudaMallocArray(&array, &f, w, h));
    CHECK(cudaMemcpy2DToArray(array, 0, 0, a.data(), w, w, h, cudaMemcpyHostToDevice));
    cudaTextureObject_t t[3];
    const cudaTextureAddressMode m[3] = {cudaAddressModeWrap, cudaAddressModeMirror,
                                         cudaAddressModeBorder};
    for (int k = 0; k < 3; k++) {
        cudaTextureDesc d = reading(m[k], cudaFilterModePoint, true, cudaReadModeNormalizedFloat);
        d.borderColor[0] = 3; /* the value is clamped to the largest of such an element, 1 */
        t[k] = texture_of(array_resource(array), d);
    }
    results<float4> o(n);
    fetch_modes<<<2, 128>>>(t[0], t[1], t[2], o.device, n);
    o.fetch();
    for (int i = 0; i < n; i++) {
        int x = i - n / 2, wrap = ((x % w) + w) % w, mirror = ((x % (2 * w)) + 2 * w) % (2 * w);
        if (mirror >= w) mirror = 2 * w - 1 - mirror;
        int y = (int)std::floor((x + 0.5f) / 16 * h);
        float4 want = make_float4(a[w + wrap] / 255.f, a[w + mirror] / 255.f,
                                  x < 0 || x >= w ? 1 : a[w + x] / 255.f,
                                  y < 0 || y >= h ? 1 : a[y * w + 4] / 255.f);
        REQUIRE(!memcmp(&want, &o.host[i], 16), "modes %d: %g %g %g %g", x, o.host[i].x,
                o.host[i].y, o.host[i].z, o.host[i].w);
    }
    for (int k = 0; k < 3; k++)
        CHECK(cudaDestroyTextureObject(t[k]));
    CHECK(cudaFreeArray(array));
}

static cudaArray_t array_3d(const std::vector<float> &a, cudaExtent e, unsigned flags) {
    cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    CHECK(cudaMalloc3DArray(&array, &f, e, flags));
    cudaMemcpy3DParms p = {};
    size_t rows = e.height ? e.height : 1;
    p.srcPtr = make_cudaPitchedPtr((void *)a.data(), e.width * 4, e.width, rows);
    p.dstArray = array;
    p.extent = make_cudaExtent(e.width, rows, e.depth);
    p.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&p));
    return array;
}

static std::vector<float> numbers(size_t n) {
    std::vector<float> a(n);
    for (size_t i = 0; i < n; i++)
        a[i] = (float)i;
    return a;
}

__global__ void fetch_others(cudaTextureObject_t volume, cudaTextureObject_t rows,
                             cudaTextureObject_t planes, cudaTextureObject_t cube,
                             cudaTextureObject_t cubes, float *o) {
    int i = threadIdx.x;
    o[i] = tex3D<float>(volume, i % 5 + 0.5f, i / 5 % 4 + 0.75f, i / 20 + 0.5f);
    o[64 + i] = tex1DLayered<float>(rows, i % 8 + 0.5f, i / 8);
    o[128 + i] = tex2DLayered<float>(planes, i % 4 + 0.5f, i / 4 % 4 + 0.5f, i / 16);
    float v[3] = {0.1f, 0.1f, 0.1f};
    v[i / 2 % 3] = i & 1 ? -1 : 1;
    o[192 + i] = texCubemap<float>(cube, v[0], v[1], v[2]);
    o[256 + i] = texCubemapLayered<float>(cubes, v[0], v[1], v[2], i / 6 % 3);
}

static void others() {
    cudaArray_t a[5] = {
        array_3d(numbers(5 * 4 * 4), make_cudaExtent(5, 4, 4), 0),
        array_3d(numbers(8 * 8), make_cudaExtent(8, 0, 8), cudaArrayLayered),
        array_3d(numbers(4 * 4 * 4), make_cudaExtent(4, 4, 4), cudaArrayLayered),
        array_3d(numbers(6), make_cudaExtent(1, 1, 6), cudaArrayCubemap),
        array_3d(numbers(18), make_cudaExtent(1, 1, 18), cudaArrayCubemap | cudaArrayLayered)};
    cudaTextureObject_t t[5];
    for (int k = 0; k < 5; k++)
        t[k] = texture_of(
            array_resource(a[k]),
            reading(cudaAddressModeClamp, k ? cudaFilterModePoint : cudaFilterModeLinear, k > 2));
    results<float> o(320);
    fetch_others<<<1, 64>>>(t[0], t[1], t[2], t[3], t[4], o.device);
    o.fetch();
    for (int i = 0; i < 64; i++) {
        int y = i / 5 % 4, face = 2 * (i / 2 % 3) + (i & 1);
        float between = y < 3 ? 0.25f * 5 : 0; /* a quarter of the way to the next row */
        REQUIRE(o.host[i] == i % 5 + 5 * y + 20 * (i / 20) + between, "tex3D %d: %g", i, o.host[i]);
        REQUIRE(o.host[64 + i] == i, "tex1DLayered %d: %g", i, o.host[64 + i]);
        REQUIRE(o.host[128 + i] == i, "tex2DLayered %d: %g", i, o.host[128 + i]);
        REQUIRE(o.host[192 + i] == face, "texCubemap %d: %g", i, o.host[192 + i]);
        REQUIRE(o.host[256 + i] == face + 6 * (i / 6 % 3), "texCubemapLayered %d: %g", i,
                o.host[256 + i]);
    }
    for (int k = 0; k < 5; k++) {
        CHECK(cudaDestroyTextureObject(t[k]));
        CHECK(cudaFreeArray(a[k]));
    }
}

__global__ void fetch_levels(cudaTextureObject_t t, float *o) {
    int i = threadIdx.x;
    o[i] = tex2DLod<float>(t, 0.4f, 0.6f, i / 8.f);
    float d = exp2f(i / 8.f) / 32;
    o[32 + i] = tex2DGrad<float>(t, 0.4f, 0.6f, make_float2(d, 0), make_float2(0, d / 2));
    o[64 + i] = tex2D<float>(t, 0.4f, 0.6f);
}

static void levels() {
    cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
    cudaMipmappedArray_t mips;
    CHECK(cudaMallocMipmappedArray(&mips, &f, make_cudaExtent(32, 16, 0), 4));
    for (int k = 0; k < 4; k++) {
        cudaArray_t level;
        cudaExtent e;
        CHECK(cudaGetMipmappedArrayLevel(&level, mips, k));
        CHECK(cudaArrayGetInfo(nullptr, &e, nullptr, level));
        REQUIRE(e.width == 32u >> k && e.height == 16u >> k, "level %d: %zux%zu", k, e.width,
                e.height);
        std::vector<float> a(e.width * e.height, 10.f * k);
        CHECK(cudaMemcpy2DToArray(level, 0, 0, a.data(), e.width * 4, e.width * 4, e.height,
                                  cudaMemcpyHostToDevice));
    }
    cudaResourceDesc r = {};
    r.resType = cudaResourceTypeMipmappedArray;
    r.res.mipmap.mipmap = mips;
    cudaTextureDesc d = reading(cudaAddressModeClamp, cudaFilterModeLinear, true);
    d.mipmapFilterMode = cudaFilterModeLinear;
    d.maxMipmapLevelClamp = 2.5f;
    cudaTextureObject_t t = texture_of(r, d);
    results<float> o(96);
    fetch_levels<<<1, 32>>>(t, o.device);
    o.fetch();
    for (int i = 0; i < 32; i++) {
        float want = i / 8.f < 2.5f ? i / 8.f : 2.5f;
        REQUIRE(near(o.host[i], 10 * want, 1e-5f), "tex2DLod %d: %g", i, o.host[i]);
        REQUIRE(near(o.host[32 + i], 10 * want, 0.05f), "tex2DGrad %d: %g", i, o.host[32 + i]);
        REQUIRE(o.host[64 + i] == 0, "tex2D %d: %g", i, o.host[64 + i]);
    }
    CHECK(cudaDestroyTextureObject(t));
    CHECK(cudaFreeMipmappedArray(mips));
}

/* ---- surfaces -------------------------------------------------------------------------------- */

__global__ void turn(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x < w && y < h) surf2Dwrite(surf2Dread<float4>(from, x * 16, y), to, y * 16, x);
}

__global__ void beyond(cudaSurfaceObject_t s, int4 *o) {
    int i = threadIdx.x;
    o[i] = make_int4(surf2DLayeredread<int>(s, 4 * (i - 8), 1, 1, cudaBoundaryModeZero),
                     surf2DLayeredread<int>(s, 4 * (i - 8), 1, i, cudaBoundaryModeClamp), 0, 0);
    surf2DLayeredwrite(100 + i, s, 4 * (i - 8), 0, 0, cudaBoundaryModeZero);
}

static void surfaces() {
    const int w = 40, h = 24;
    cudaChannelFormatDesc f = cudaCreateChannelDesc<float4>(), g = cudaCreateChannelDesc<int>();
    cudaArray_t a, b, c;
    std::vector<float4> host(w * h), back(w * h);
    for (int i = 0; i < w * h; i++)
        host[i] = make_float4(i, 2 * i, random_unit(&seed), -i);
    CHECK(cudaMallocArray(&a, &f, w, h, cudaArraySurfaceLoadStore));
    CHECK(cudaMallocArray(&b, &f, h, w, cudaArraySurfaceLoadStore));
    CHECK(cudaMemcpy2DToArray(a, 0, 0, host.data(), w * 16, w * 16, h, cudaMemcpyHostToDevice));
    cudaResourceDesc ra = array_resource(a), rb = array_resource(b);
    cudaSurfaceObject_t from, to, s;
    CHECK(cudaCreateSurfaceObject(&from, &ra));
    CHECK(cudaCreateSurfaceObject(&to, &rb));
    turn<<<dim3(2, h), 32>>>(from, to, w, h);
    float4 *pinned, *device;
    CHECK(cudaMallocHost(&pinned, w * h * 16));
    CHECK(cudaMalloc(&device, w * h * 16));
    CHECK(cudaMemcpy2DFromArrayAsync(pinned, h * 16, b, 0, 0, h * 16, w, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy2DFromArray(device, h * 16, b, 0, 0, h * 16, w, cudaMemcpyDeviceToDevice));
    CHECK(cudaMemcpy2DToArray(a, 16, 1, device, w * 16, 16, 2, cudaMemcpyDeviceToDevice));
    CHECK(cudaMemcpy2DArrayToArray(a, 0, 0, b, 32, 3, 16, 1, cudaMemcpyDeviceToDevice));
    CHECK(cudaMemcpy2DFromArray(back.data(), w * 16, a, 0, 0, w * 16, h, cudaMemcpyDeviceToHost));
    for (int i = 0; i < w * h; i++)
        REQUIRE(!memcmp(&pinned[i % w * h + i / w], &host[i], 16), "surf2D %d", i);
    REQUIRE(!memcmp(&back[0], &host[2 * w + 3], 16) && !memcmp(&back[w + 1], &host[0], 16) &&
                !memcmp(&back[5], &host[5], 16) && !memcmp(&back[2 * w + 1], &pinned[w], 16),
            "copies between arrays");
    sum = checksum_add(sum, pinned, w * h * 16);

    CHECK(cudaMalloc3DArray(&c, &g, make_cudaExtent(8, 2, 3),
                            cudaArraySurfaceLoadStore | cudaArrayLayered));
    cudaMemcpy3DParms p = {};
    std::vector<int> ints(48);
    for (int i = 0; i < 48; i++)
        ints[i] = i;
    p.srcPtr = make_cudaPitchedPtr(ints.data(), 32, 8, 2);
    p.dstArray = c;
    p.extent = make_cudaExtent(8, 2, 3);
    p.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&p));
    cudaResourceDesc rc = array_resource(c);
    CHECK(cudaCreateSurfaceObject(&s, &rc));
    results<int4> o(24);
    beyond<<<1, 24>>>(s, o.device);
    o.fetch();
    for (int i = 0; i < 24; i++) {
        int x = i - 8, in = x < 0 ? 0 : x > 7 ? 7 : x, layer = i > 2 ? 2 : i;
        REQUIRE(o.host[i].x == (x == in ? 24 + x : 0), "zero %d: %d", x, o.host[i].x);
        REQUIRE(o.host[i].y == 16 * layer + 8 + in, "clamp %d: %d", x, o.host[i].y);
    }
    CHECK(cudaDestroySurfaceObject(from));
    CHECK(cudaDestroySurfaceObject(to));
    CHECK(cudaDestroySurfaceObject(s));
    for (cudaArray_t array : {a, b, c})
        CHECK(cudaFreeArray(array));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFree(device));
}

__global__ void fetch_gather(cudaTextureObject_t t, float4 *o) {
    o[threadIdx.x] = tex2Dgather<float4>(t, threadIdx.x % 4 + 1.0f, threadIdx.x / 4 + 1.0f, 0);
}

static void gather() {
    cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
    std::vector<float> a = numbers(25);
    cudaArray_t array;
    CHECK(cudaMallocArray(&array, &f, 5, 5, cudaArrayTextureGather));
    CHECK(cudaMemcpy2DToArray(array, 0, 0, a.data(), 20, 20, 5, cudaMemcpyHostToDevice));
    cudaTextureObject_t t = texture_of(array_resource(array),
                                       reading(cudaAddressModeClamp, cudaFilterModePoint, false));
    results<float4> o(16);
    fetch_gather<<<1, 16>>>(t, o.device);
    o.fetch();
    for (int i = 0; i < 16; i++) {
        float first = i % 4 + 5 * (i / 4);
        float4 want = make_float4(first + 5, first + 6, first + 1, first);
        REQUIRE(!memcmp(&want, &o.host[i], 16), "tex2Dgather %d: %g %g %g %g", i, o.host[i].x,
                o.host[i].y, o.host[i].z, o.host[i].w);
    }
    CHECK(cudaDestroyTextureObject(t));
    CHECK(cudaFreeArray(array));
}

/* ---- invalid calls, and many objects --------------------------------------------------------- */

#define FAILS(call, want)                                                           \
    do {                                                                            \
        cudaError_t fails_err = (call);                                             \
        REQUIRE(fails_err == (want), "%s: %s", #call, cudaGetErrorName(fails_err)); \
        cudaGetLastError();                                                         \
    } while (0)

static void mistakes() {
    cudaChannelFormatDesc f = cudaCreateChannelDesc<int>(),
                          half = {16, 0, 0, 0, cudaChannelFormatKindFloat};
    cudaArray_t a, b;
    cudaTextureObject_t t;
    cudaSurfaceObject_t s;
    CHECK(cudaMallocArray(&a, &f, 8, 8));
    CHECK(cudaMallocArray(&b, &half, 8, 8));
    cudaResourceDesc r = array_resource(a);
    cudaTextureDesc d = reading(cudaAddressModeClamp, cudaFilterModeLinear, false);
    REQUIRE(cudaCreateTextureObject(&t, &r, &d, nullptr) != cudaSuccess, "integers have no filter");
    cudaGetLastError();
    /* Only surface references need the flag: a surface object may use any array. */
    CHECK(cudaCreateSurfaceObject(&s, &r));
    CHECK(cudaDestroySurfaceObject(s));
    int bytes[64];
    FAILS(cudaMemcpy2DToArray(a, 0, 1, bytes, 32, 32, 8, cudaMemcpyHostToDevice),
          cudaErrorInvalidValue);
    FAILS(cudaMemcpy2DToArray(a, 4, 0, bytes, 32, 32, 8, cudaMemcpyHostToDevice),
          cudaErrorInvalidValue);
    FAILS(cudaMallocArray(&a, &f, 1u << 20, 8), cudaErrorInvalidValue);
    char *p;
    CHECK(cudaMalloc(&p, 4096));
    r.resType = cudaResourceTypeLinear;
    r.res.linear.devPtr = p + 4;
    r.res.linear.desc = f;
    r.res.linear.sizeInBytes = 1024;
    d.filterMode = cudaFilterModePoint;
    REQUIRE(cudaCreateTextureObject(&t, &r, &d, nullptr) != cudaSuccess,
            "linear memory is aligned");
    cudaGetLastError();
    CHECK(cudaFree(p));
    CHECK(cudaFreeArray(a));
    CHECK(cudaFreeArray(b));
    FAILS(cudaFreeArray(b), cudaErrorInvalidResourceHandle);
}

/* Makes more objects than there are numbers: numbers are reused. */
static void many() {
    float *f;
    CHECK(cudaMalloc(&f, 4096));
    CHECK(cudaMemset(f, 0x3f, 4096));
    cudaResourceDesc r = {};
    r.resType = cudaResourceTypeLinear;
    r.res.linear.devPtr = f;
    r.res.linear.desc = cudaCreateChannelDesc<float>();
    r.res.linear.sizeInBytes = 4096;
    cudaTextureDesc d = reading(cudaAddressModeClamp, cudaFilterModePoint, false);
    cudaTextureObject_t last = 0;
    results<float> o(1);
    for (int k = 0; k < 70000; k++) {
        cudaTextureObject_t t = texture_of(r, d);
        REQUIRE(t != last, "two live objects are one");
        if (last) CHECK(cudaDestroyTextureObject(last));
        last = t;
        if (k % 10000 == 0) fetch_2d<<<1, 1>>>(t, o.device, 1, 5.5f, 0, 0);
    }
    fetch_2d<<<1, 1>>>(last, o.device, 1, 5.5f, 0, 0);
    o.fetch();
    REQUIRE(o.host[0] > 0.74f && o.host[0] < 0.75f, "%g", o.host[0]);
    CHECK(cudaDestroyTextureObject(last));
    CHECK(cudaFree(f));
}

int main(void) {
    linear();
    pitched();
    modes();
    others();
    levels();
    surfaces();
    gather();
    mistakes();
    many();
    checksum_print("textures", sum);
    return 0;
}
