/* SPDX-License-Identifier: Apache-2.0
 *
 * A program of the CUDA runtime that needs no nvcc: it loads the given libcudart.so, registers
 * kernels as compiled programs do, and prints a checksum of their results, which is the same for
 * every version of the runtime. Usage: runtime LIBCUDART FATBIN
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 100003
#define BLOCK 256
#define BLOCKS ((N + BLOCK - 1) / BLOCK)
#define TO_DEVICE 1
#define TO_HOST 2
#define INVALID_VALUE 1
#define INVALID_CONFIGURATION 9

struct dim3 {
    unsigned int x, y, z;
};

/* The wrapper that nvcc puts around a fatbin. */
static struct {
    uint32_t magic, version;
    const void *data;
    void *list;
} wrapper = {0x466243b1, 1, NULL, NULL};

static void *runtime;

static void *find(const char *name) {
    void *f = dlsym(runtime, name);
    if (f) return f;
    fprintf(stderr, "%s\n", dlerror());
    exit(3);
}

/* The functions that have not changed from 11.8 to 13.5. X(type of the function, name) */
#define FUNCTIONS(X)                                                                              \
    X(void **(*)(void *), __cudaRegisterFatBinary)                                                \
    X(void (*)(void **), __cudaRegisterFatBinaryEnd)                                              \
    X(void (*)(void **), __cudaUnregisterFatBinary)                                               \
    X(void (*)(void **, const char *, char *, const char *, int, void *, void *, void *, void *,  \
               int *),                                                                            \
      __cudaRegisterFunction)                                                                     \
    X(void (*)(void **, char *, char *, const char *, int, size_t, int, int), __cudaRegisterVar)  \
    X(int (*)(int *), cudaRuntimeGetVersion)                                                      \
    X(int (*)(int *), cudaDriverGetVersion)                                                       \
    X(int (*)(int *), cudaGetDeviceCount)                                                         \
    X(int (*)(void), cudaGetLastError)                                                            \
    X(const char *(*)(int), cudaGetErrorString)                                                   \
    X(int (*)(void **, size_t), cudaMalloc)                                                       \
    X(int (*)(void *), cudaFree)                                                                  \
    X(int (*)(void **, size_t), cudaMallocHost)                                                   \
    X(int (*)(void *), cudaFreeHost)                                                              \
    X(int (*)(void **, size_t, unsigned int), cudaMallocManaged)                                  \
    X(int (*)(void **, size_t, void *), cudaMallocAsync)                                          \
    X(int (*)(void *, void *), cudaFreeAsync)                                                     \
    X(int (*)(void *, const void *, size_t, int), cudaMemcpy)                                     \
    X(int (*)(void *, const void *, size_t, int, void *), cudaMemcpyAsync)                        \
    X(int (*)(const void *, const void *, size_t, size_t, int), cudaMemcpyToSymbol)               \
    X(int (*)(void **), cudaStreamCreate)                                                         \
    X(int (*)(void *), cudaStreamSynchronize)                                                     \
    X(int (*)(void *), cudaStreamDestroy)                                                         \
    X(int (*)(void **), cudaEventCreate)                                                          \
    X(int (*)(void *, void *), cudaEventRecord)                                                   \
    X(int (*)(void *, void *, unsigned int), cudaStreamWaitEvent)                                 \
    X(int (*)(float *, void *, void *), cudaEventElapsedTime)                                     \
    X(int (*)(void *, void (*)(void *), void *), cudaLaunchHostFunc)                              \
    X(int (*)(int *, const void *, int, size_t), cudaOccupancyMaxActiveBlocksPerMultiprocessor)   \
    X(int (*)(const void *, struct dim3, struct dim3, void **, size_t, void *), cudaLaunchKernel) \
    X(int (*)(void), cudaDeviceSynchronize)                                                       \
    X(int (*)(void), cudaDeviceReset)

#define X(type, name) static __typeof__((type)0) p_##name;
FUNCTIONS(X)
#undef X

static void find_all(void) {
#define X(type, name) p_##name = (type)find(#name);
    FUNCTIONS(X)
#undef X
}

static void check(int result, int want, const char *what) {
    if (result == want) return;
    fprintf(stderr, "%s gave %d (%s), expected %d\n", what, result, p_cudaGetErrorString(result),
            want);
    exit(1);
}

#define CHECK(name, ...) check(p_##name(__VA_ARGS__), 0, #name)

/* ---- registration, as in the stubs of nvcc --------------------------------------------------- */

/* The addresses of these variables stand for the kernels and the variable. */
static char scale, sum, factor;

static void **register_all(const char *path) {
    FILE *f = fopen(path, "rb");
    static char image[1 << 20];
    if (!f || fread(image, 1, sizeof(image), f) == 0) exit(4);
    fclose(f);
    wrapper.data = image;
    void **handle = p___cudaRegisterFatBinary(&wrapper);
    p___cudaRegisterFunction(handle, &scale, "scale", "scale", -1, NULL, NULL, NULL, NULL, NULL);
    p___cudaRegisterFunction(handle, &sum, "sum", "sum", -1, NULL, NULL, NULL, NULL, NULL);
    p___cudaRegisterVar(handle, &factor, "factor", "factor", 0, sizeof(float), 1, 0);
    p___cudaRegisterFatBinaryEnd(handle);
    return handle;
}

/* ---- work ------------------------------------------------------------------------------------ */

static void launch(const char *kernel, void *in, void *out, int n, size_t shared, void *stream) {
    void *args[] = {&in, &out, &n};
    CHECK(cudaLaunchKernel, kernel, (struct dim3){BLOCKS, 1, 1}, (struct dim3){BLOCK, 1, 1}, args,
          shared, stream);
}

static void note(void *arg) {
    ++*(int *)arg;
}

static uint64_t add(uint64_t hash, const void *data, size_t bytes) {
    const unsigned char *p = data;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ p[i]) * 1099511628211ull;
    return hash;
}

/* Two streams: one scales, the other adds up after an event. */
static uint64_t work(void) {
    static float host[N], parts[BLOCKS];
    void *in, *out, *sums, *first, *second, *scaled, *begin;
    float by = 1.5f, ms = -1;
    int noted = 0;
    for (int i = 0; i < N; i++)
        host[i] = (float)(i % 1000) / 8;
    CHECK(cudaStreamCreate, &first);
    CHECK(cudaStreamCreate, &second);
    CHECK(cudaEventCreate, &begin);
    CHECK(cudaEventCreate, &scaled);
    CHECK(cudaMalloc, &in, sizeof(host));
    CHECK(cudaMalloc, &out, sizeof(host));
    CHECK(cudaMallocAsync, &sums, sizeof(parts), second);
    CHECK(cudaMemcpyToSymbol, &factor, &by, sizeof(by), 0, TO_DEVICE);
    CHECK(cudaEventRecord, begin, first);
    CHECK(cudaMemcpyAsync, in, host, sizeof(host), TO_DEVICE, first);
    launch(&scale, in, out, N, 0, first);
    CHECK(cudaEventRecord, scaled, first);
    CHECK(cudaStreamWaitEvent, second, scaled, 0);
    launch(&sum, out, sums, N, BLOCK * sizeof(float), second);
    CHECK(cudaMemcpyAsync, parts, sums, sizeof(parts), TO_HOST, second);
    CHECK(cudaFreeAsync, sums, second);
    CHECK(cudaLaunchHostFunc, second, note, &noted);
    CHECK(cudaStreamSynchronize, second);
    CHECK(cudaEventElapsedTime, &ms, begin, scaled);
    CHECK(cudaMemcpy, host, out, sizeof(host), TO_HOST);
    CHECK(cudaFree, in);
    CHECK(cudaFree, out);
    CHECK(cudaStreamDestroy, first);
    CHECK(cudaStreamDestroy, second);
    if (noted != 1 || ms < 0 || host[999] != 999.0f / 8 * 1.5f) exit(5);
    return add(add(1469598103934665603ull, host, sizeof(host)), parts, sizeof(parts));
}

/* Kernels that read pinned and managed memory in place. */
static uint64_t work_in_place(uint64_t hash) {
    void *pinned, *managed;
    CHECK(cudaMallocHost, &pinned, N * sizeof(float));
    CHECK(cudaMallocManaged, &managed, N * sizeof(float), 1);
    for (int i = 0; i < N; i++)
        ((float *)pinned)[i] = (float)i;
    launch(&scale, pinned, managed, N, 0, NULL);
    CHECK(cudaDeviceSynchronize);
    hash = add(hash, managed, N * sizeof(float));
    CHECK(cudaFreeHost, pinned);
    CHECK(cudaFree, managed);
    return hash;
}

static void refuse(void) {
    int n = 0, blocks = 0;
    void *none = NULL, *args[] = {&none, &none, &n};
    check(p_cudaLaunchKernel(&scale, (struct dim3){0, 1, 1}, (struct dim3){1, 1, 1}, args, 0, NULL),
          INVALID_CONFIGURATION, "an empty grid");
    check(p_cudaGetLastError(), INVALID_CONFIGURATION, "the last error");
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor, &blocks, &sum, BLOCK, 0);
    if (blocks < 1) exit(6);
}

/* ---- functions of newer runtimes ------------------------------------------------------------- */

static void ask_of_resources(void) {
    unsigned int words[36] = {
        0}; /* the fields of a cudaDevResource: the type first, and the number of multiprocessors */
    int (*ask)(void *, void *, int) = find("cudaStreamGetDevResource");
    check(ask(NULL, words, 1), 0, "cudaStreamGetDevResource");
    if (words[0] != 1 || words[24] == 0) exit(8);
}

static void use_what_has_more_arguments(void) {
    static const char sent[] = "as the driver of 13.2 has it";
    char back[sizeof(sent)] = "";
    struct {
        int order, places[4];
        unsigned int flags;
    } in_order = {.order = 1};
    void *device;
    int noted = 0;
    size_t count = 0;
    int (*copy)(void *, const void *, size_t, void *, void *) =
        find("cudaMemcpyWithAttributesAsync");
    int (*call)(void *, void (*)(void *), void *, unsigned int) = find("cudaLaunchHostFunc_v2");
    int (*count_of)(const void *, size_t *) = find("cudaFuncGetParamCount");
    CHECK(cudaMalloc, &device, sizeof(sent));
    check(copy(device, sent, sizeof(sent), &in_order, NULL), 0, "cudaMemcpyWithAttributesAsync");
    check(copy(back, device, sizeof(sent), &in_order, NULL), 0, "cudaMemcpyWithAttributesAsync");
    check(call(NULL, note, &noted, 1), 0, "cudaLaunchHostFunc_v2");
    check(call(NULL, note, &noted, 2), INVALID_VALUE, "a way to wait that there is not");
    check(p_cudaGetLastError(), INVALID_VALUE, "the last error");
    check(count_of(&scale, &count), 0, "cudaFuncGetParamCount");
    CHECK(cudaDeviceSynchronize);
    if (noted != 1 || count != 3 || strcmp(back, sent) != 0) exit(9);
    CHECK(cudaFree, device);
}

int main(int argc, char **argv) {
    int version = 0, driver = 0, count = 0;
    if (argc != 3 || !(runtime = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL))) {
        fprintf(stderr, "%s\n", argc == 3 ? dlerror() : "runtime LIBCUDART FATBIN");
        return 2;
    }
    find_all();
    void **handle = register_all(argv[2]);
    CHECK(cudaRuntimeGetVersion, &version);
    CHECK(cudaDriverGetVersion, &driver);
    CHECK(cudaGetDeviceCount, &count);
    if (count != 1 || driver < version) return 7;
    uint64_t hash = work_in_place(work());
    refuse();
    if (version >= 13010) ask_of_resources();
    if (version >= 13020) use_what_has_more_arguments();
    printf("version %d\nruntime checksum %016llx\n", version, (unsigned long long)hash);
    CHECK(cudaDeviceReset);
    p___cudaUnregisterFatBinary(handle);
    return 0;
}
