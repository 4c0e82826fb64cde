/* SPDX-License-Identifier: Apache-2.0
 *
 * The inputs that a link passes to NVIDIA's nvJitLink, which the test replaces, and its results.
 */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "shim/code/fatbin.h"
#include "shim/jit/linker.h"
#include "shim/jit/original.h"

#define PTX(body) ".version 8.0\n.target sm_90\n.address_size 64\n" body

static const char linked[] = PTX(".visible .entry k() { ret; }\n");
static const char *asked[8];
static uint32_t asked_count;
static int created, destroyed, added_type;
static int create_result;

static int create(void **handle, uint32_t count, const char *const *options) {
    created++;
    asked_count = count;
    cr_assert_leq(count, sizeof(asked) / sizeof(asked[0]));
    memcpy(asked, options, count * sizeof(*options));
    *handle = create_result ? NULL : &created;
    return create_result;
}

static int destroy(void **handle) {
    destroyed++;
    *handle = NULL;
    return NVJITLINK_SUCCESS;
}

static int add(void *handle, int type, const void *data, size_t bytes, const char *name) {
    (void)data, (void)bytes, (void)name;
    cr_assert_eq(handle, &created);
    added_type = type;
    return NVJITLINK_SUCCESS;
}

static int complete(void *handle) {
    (void)handle;
    return NVJITLINK_SUCCESS;
}

static int size_of_linked(void *handle, size_t *bytes) {
    (void)handle;
    *bytes = sizeof(linked);
    return NVJITLINK_SUCCESS;
}

static int get_linked(void *handle, char *text) {
    (void)handle;
    memcpy(text, linked, sizeof(linked));
    return NVJITLINK_SUCCESS;
}

static const struct original library = {
    .create = create,
    .destroy = destroy,
    .add = add,
    .complete = complete,
    .ptx_size = size_of_linked,
    .ptx = get_linked,
};

const struct original *original_find(void) {
    return &library;
}

static bool was_asked(const char *option) {
    for (uint32_t i = 0; i < asked_count; i++)
        if (!strcmp(asked[i], option)) return true;
    return false;
}

TestSuite(jit_lto, .timeout = 60);

Test(jit_lto, it_is_asked_for_ptx_and_uses_no_cache) {
    const char *options[] = {"-arch=sm_90", "-lto", "-O3"};
    size_t bytes;
    int result;
    struct linker *l = linker_create(3, options, &result);
    cr_assert(l && result == NVJITLINK_SUCCESS);
    cr_assert_eq(asked_count, 5);
    for (int i = 0; i < 3; i++)
        cr_assert_str_eq(asked[i], options[i]);
    cr_assert(was_asked("-ptx") && was_asked("--no-cache"));
    cr_assert_eq(linker_add(l, NVJITLINK_INPUT_LTOIR, "BC", 2, "ir"), NVJITLINK_SUCCESS);
    cr_assert_eq(added_type, NVJITLINK_INPUT_LTOIR);
    cr_assert_eq(linker_complete(l), NVJITLINK_SUCCESS);
    const char *image = linker_image(l, &bytes);
    cr_assert(image && memmem(image, bytes, "entry k()", 9));
    linker_destroy(l);
    cr_assert_eq(destroyed, 1);
}

Test(jit_lto, ptx_that_was_asked_for_is_asked_once) {
    const char *options[] = {"-arch=compute_90", "-lto", "-ptx"};
    int result;
    struct linker *l = linker_create(3, options, &result);
    cr_assert(l && asked_count == 4 && was_asked("--no-cache"));
    linker_destroy(l);
}

Test(jit_lto, what_it_refuses_is_refused) {
    const char *options[] = {"-arch=sm_90", "-lto"};
    int result;
    create_result = NVJITLINK_ERROR_UNRECOGNIZED_OPTION;
    cr_assert_null(linker_create(2, options, &result));
    cr_assert_eq(result, NVJITLINK_ERROR_UNRECOGNIZED_OPTION);
    cr_assert_eq(destroyed, 0);
}

Test(jit_lto, without_lto_it_is_not_asked) {
    const char *options[] = {"-arch=sm_90"};
    int result;
    struct linker *l = linker_create(1, options, &result);
    cr_assert(l && created == 0);
    cr_assert_eq(linker_add(l, NVJITLINK_INPUT_LTOIR, "BC", 2, "ir"),
                 NVJITLINK_ERROR_LTO_NOT_ENABLED);
    linker_destroy(l);
}
