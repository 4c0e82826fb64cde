/* SPDX-License-Identifier: Apache-2.0
 *
 * A program to be built with a sanitizer of the host compiler: a kernel uses pageable, pinned,
 * registered and managed memory. Memory that the driver writes is initialised before, since
 * MemorySanitizer does not see writes of a library that it did not build. With an argument, the
 * program prints `ready` at the end and waits for the end of its input. Exit status 7: all is
 * right.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 256
#define BYTES (COUNT * sizeof(int))
#define REGISTERED (1 << 20)

static const char ptx[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
                          ".visible .entry twice(.param .u64 p) {\n"
                          ".reg .b32 %r<3>; .reg .b64 %d<3>;\n"
                          "ld.param.u64 %d1, [p];\n"
                          "cvta.to.global.u64 %d1, %d1;\n"
                          "mov.u32 %r1, %tid.x;\n"
                          "mul.wide.u32 %d2, %r1, 4;\n"
                          "add.s64 %d1, %d1, %d2;\n"
                          "ld.global.u32 %r2, [%d1];\n"
                          "add.u32 %r2, %r2, %r2;\n"
                          "st.global.u32 [%d1], %r2;\n"
                          "ret;\n}\n";

static void *driver;

static void *find(const char *name) {
    void *f = dlsym(driver, name);

    if (!f) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    return f;
}

/* Calls a driver function under its exported name. */
#define TEXT(name) #name
#define CALL(name, ...)                                                    \
    do {                                                                   \
        CUresult r = ((__typeof__(&(name)))find(TEXT(name)))(__VA_ARGS__); \
        if (r) {                                                           \
            printf("%s: error %d\n", #name, (int)r);                       \
            exit(1);                                                       \
        }                                                                  \
    } while (0)

static CUfunction twice;

static void fill(int *p) {
    for (int i = 0; i < COUNT; i++)
        p[i] = i;
}

static void run(CUdeviceptr p) {
    void *args[] = {&p};

    CALL(cuLaunchKernel, twice, 1, 1, 1, COUNT, 1, 1, 0, NULL, args, NULL);
    CALL(cuCtxSynchronize);
}

static void expect_doubled(const int *p, const char *memory) {
    for (int i = 0; i < COUNT; i++) {
        if (p[i] == 2 * i) continue;
        printf("%s memory: element %d is %d\n", memory, i, p[i]);
        exit(3);
    }
}

static void use_device_memory(void) {
    int *in = calloc(1, BYTES), *out = calloc(1, BYTES), *pinned = NULL;
    CUdeviceptr p = 0;

    fill(in);
    CALL(cuMemAlloc, &p, BYTES);
    CALL(cuMemcpyHtoD, p, in, BYTES);
    run(p);
    CALL(cuMemcpyDtoH, out, p, BYTES);
    expect_doubled(out, "pageable");
    CALL(cuMemAllocHost, (void **)&pinned, BYTES);
    CALL(cuMemcpyDtoH, pinned, p, BYTES);
    expect_doubled(pinned, "pinned");
    CALL(cuMemFreeHost, pinned);
    CALL(cuMemFree, p);
    free(in);
    free(out);
}

static void use_host_memory(void) {
    int *own = aligned_alloc(4096, REGISTERED);
    CUdeviceptr p = 0;

    memset(own, 0, REGISTERED);
    fill(own);
    CALL(cuMemHostRegister, own, REGISTERED, CU_MEMHOSTREGISTER_DEVICEMAP);
    CALL(cuMemHostGetDevicePointer, &p, own, 0);
    run(p);
    expect_doubled(own, "registered");
    CALL(cuMemHostUnregister, own);
    expect_doubled(own, "once registered");
    free(own);
    CALL(cuMemAllocManaged, &p, BYTES, CU_MEM_ATTACH_GLOBAL);
    fill((int *)p);
    run(p);
    expect_doubled((const int *)p, "managed");
    CALL(cuMemFree, p);
}

int main(int argc, char **argv) {
    CUcontext context = NULL;
    CUmodule module = NULL;
    CUdevice device = 0;

    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) {
        printf("%s\n", dlerror());
        return 2;
    }
    CALL(cuInit, 0);
    CALL(cuDeviceGet, &device, 0);
    CALL(cuDevicePrimaryCtxRetain, &context, device);
    CALL(cuCtxSetCurrent, context);
    CALL(cuModuleLoadData, &module, ptx);
    CALL(cuModuleGetFunction, &twice, module, "twice");
    use_device_memory();
    use_host_memory();
    if (argc > 1) {
        printf("ready\n");
        fflush(stdout);
        getchar();
    }
    return 7;
}
