/* SPDX-License-Identifier: Apache-2.0
 *
 * A link by nvJitLink's functions, as programs call them. NVIDIA's library is not installed.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/code/fatbin.h"
#include "shim/code/linked.h"
#include "shim/jit/linker.h"

#define PTX(target, body) ".version 8.0\n.target " target "\n.address_size 64\n" body

int nvJitLinkCreate(struct linker **handle, uint32_t count, const char *const *options);
int nvJitLinkDestroy(struct linker **handle);
int nvJitLinkAddData(struct linker *l, int type, const void *data, size_t bytes, const char *name);
int nvJitLinkAddFile(struct linker *l, int type, const char *path);
int nvJitLinkComplete(struct linker *l);
int nvJitLinkGetLinkedCubinSize(struct linker *l, size_t *bytes);
int nvJitLinkGetLinkedCubin(struct linker *l, void *cubin);
int nvJitLinkGetLinkedPtxSize(struct linker *l, size_t *bytes);
int nvJitLinkGetErrorLogSize(struct linker *l, size_t *bytes);
int nvJitLinkGetErrorLog(struct linker *l, char *text);

static const char main_ptx[] = PTX("sm_90", ".visible .entry k() { ret; }\n");
static const char other_ptx[] = PTX("sm_80", ".visible .entry other() { ret; }\n");
static struct linker *l;

static int create(const char *a, const char *b) {
    const char *options[] = {a, b};
    return nvJitLinkCreate(&l, !!a + !!b, options);
}

static int add(int type, const char *text) {
    return nvJitLinkAddData(l, type, text, strlen(text) + 1, "part");
}

static void expect_log(const char *text) {
    size_t bytes;
    char log[512] = "";
    cr_assert_eq(nvJitLinkGetErrorLogSize(l, &bytes), NVJITLINK_SUCCESS);
    cr_assert_leq(bytes, sizeof(log));
    cr_assert_eq(nvJitLinkGetErrorLog(l, log), NVJITLINK_SUCCESS);
    cr_assert_eq(bytes, *log ? strlen(log) + 1 : 0);
    cr_assert_str_eq(log, text);
}

static void teardown(void) {
    if (l) cr_assert_eq(nvJitLinkDestroy(&l), NVJITLINK_SUCCESS);
    cr_assert_null(l);
}

TestSuite(jit_linker, .fini = teardown, .timeout = 60);

Test(jit_linker, all_that_was_added_is_in_what_the_driver_loads) {
    size_t bytes;
    cr_assert_eq(create("-arch=sm_90a", "-O3"), NVJITLINK_SUCCESS);
    cr_assert_eq(add(NVJITLINK_INPUT_PTX, main_ptx), NVJITLINK_SUCCESS);
    cr_assert_eq(add(NVJITLINK_INPUT_ANY, other_ptx), NVJITLINK_SUCCESS);
    cr_assert_eq(nvJitLinkGetLinkedCubinSize(l, &bytes), NVJITLINK_ERROR_INTERNAL, "not yet");
    cr_assert_eq(nvJitLinkComplete(l), NVJITLINK_SUCCESS);
    cr_assert_eq(nvJitLinkGetLinkedCubinSize(l, &bytes), NVJITLINK_SUCCESS);
    char *image = malloc(bytes);
    cr_assert_eq(nvJitLinkGetLinkedCubin(l, image), NVJITLINK_SUCCESS);
    cr_assert_eq(linked_bytes(image, bytes), bytes);
    cr_assert_eq(fatbin_measure_within(image, bytes), bytes, "cuModuleLoadData takes it");
    cr_assert_not_null(memmem(image, bytes, main_ptx, strlen(main_ptx)));
    cr_assert_not_null(memmem(image, bytes, other_ptx, strlen(other_ptx)));
    cr_assert_eq(nvJitLinkGetLinkedPtxSize(l, &bytes), NVJITLINK_ERROR_INTERNAL, "nobody asked");
    free(image);
    expect_log("");
}

Test(jit_linker, files_are_inputs) {
    char path[] = "/tmp/salus-jit-XXXXXX";
    int fd = mkstemp(path);
    size_t bytes;
    cr_assert_eq(write(fd, main_ptx, strlen(main_ptx)), strlen(main_ptx));
    close(fd);
    cr_assert_eq(create("-arch=sm_90", NULL), NVJITLINK_SUCCESS);
    cr_assert_eq(nvJitLinkAddFile(l, NVJITLINK_INPUT_PTX, path), NVJITLINK_SUCCESS);
    unlink(path);
    cr_assert_eq(nvJitLinkAddFile(l, NVJITLINK_INPUT_PTX, "/nowhere/a.ptx"),
                 NVJITLINK_ERROR_INVALID_INPUT);
    expect_log("/nowhere/a.ptx: the file does not exist or cannot be read\n");
    cr_assert_eq(nvJitLinkComplete(l), NVJITLINK_SUCCESS);
    cr_assert_eq(nvJitLinkGetLinkedCubinSize(l, &bytes), NVJITLINK_SUCCESS);
}

Test(jit_linker, options_are_those_of_the_library) {
    cr_assert_eq(create("-O3", NULL), NVJITLINK_ERROR_MISSING_ARCH);
    cr_assert_eq(create("-arch=90", NULL), NVJITLINK_ERROR_UNRECOGNIZED_OPTION);
    cr_assert_eq(create("-arch=compute_90", NULL), NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS);
    cr_assert_eq(create("-arch=sm_90", "-ptx"), NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS);
    cr_assert_null(l);
    cr_assert_eq(nvJitLinkCreate(NULL, 0, NULL), NVJITLINK_ERROR_NULL_INPUT);
    cr_assert_eq(nvJitLinkComplete(NULL), NVJITLINK_ERROR_NULL_INPUT);
}

Test(jit_linker, what_is_no_input_is_refused_and_named) {
    cr_assert_eq(create("-arch=sm_80", NULL), NVJITLINK_SUCCESS);
    cr_assert_eq(add(NVJITLINK_INPUT_PTX, "hello"), NVJITLINK_ERROR_INCORRECT_INPUT_TYPE);
    cr_assert_eq(add(NVJITLINK_INPUT_PTX, main_ptx), NVJITLINK_ERROR_ARCH_MISMATCH);
    cr_assert_eq(add(NVJITLINK_INPUT_OBJECT, "hello"), NVJITLINK_ERROR_INCORRECT_INPUT_TYPE);
    cr_assert_eq(add(NVJITLINK_INPUT_ANY, "hello"), NVJITLINK_ERROR_UNRECOGNIZED_INPUT);
    cr_assert_eq(add(NVJITLINK_INPUT_LTOIR, "hello"), NVJITLINK_ERROR_LTO_NOT_ENABLED);
    cr_assert_eq(add(99, "hello"), NVJITLINK_ERROR_INCORRECT_INPUT_TYPE);
    expect_log("part: the input is not PTX: it lacks .target\npart: the PTX is for sm_90, the "
               "device is sm_80\npart: the input is not an object file\npart: the input is neither "
               "a fatbin, a cubin nor PTX\npart: the input is LTO-IR; give the linker -lto\npart: "
               "the input's type 99 is unknown\n");
}
