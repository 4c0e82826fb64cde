/* SPDX-License-Identifier: Apache-2.0
 *
 * Code and kernels: the part of an image that is sent, the queries about a kernel and their number,
 * and the objects that survive the end of a context.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "proto/wire/job.h"
#include "proto/wire/record.h"
#include "shim/code/function.h"
#include "shim/connection/state.h"
#include "shim/device/caller.h"
#include "test/lib/shim/rig.h"

static const struct wire_param beyond[] = {{4, 8}};

static const struct rig_kernel kernels[] = {
    {"first", NULL, {.max_threads = 512, .regs = 40, .local_bytes = 16}},
    {"second", NULL, {.max_threads = 1024}},
    {"beyond", beyond, {.param_count = 1, .param_bytes = 8, .max_threads = 1024}},
    {"endless", NULL, {.param_bytes = WIRE_PARAM_MAX + 1, .max_threads = 1024}},
};

static void begin(void) {
    rig_begin();
    rig_kernels(kernels, 4);
}

TestSuite(shim_code, .init = begin, .timeout = 60);

static CUmodule load(void) {
    CUmodule module;
    cr_assert_eq(cuModuleLoadData(&module, rig_ptx), CUDA_SUCCESS);
    return module;
}

static CUresult launch(CUfunction f) {
    return cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
}

/* ---- images ---------------------------------------------------------------------------------- */

Test(shim_code, the_code_travels_whole) {
    char *code = malloc(1 << 20);
    CUmodule module;
    memset(code, ' ', 1 << 20);
    memcpy(code, rig_ptx, strlen(rig_ptx));
    memcpy(code + (1 << 20) - 6, "// end", 6);
    code[(1 << 20) - 1] = '\0';
    cr_assert_eq(cuModuleLoadData(&module, code), CUDA_SUCCESS);
    const struct wire_module_load *m = rig_only(WIRE_MODULE_LOAD);
    cr_assert_eq(m->image_bytes, 1 << 20, "with its NUL");
    cr_assert_eq(m->why, m->image + m->image_bytes);
    cr_assert_neq(m->rec.ticket, 0);
    /* The library has freed the piece of the window, and has not reused it since. */
    cr_assert_arr_eq((void *)(uintptr_t)m->image, code, 1 << 20);
    free(code);
}

Test(shim_code, libraries_of_nvidia_are_known_by_name) {
    static const char *const some[] = {"/usr/lib/libcublasLt.so.13", "libcublas.so",
                                       "x/libnccl.so.2", "libcudnn_engines_precompiled.so.9"};
    static const char *const others[] = {"/libcublas.so/python", "libcudart.so.13",
                                         "xlibcublas.so",        "libncclx",
                                         "libtorch_cuda.so",     ""};
    for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++)
        cr_assert(caller_is_library(some[i]), "%s", some[i]);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        cr_assert_not(caller_is_library(others[i]), "%s", others[i]);
}

/* This test is not one of NVIDIA's libraries, so it gets the device's own capability. */
Test(shim_code, programs_are_told_the_devices_own) {
    int major, minor;
    state.conn.device.library_capability = 130;
    cr_assert_eq(cuDeviceComputeCapability(&major, &minor, 0), CUDA_SUCCESS);
    cr_assert(major == 9 && minor == 0);
    load();
    const struct wire_module_load *m = rig_only(WIRE_MODULE_LOAD);
    cr_assert_eq(m->capability, 0);
}

Test(shim_code, what_is_no_code_is_not_sent) {
    CUmodule module;
    cr_assert_eq(cuModuleLoadData(&module, "no code at all"), CUDA_ERROR_INVALID_IMAGE);
    cr_assert_eq(cuModuleLoadData(&module, NULL), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(rig_count(), 0);
}

/* A GPU's driver would compile Tile IR, so a strict program ends. */
Test(shim_code, tile_ir_is_refused, .exit_code = JOB_STRICT_EXIT) {
    CUmodule module;
    state.strict = true;
    cuModuleLoadData(&module, "\x7fTileIR");
    cr_assert(false, "the program was not ended");
}

Test(shim_code, tile_ir_says_why) {
    char text[64] = "old";
    CUmodule module;
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {text, (void *)(uintptr_t)sizeof(text)};
    CUresult r = cuModuleLoadDataEx(&module, "\x7fTileIR", 2, options, values);
    cr_assert_eq(r, CUDA_ERROR_INVALID_IMAGE);
    cr_assert_str_eq(text, "it is Tile IR, which the software GPU does not compile");
    cr_assert_eq(rig_count(), 0);
}

Test(shim_code, a_refusal_says_why) {
    char text[64] = "old";
    CUmodule module;
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {text, (void *)(uintptr_t)sizeof(text)};
    rig_refuse(WIRE_MODULE_LOAD, ERR_INVALID_PTX, "line 1: so it is");
    cr_assert_eq(cuModuleLoadDataEx(&module, rig_ptx, 2, options, values), CUDA_ERROR_INVALID_PTX);
    cr_assert_str_eq(text, "line 1: so it is");
    cr_assert_eq((uintptr_t)values[1], strlen(text));
    rig_refuse(0, 0, NULL);
    rig_forget();
    load();
    const struct wire_module_load *m = rig_only(WIRE_MODULE_LOAD);
    cr_assert_eq(m->module, 0, "the number is free again");
}

/* The runtime loads code through a private table, and also uses it to report that it no longer
 * needs the code. */
Test(shim_code, an_old_runtime_loads_by_its_own_way) {
    static const CUuuid id = {{0x6b, (char)0xd5, (char)0xfb, 0x6c, 0x5b, (char)0xf4, (char)0xe7,
                               0x4a, (char)0x89, (char)0x87, (char)0xd9, 0x39, 0x12, (char)0xfd,
                               (char)0x9d, (char)0xf9}};
    struct runtime_table {
        size_t bytes;
        void *others[5];
        CUresult (*load)(CUmodule *, const void *, void *, void *);
        CUresult (*forget)(const void *);
    } const *table;
    CUmodule module = NULL;
    CUfunction f;

    cr_assert_eq(cuGetExportTable((const void **)&table, &id), CUDA_SUCCESS);
    cr_assert_eq(table->load(&module, rig_ptx, &module, NULL), CUDA_ERROR_NOT_SUPPORTED);
    cr_assert_eq(table->load(NULL, rig_ptx, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(table->load(&module, rig_ptx, NULL, NULL), CUDA_SUCCESS);
    cr_assert_eq(cuModuleGetFunction(&f, module, "first"), CUDA_SUCCESS);
    cr_assert_eq(table->forget(rig_ptx), CUDA_SUCCESS);
    cr_assert_eq(launch(f), CUDA_SUCCESS);
}

Test(shim_code, each_module_has_its_number_until_it_is_unloaded) {
    CUmodule a = load(), b = load();
    const struct wire_module_load *first = rig_record(0, NULL), *second = rig_record(1, NULL);
    cr_assert_neq(first->module, second->module);
    rig_forget();
    cr_assert_eq(cuModuleUnload(a), CUDA_SUCCESS);
    const struct wire_module_unload *u = rig_only(WIRE_MODULE_UNLOAD);
    cr_assert_eq(u->module, first->module);
    CUfunction f;
    cr_assert_eq(cuModuleGetFunction(&f, a, "first"), CUDA_ERROR_INVALID_HANDLE);
    cr_assert_eq(cuModuleUnload(a), CUDA_ERROR_INVALID_HANDLE);
    cr_assert_eq(cuModuleGetFunction(&f, b, "first"), CUDA_SUCCESS);
    CUmodule c = load();
    cr_assert_neq(c, a, "the number is used again, the handle is not");
}

/* ---- kernels --------------------------------------------------------------------------------- */

Test(shim_code, a_kernel_is_asked_for_once) {
    CUfunction f, again, other;
    CUmodule module = load();
    int threads, regs, local;
    rig_forget();
    cr_assert_eq(cuModuleGetFunction(&f, module, "first"), CUDA_SUCCESS);
    const struct wire_func_get *get = rig_only(WIRE_FUNC_GET);
    cr_assert_eq(get->func, function_find(f)->id);
    cr_assert_str_eq((const char *)(get + 1), "first");
    cr_assert_eq(get->name_bytes, 6);
    rig_forget();
    cr_assert_eq(cuModuleGetFunction(&again, module, "first"), CUDA_SUCCESS);
    cr_assert_eq(cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f),
                 CUDA_SUCCESS);
    cr_assert_eq(cuFuncGetAttribute(&regs, CU_FUNC_ATTRIBUTE_NUM_REGS, f), CUDA_SUCCESS);
    cr_assert_eq(cuFuncGetAttribute(&local, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, f), CUDA_SUCCESS);
    cr_assert(again == f && threads == 512 && regs == 40 && local == 16);
    cr_assert_eq(rig_count(), 0);
    cr_assert_eq(cuModuleGetFunction(&other, module, "second"), CUDA_SUCCESS);
    cr_assert_neq(function_find(other)->id, function_find(f)->id);
}

Test(shim_code, a_name_that_nobody_has) {
    char name[FUNCTION_NAME_MAX + 1];
    CUmodule module = load();
    CUfunction f;
    rig_forget();
    cr_assert_eq(cuModuleGetFunction(&f, module, "third"), CUDA_ERROR_NOT_FOUND);
    cr_assert_eq(rig_count(), 1);
    cr_assert_eq(cuModuleGetFunction(&f, module, ""), CUDA_ERROR_NOT_FOUND);
    memset(name, 'n', sizeof(name));
    name[FUNCTION_NAME_MAX] = '\0';
    cr_assert_eq(cuModuleGetFunction(&f, module, name), CUDA_ERROR_NOT_FOUND);
    cr_assert_eq(rig_count(), 1, "what cannot be a name is not asked for");
}

/* The worker's reply is checked, too, because launches copy memory by it. */
Test(shim_code, a_layout_that_cannot_be) {
    CUmodule module = load();
    CUfunction f;
    rig_forget();
    cr_assert_eq(cuModuleGetFunction(&f, module, "beyond"), CUDA_ERROR_UNKNOWN);
    cr_assert_eq(cuModuleGetFunction(&f, module, "endless"), CUDA_ERROR_NOT_SUPPORTED);
    cr_assert_eq(rig_count(), 2);
}

/* A refusal ends a strict program. */
Test(shim_code, a_kernel_that_lacks_a_function_is_refused, .exit_code = JOB_STRICT_EXIT) {
    CUmodule module = load();
    CUfunction f;
    state.strict = true;
    rig_refuse(WIRE_FUNC_GET, ERR_NOT_FOUND, "");
    cr_assert_eq(cuModuleGetFunction(&f, module, "third"), CUDA_ERROR_NOT_FOUND, "no such name");
    rig_refuse(WIRE_FUNC_GET, ERR_NOT_FOUND, "it calls what is not defined anywhere");
    cuModuleGetFunction(&f, module, "first");
}

Test(shim_code, a_refused_kernel_can_be_asked_for_again) {
    CUmodule module = load();
    CUfunction f;
    rig_refuse(WIRE_FUNC_GET, ERR_UNSUPPORTED_PTX, "what it does");
    cr_assert_neq(cuModuleGetFunction(&f, module, "first"), CUDA_SUCCESS);
    rig_refuse(0, 0, NULL);
    cr_assert_eq(cuModuleGetFunction(&f, module, "first"), CUDA_SUCCESS);
}

Test(shim_code, all_kernels_by_name) {
    CUfunction all[2];
    unsigned int count;
    const char *name;
    CUmodule module = load();
    cr_assert_eq(cuModuleGetFunctionCount(&count, module), CUDA_SUCCESS);
    cr_assert_eq(count, 4);
    cr_assert_eq(cuModuleEnumerateFunctions(all, 2, module), CUDA_SUCCESS);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(cuFuncGetName(&name, all[i]), CUDA_SUCCESS);
        cr_assert_str_eq(name, kernels[i].name);
    }
}

/* ---- libraries, and the end of a context ----------------------------------------------------- */

static CUlibrary keep(void) {
    CUlibrary library;
    CUlibraryOption preserved = CU_LIBRARY_BINARY_IS_PRESERVED;
    cr_assert_eq(cuLibraryLoadData(&library, rig_ptx, NULL, NULL, 0, &preserved, NULL, 1),
                 CUDA_SUCCESS);
    return library;
}

Test(shim_code, a_library_is_sent_when_it_is_needed) {
    CUkernel kernel;
    CUlibrary library = keep();
    cr_assert_eq(rig_count(), 0);
    cr_assert_eq(cuLibraryGetKernel(&kernel, library, "first"), CUDA_SUCCESS);
    cr_assert_eq(rig_count(), 2);
    const struct wire_record *sent = rig_record(0, NULL), *asked = rig_record(1, NULL);
    cr_assert(sent->op == WIRE_MODULE_LOAD && asked->op == WIRE_FUNC_GET);
}

/* For a library that is loaded with all others, missing code is an error only when a kernel is
 * requested. */
Test(shim_code, a_library_lacks_code_when_it_is_needed) {
    /* A fatbin's header, and 16 bytes. */
    static const uint32_t fatbin[] = {0xba55ed50, 16 << 16 | 1, 16, 0, 0, 0, 0, 0};
    CUlibrary library;
    CUmodule of;
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    rig_refuse(WIRE_MODULE_LOAD, ERR_NO_BINARY, "nothing for this device");
    cr_assert_eq(cuLibraryLoadData(&library, fatbin, NULL, NULL, 0, NULL, NULL, 0), CUDA_SUCCESS);
    rig_refuse(WIRE_MODULE_LOAD, ERR_NO_BINARY, "nothing for this device");
    cr_assert_eq(cuLibraryGetModule(&of, library), CUDA_ERROR_NO_BINARY_FOR_GPU);
    rig_refuse(WIRE_MODULE_LOAD, ERR_INVALID_PTX, "line 1");
    cr_assert_eq(cuLibraryLoadData(&library, fatbin, NULL, NULL, 0, NULL, NULL, 0),
                 CUDA_ERROR_INVALID_PTX);
    rig_refuse(WIRE_MODULE_LOAD, ERR_NO_BINARY, "nothing for this device");
    cr_assert_eq(cuLibraryLoadData(&library, rig_ptx, NULL, NULL, 0, NULL, NULL, 0),
                 CUDA_ERROR_NO_BINARY_FOR_GPU, "of one kind");
    rig_refuse(WIRE_MODULE_LOAD, ERR_NO_BINARY, "nothing for this device");
    cr_assert_eq(cuModuleLoadData(&of, rig_ptx), CUDA_ERROR_NO_BINARY_FOR_GPU);
}

Test(shim_code, a_librarys_kernel_survives_the_context) {
    CUkernel kernel;
    CUcontext ctx;
    CUlibrary library = keep();
    cr_assert_eq(cuLibraryGetKernel(&kernel, library, "first"), CUDA_SUCCESS);
    uint32_t id = function_find(kernel)->id;
    cr_assert_eq(cuFuncSetAttribute((CUfunction)kernel,
                                    CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50),
                 CUDA_SUCCESS);
    rig_forget();
    cr_assert_eq(cuDevicePrimaryCtxReset(0), CUDA_SUCCESS);
    rig_only(WIRE_MODULE_UNLOAD);
    cr_assert_eq(cuDevicePrimaryCtxRetain(&ctx, 0), CUDA_SUCCESS);
    rig_forget();
    cr_assert_eq(launch((CUfunction)kernel), CUDA_SUCCESS);
    cr_assert_eq(rig_count(), 3);
    const struct wire_module_load *m = rig_record(0, NULL);
    const struct wire_func_get *get = rig_record(1, NULL);
    const struct wire_launch *l = rig_record(2, NULL);
    cr_assert_eq(m->rec.op, WIRE_MODULE_LOAD);
    cr_assert(get->rec.op == WIRE_FUNC_GET && get->func == id);
    cr_assert(l->rec.op == WIRE_LAUNCH && l->func == id);
    int carveout;
    cr_assert_eq(cuFuncGetAttribute(&carveout, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                                    (CUfunction)kernel),
                 CUDA_SUCCESS);
    cr_assert_eq(carveout, 50, "and what the program set");
}

Test(shim_code, a_module_ends_with_its_context) {
    CUfunction f;
    CUcontext other;
    CUmodule stays = load();
    cr_assert_eq(cuCtxCreate_v2(&other, 0, 0), CUDA_SUCCESS);
    CUmodule ends = load();
    cr_assert_eq(cuModuleGetFunction(&f, ends, "first"), CUDA_SUCCESS);
    rig_forget();
    cr_assert_eq(cuCtxDestroy_v2(other), CUDA_SUCCESS);
    rig_only(WIRE_MODULE_UNLOAD);
    cr_assert_eq(launch(f), CUDA_ERROR_INVALID_HANDLE);
    cr_assert_eq(cuModuleGetFunction(&f, stays, "first"), CUDA_SUCCESS);
}

Test(shim_code, a_variable_is_asked_for_once) {
    CUdeviceptr addr, again;
    size_t bytes;
    CUmodule module = load();
    rig_forget();
    cr_assert_eq(cuModuleGetGlobal_v2(&addr, &bytes, module, "variable"), CUDA_SUCCESS);
    const struct wire_global_get *get = rig_only(WIRE_GLOBAL_GET);
    cr_assert_str_eq((const char *)(get + 1), "variable");
    cr_assert_eq(addr, state.conn.windows.dev_base + RIG_ALLOC_BYTES);
    cr_assert_eq(bytes, 64);
    cr_assert_eq(cuModuleGetGlobal_v2(&again, NULL, module, "variable"), CUDA_SUCCESS);
    cr_assert_eq(again, addr);
    cr_assert_eq(rig_count(), 1);
}
