/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads images as a worker does for its clients: reads the attributes of their functions, loads one
 * image several times, unloads while kernels run, and launches with parameters as bytes.
 */
#include <string.h>

#include "test/e2e/driver/driver.h"
#include "test/e2e/driver/driver_code.h"

#define COPIES 8
#define LOG_BYTES 2048
#define FUNCTIONS 16

/* ---- loading --------------------------------------------------------------------------------- */

struct logs {
    char error[LOG_BYTES], info[LOG_BYTES];
};

static CUresult load(const void *image, CUmodule *out, struct logs *logs) {
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                              CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                              CU_JIT_LOG_VERBOSE};
    void *values[] = {logs->error, (void *)(uintptr_t)LOG_BYTES, logs->info,
                      (void *)(uintptr_t)LOG_BYTES, (void *)1};
    memset(logs, 0, sizeof(*logs));
    return cu.ModuleLoadDataEx(out, image, 5, options, values);
}

static void logs_say_why(void) {
    static const char wrong[] = ".version 7.8\n.target sm_75\n.address_size 64\n"
                                ".visible .entry f() {\n.reg .u32 %r1;\nfrobnicate %r1;\nret;\n}\n";
    CUmodule m;
    struct logs logs;
    WORKS(load(DRIVER_CODE, &m, &logs));
    REQUIRE(logs.error[0] == '\0');
    WORKS(cu.ModuleUnload(m));
    GIVES(CUDA_ERROR_INVALID_PTX, load(wrong, &m, &logs));
    REQUIRE(strstr(logs.error, "frobnicate"));
    GIVES(CUDA_ERROR_INVALID_IMAGE, cu.ModuleLoadData(&m, "\x7f"
                                                          "ELF and then nothing of one     "));
}

/* ---- attributes of a function ---------------------------------------------------------------- */

static void look_at(CUfunction f) {
    const char *name;
    size_t offset, bytes;
    int value, blocks;
    size_t dynamic;
    WORKS(cu.FuncLoad(f));
    WORKS(cu.FuncGetName(&name, f));
    for (int a = 0; a <= CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE; a++)
        WORKS(cu.FuncGetAttribute(&value, (CUfunction_attribute)a, f));
    WORKS(cu.FuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, f));
    REQUIRE(value > 0);
    WORKS(cu.OccupancyMaxActiveBlocks(&blocks, f, 128, 0));
    REQUIRE(blocks > 0);
    WORKS(cu.OccupancyMaxPotentialBlockSize(&blocks, &value, f, NULL, 0, 0));
    REQUIRE(blocks > 0 && value > 0);
    WORKS(cu.OccupancyAvailableDynamicSMem(&dynamic, f, 1, 128));
    if (strcmp(name, "count") != 0) return;
    const size_t offsets[] = {0, 8, 12, 16}, sizes[] = {8, 4, 4, 8};
    for (size_t i = 0; i < 4; i++) {
        WORKS(cu.FuncGetParamInfo(f, i, &offset, &bytes));
        REQUIRE(offset == offsets[i] && bytes == sizes[i]);
    }
    GIVES(CUDA_ERROR_INVALID_VALUE, cu.FuncGetParamInfo(f, 4, &offset, &bytes));
}

static void functions_of(CUmodule m) {
    CUfunction all[FUNCTIONS];
    unsigned count;
    WORKS(cu.ModuleGetFunctionCount(&count, m));
    REQUIRE(count == 6);
    WORKS(cu.ModuleEnumerateFunctions(all, count, m));
    for (unsigned i = 0; i < count; i++)
        look_at(all[i]);
}

/* ---- one image, several times ---------------------------------------------------------------- */

static unsigned bump(CUfunction f, CUdeviceptr out, unsigned by) {
    unsigned got;
    void *params[] = {&out, &by};
    WORKS(cu.LaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, CU_STREAM_LEGACY, params, NULL));
    WORKS(cu.MemcpyDtoHAsync(&got, out, sizeof(got), CU_STREAM_LEGACY));
    WORKS(cu.StreamSynchronize(CU_STREAM_LEGACY));
    return got;
}

/* Each copy has variables of its own; one is unloaded while a kernel of another runs. */
static void copies_of_one(CUdeviceptr out) {
    CUmodule m[COPIES];
    CUdeviceptr counter[COPIES];
    CUfunction f[COPIES];
    size_t bytes;
    struct logs logs;
    for (int i = 0; i < COPIES; i++) {
        WORKS(load(DRIVER_CODE, &m[i], &logs));
        WORKS(cu.ModuleGetGlobal(&counter[i], &bytes, m[i], "counter"));
        REQUIRE(bytes == 4);
        for (int k = 0; k < i; k++)
            REQUIRE(counter[k] != counter[i]);
        f[i] = driver_function(m[i], "bump");
    }
    GIVES(CUDA_ERROR_NOT_FOUND, cu.ModuleGetGlobal(&counter[0], &bytes, m[0], "nobody"));
    functions_of(m[0]);
    for (unsigned i = 0; i < COPIES; i++)
        REQUIRE(bump(f[i], out, i) == 7 + i);
    for (unsigned i = 0; i < COPIES; i++)
        REQUIRE(bump(f[i], out, 100) == 107 + i);
    for (int i = 0; i < COPIES; i++)
        WORKS(cu.ModuleUnload(m[i]));
    GIVES(CUDA_ERROR_INVALID_HANDLE, cu.ModuleUnload(m[0]));
}

static void unload_beside(CUdeviceptr out) {
    CUmodule going;
    CUstream s;
    void *stop;
    WORKS(cu.MemHostAlloc(&stop, 4, 0));
    *(volatile unsigned *)stop = 0;
    void *params[] = {&stop};
    WORKS(cu.StreamCreate(&s, CU_STREAM_NON_BLOCKING));
    WORKS(cu.ModuleLoadData(&going, DRIVER_CODE));
    CUfunction last = driver_function(going, "bump");
    WORKS(cu.LaunchKernel(driver_endless, 1, 1, 1, 1, 1, 1, 0, s, params, NULL));
    REQUIRE(bump(last, out, 1) == 8);
    GIVES(CUDA_ERROR_NOT_READY, cu.StreamQuery(s));
    *(volatile unsigned *)stop = 1;
    WORKS(cu.ModuleUnload(going));
    WORKS(cu.StreamSynchronize(s));
    WORKS(cu.StreamDestroy(s));
    WORKS(cu.MemFreeHost(stop));
}

static void libraries(CUdeviceptr out) {
    CUlibrary library;
    CUkernel kernel;
    CUmodule m;
    WORKS(cu.LibraryLoadData(&library, DRIVER_CODE, NULL, NULL, 0, NULL, NULL, 0));
    WORKS(cu.LibraryGetKernel(&kernel, library, "bump"));
    WORKS(cu.LibraryGetModule(&m, library));
    REQUIRE(bump((CUfunction)kernel, out, 3) == 10);
    REQUIRE(bump(driver_function(m, "bump"), out, 3) == 13);
    WORKS(cu.LibraryUnload(library));
}

/* ---- launches -------------------------------------------------------------------------------- */

/* Passes the parameters as one block of memory, whose layout the launcher need not know. */
static void parameters_as_bytes(CUdeviceptr out) {
    struct {
        CUdeviceptr p;
        unsigned n, v;
    } bytes = {out, 256, 21};
    size_t size = sizeof(bytes);
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &bytes, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    CUlaunchAttribute cooperative = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
                                     .value = {.cooperative = 1}};
    CUlaunchConfig config = {.gridDimX = 2,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 128,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .hStream = CU_STREAM_LEGACY,
                             .attrs = &cooperative,
                             .numAttrs = 1};
    WORKS(cu.LaunchKernelEx(&config, driver_fill, NULL, extra));
    driver_check_words(out, 256, 21, "a cooperative launch");
    bytes.v = 22;
    WORKS(cu.LaunchKernel(driver_fill, 2, 1, 1, 128, 1, 1, 0, CU_STREAM_LEGACY, NULL, extra));
    driver_check_words(out, 256, 22, "parameters as bytes");
    config.gridDimX = 1u << 20;
    GIVES(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
          cu.LaunchKernelEx(&config, driver_fill, NULL, extra));
}

static void clusters(CUdeviceptr out) {
    CUmodule m;
    unsigned got[8];
    int count;
    CUlaunchAttribute size = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                              .value = {.clusterDim = {4, 1, 1}}};
    CUlaunchConfig config = {.gridDimX = 8,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 1,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .hStream = CU_STREAM_LEGACY,
                             .attrs = &size,
                             .numAttrs = 1};
    void *params[] = {&out};
    WORKS(cu.ModuleLoadData(&m, DRIVER_CLUSTER_CODE));
    CUfunction f = driver_function(m, "rank");
    WORKS(cu.OccupancyMaxActiveClusters(&count, f, &config));
    REQUIRE(count > 0);
    WORKS(cu.LaunchKernelEx(&config, f, params, NULL));
    WORKS(cu.MemcpyDtoHAsync(got, out, sizeof(got), CU_STREAM_LEGACY));
    WORKS(cu.StreamSynchronize(CU_STREAM_LEGACY));
    for (unsigned i = 0; i < 8; i++)
        REQUIRE(got[i] == 400 + i % 4);
    WORKS(cu.ModuleUnload(m));
}

void topic_code(void) {
    CUdeviceptr out;
    WORKS(cu.MemAlloc(&out, 4096));
    logs_say_why();
    copies_of_one(out);
    unload_beside(out);
    libraries(out);
    parameters_as_bytes(out);
    clusters(out);
    WORKS(cu.MemFree(out));
}
