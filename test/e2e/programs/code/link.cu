/* SPDX-License-Identifier: Apache-2.0
 * Links device code at run time: a kernel in PTX calls a function that comes as PTX, or in an
 * object, an archive or a cubin, named on the command line as TYPE FILE. Prints the kernel's
 * result, or the error and the log of the failed call. */
#include <cuda.h>

#include "common.h"

#define HEAD ".version 7.0\n.target sm_75\n.address_size 64\n"
#define DECLARED "(.param .b32 out) twice (.param .b32 v)"

static char kernel[] =
    HEAD ".extern .func " DECLARED ";\n"
         ".visible .entry run(.param .u64 p)\n{\n.reg .b64 %rd<3>;\n.reg .b32 %r<3>;\n"
         "ld.param.u64 %rd1, [p];\nmov.u32 %r1, 21;\n"
         "{\n.param .b32 a;\n.param .b32 b;\nst.param.b32 [a], %r1;\n"
         "call.uni (b), twice, (a);\nld.param.b32 %r2, [b];\n}\n"
         "st.global.u32 [%rd1], %r2;\nret;\n}\n";
static char function[] =
    "// a comment before .target sm_999\n/* another */ " HEAD ".visible .func " DECLARED
    "\n{\n.reg .b32 %r<3>;\n"
    "ld.param.b32 %r1, [v];\nadd.s32 %r2, %r1, %r1;\nst.param.b32 [out], %r2;\nret;\n}\n";
static char newer[] = ".version 8.7\n.target sm_121\n.address_size 64\n";
static char broken[] = HEAD ".visible .func broken()\n{\nnonsense;\n}\n";

static char log_text[512];
static CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
static void *values[2];

static void expect(CUresult got, CUresult want, const char *what) {
    REQUIRE(got == want, "%s gave %d, expected %d; log: %s", what, (int)got, (int)want, log_text);
}

#define GIVES(call, result) expect(call, result, #call)
#define WORKS(call) GIVES(call, CUDA_SUCCESS)

static CUlinkState begin(void) {
    CUlinkState link;
    values[0] = log_text;
    values[1] = (void *)sizeof(log_text);
    WORKS(cuLinkCreate(2, options, values, &link));
    REQUIRE(values[1] == NULL, "a log of %zu bytes at the beginning", (size_t)values[1]);
    return link;
}

static CUresult add(CUlinkState link, char *text) {
    return cuLinkAddData(link, CU_JIT_INPUT_PTX, text, strlen(text) + 1, "text", 0, NULL, NULL);
}

/* Runs a copy of the image, as programs keep linked images. */
static int run(CUlinkState link) {
    void *image, *copy;
    size_t bytes;
    CUmodule module;
    CUfunction f;
    CUdeviceptr p;
    int result = 0;
    WORKS(cuLinkComplete(link, &image, &bytes));
    copy = malloc(bytes);
    memcpy(copy, image, bytes);
    WORKS(cuLinkDestroy(link));
    WORKS(cuModuleLoadData(&module, copy));
    free(copy);
    WORKS(cuModuleGetFunction(&f, module, "run"));
    WORKS(cuMemAlloc(&p, sizeof(result)));
    void *args[] = {&p};
    WORKS(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
    WORKS(cuMemcpyDtoH(&result, p, sizeof(result)));
    WORKS(cuModuleUnload(module));
    return result;
}

static void says(const char *part) {
    REQUIRE(strstr(log_text, part), "the log lacks '%s': %s", part, log_text);
    REQUIRE((size_t)values[1] == strlen(log_text), "%zu bytes of log", (size_t)values[1]);
}

static void errors(void) {
    CUlinkState link, gone;
    void *image;
    GIVES(cuLinkCreate(1, NULL, NULL, &link), CUDA_ERROR_INVALID_VALUE);
    GIVES(cuLinkCreate(0, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    link = begin();
    GIVES(cuLinkComplete(link, &image, NULL), CUDA_ERROR_INVALID_IMAGE);
    GIVES(cuLinkAddData(link, CU_JIT_INPUT_PTX, NULL, 1, "x", 0, NULL, NULL),
          CUDA_ERROR_INVALID_VALUE);
    GIVES(cuLinkAddData(link, (CUjitInputType)7, kernel, 5, "x", 0, NULL, NULL),
          CUDA_ERROR_INVALID_VALUE);
    GIVES(cuLinkAddFile(link, CU_JIT_INPUT_PTX, "/nowhere", 0, NULL, NULL),
          CUDA_ERROR_FILE_NOT_FOUND);
    GIVES(add(link, (char *)"no code"), CUDA_ERROR_INVALID_PTX);
    says("text: the input is not PTX");
    GIVES(cuLinkAddData(link, CU_JIT_INPUT_OBJECT, kernel, sizeof(kernel), "k", 0, NULL, NULL),
          CUDA_ERROR_INVALID_IMAGE);
    says("k: the input is not an object");
    WORKS(add(link, broken));
    GIVES(cuLinkComplete(link, &image, NULL), CUDA_ERROR_INVALID_PTX);
    says("nonsense");
    WORKS(cuLinkDestroy(link));
    link = begin();
    WORKS(add(link, function));
    WORKS(add(link, function));
    REQUIRE(cuLinkComplete(link, &image, NULL) != CUDA_SUCCESS, "a function twice");
    says("twice");
    gone = link;
    WORKS(cuLinkDestroy(link));
    GIVES(cuLinkDestroy(gone), CUDA_ERROR_INVALID_HANDLE);
    GIVES(add(gone, kernel), CUDA_ERROR_INVALID_HANDLE);
    GIVES(cuLinkComplete(gone, &image, NULL), CUDA_ERROR_INVALID_HANDLE);
}

static void machine_code(const char *path) {
    CUlinkState link = begin();
    GIVES(cuLinkAddFile(link, CU_JIT_INPUT_CUBIN, path, 0, NULL, NULL),
          CUDA_ERROR_NO_BINARY_FOR_GPU);
    says("the input has only machine code");
    GIVES(add(link, newer), CUDA_ERROR_NO_BINARY_FOR_GPU);
    says("the PTX is for sm_121, the device is sm_90");
    WORKS(add(link, kernel));
    WORKS(add(link, function));
    REQUIRE(run(link) == 42, "what was refused is in the way");
}

static int with(CUjitInputType type, const char *path) {
    CUlinkState link = begin();
    WORKS(add(link, kernel));
    WORKS(cuLinkAddFile(link, type, path, 0, NULL, NULL));
    return run(link);
}

static void linked_again(void) {
    CUlinkState link = begin(), more = begin();
    void *image;
    size_t bytes;
    WORKS(add(link, function));
    WORKS(cuLinkComplete(link, &image, &bytes));
    WORKS(cuLinkAddData(more, CU_JIT_INPUT_CUBIN, image, bytes, NULL, 0, NULL, NULL));
    WORKS(cuLinkDestroy(link));
    WORKS(add(more, kernel));
    REQUIRE(run(more) == 42, "a link of a link");
}

int main(int argc, char **argv) {
    CUcontext context;
    CUlinkState link;
    REQUIRE(argc == 5, "usage: link OBJECT ARCHIVE CUBIN LIBRARY");
    WORKS(cuInit(0));
    GIVES(cuLinkCreate(0, NULL, NULL, &link), CUDA_ERROR_INVALID_CONTEXT);
    WORKS(cuDevicePrimaryCtxRetain(&context, 0));
    WORKS(cuCtxPushCurrent(context));
    link = begin();
    WORKS(add(link, kernel));
    WORKS(add(link, function));
    printf("ptx %d\n", run(link));
    printf("object %d\n", with(CU_JIT_INPUT_OBJECT, argv[1]));
    printf("archive %d\n", with(CU_JIT_INPUT_LIBRARY, argv[2]));
    link = begin();
    WORKS(add(link, kernel));
    WORKS(add(link, function));
    WORKS(cuLinkAddFile(link, CU_JIT_INPUT_LIBRARY, argv[4], 0, NULL, NULL));
    printf("library %d\n", run(link));
    machine_code(argv[3]);
    linked_again();
    errors();
    return 0;
}
