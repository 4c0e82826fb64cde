/* SPDX-License-Identifier: Apache-2.0
 *
 *   driver_worker [-t] TOPIC... -t: print the times of single calls
 * prints "ok TOPIC" for each that came to its end.
 */
#include <dlfcn.h>
#include <string.h>
#include <time.h>

#include "test/e2e/driver/driver.h"
#include "test/e2e/driver/driver_code.h"

struct driver cu;
CUcontext driver_context;
CUfunction driver_fill, driver_count, driver_add, driver_wild, driver_endless, driver_bump;
bool driver_times;

static const struct {
    const char *name;
    void (*run)(void);
} topics[] = {{"memory", topic_memory},     {"words", topic_words},       {"green", topic_green},
              {"code", topic_code},         {"textures", topic_textures}, {"fault", topic_fault},
              {"exit", topic_exit},         {"shared", topic_shared},     {"peer", topic_peer},
              {"unshared", topic_unshared}, {"many", topic_many},         {"holds", topic_holds},
              {"busy", topic_busy}};

/* ---- helpers of the topics ------------------------------------------------------------------- */

void driver_fail(const char *file, int line, const char *what) {
    fprintf(stderr, "%s:%d: wrong: %s\n", file, line, what);
    exit(1);
}

void driver_expect(CUresult got, CUresult want, const char *what, const char *file, int line) {
    if (got == want) return;
    fprintf(stderr, "%s:%d: %s gave %d, expected %d\n", file, line, what, (int)got, (int)want);
    exit(1);
}

CUfunction driver_function(CUmodule module, const char *name) {
    CUfunction f;
    WORKS(cu.ModuleGetFunction(&f, module, name));
    return f;
}

void driver_launch(CUfunction f, CUstream stream, unsigned words, void **params) {
    WORKS(cu.LaunchKernel(f, (words + 127) / 128, 1, 1, 128, 1, 1, 0, stream, params, NULL));
}

void driver_fill_words(CUdeviceptr p, unsigned words, unsigned seed, CUstream stream) {
    void *params[] = {&p, &words, &seed};
    driver_launch(driver_fill, stream, words, params);
}

void driver_check_words(CUdeviceptr p, unsigned words, unsigned seed, const char *what) {
    static CUdeviceptr others;
    unsigned n;
    if (!others) WORKS(cu.MemAlloc(&others, sizeof(n)));
    void *params[] = {&p, &words, &seed, &others};
    WORKS(cu.MemsetD32Async(others, 0, 1, CU_STREAM_LEGACY));
    driver_launch(driver_count, CU_STREAM_LEGACY, words, params);
    WORKS(cu.MemcpyDtoHAsync(&n, others, sizeof(n), CU_STREAM_LEGACY));
    WORKS(cu.StreamSynchronize(CU_STREAM_LEGACY));
    if (n == 0) return;
    fprintf(stderr, "%s: %u words differ\n", what, n);
    exit(1);
}

unsigned long long driver_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (unsigned long long)t.tv_sec * 1000000000ull + (unsigned long long)t.tv_nsec;
}

void driver_took(const char *what, unsigned calls, unsigned long long begin) {
    if (driver_times)
        printf("%-28s %9.2f us\n", what, (double)(driver_now() - begin) / 1e3 / calls);
}

/* ---- finding the driver ---------------------------------------------------------------------- */

static void find(void) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    __typeof__(cuGetProcAddress_v2) *get = library ? dlsym(library, "cuGetProcAddress_v2") : NULL;
    CUdriverProcAddressQueryResult why;
    REQUIRE(get);
#define X(member, name, form)                                                    \
    if (get(name, (void **)&cu.member, DRIVER_VERSION, 0, &why) || !cu.member) { \
        fprintf(stderr, "%s is not there (%d)\n", name, (int)why);               \
        exit(1);                                                                 \
    }
    DRIVER_ENTRIES(X)
#undef X
}

static void begin(void) {
    CUdevice device;
    CUmodule module;
    find();
    WORKS(cu.Init(0));
    WORKS(cu.DeviceGet(&device, 0));
    WORKS(cu.DevicePrimaryCtxRetain(&driver_context, device));
    WORKS(cu.CtxSetCurrent(driver_context));
    WORKS(cu.ModuleLoadData(&module, DRIVER_CODE));
    driver_fill = driver_function(module, "fill");
    driver_count = driver_function(module, "count");
    driver_add = driver_function(module, "add");
    driver_wild = driver_function(module, "wild");
    driver_endless = driver_function(module, "endless");
    driver_bump = driver_function(module, "bump");
}

static void run(const char *name) {
    for (size_t i = 0; i < sizeof(topics) / sizeof(topics[0]); i++) {
        if (strcmp(topics[i].name, name) != 0) continue;
        topics[i].run();
        printf("ok %s\n", name);
        fflush(stdout);
        return;
    }
    fprintf(stderr, "no topic %s\n", name);
    exit(2);
}

int main(int argc, char **argv) {
    int first = argc > 1 && strcmp(argv[1], "-t") == 0 ? 2 : 1;
    driver_times = first == 2;
    begin();
    for (int i = first; i < argc; i++)
        run(argv[i]);
    return 0;
}
