/* SPDX-License-Identifier: Apache-2.0
 *
 * Options, inputs, and the translation of LTO-IR.
 */
#include "shim/jit/linker.h"

#include <stdlib.h>
#include <string.h>

#include "shim/code/object.h"

/* ---- options --------------------------------------------------------------------------------- */

static const char *after(const char *option, const char *prefix) {
    size_t n = strlen(prefix);
    return strncmp(option, prefix, n) == 0 ? option + n : NULL;
}

/* Returns 90 for sm_90a; 0: not an architecture. */
static uint32_t capability_of(const char *arch, bool *is_virtual) {
    const char *number = after(arch, "sm_");
    *is_virtual = !number;
    if (!number) number = after(arch, "compute_");
    return number ? (uint32_t)strtoul(number, NULL, 10) : 0;
}

static int read_options(struct linker *l, uint32_t count, const char *const *options) {
    bool is_virtual = false;
    for (uint32_t i = 0; i < count; i++) {
        if (!options[i]) return NVJITLINK_ERROR_NULL_INPUT;
        const char *arch = after(options[i], "-arch=");
        l->lto |= strcmp(options[i], "-lto") == 0;
        l->ptx |= strcmp(options[i], "-ptx") == 0;
        if (!arch) continue;
        l->link.capability = capability_of(arch, &is_virtual);
        if (!l->link.capability) return NVJITLINK_ERROR_UNRECOGNIZED_OPTION;
    }
    if (!l->link.capability) return NVJITLINK_ERROR_MISSING_ARCH;
    bool fits = l->ptx ? l->lto : !is_virtual;
    return fits ? NVJITLINK_SUCCESS : NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS;
}

/* ---- NVIDIA's library, for LTO-IR ------------------------------------------------------------ */

/* Creates a link of NVIDIA's library with the program's options and PTX as output. The cache is
 * disabled, because some versions query the driver for it, and crash without one. Without the
 * library everything but LTO-IR can be linked. */
static int create_original(struct linker *l, uint32_t count, const char *const *options) {
    l->original = original_find();
    if (!l->original) return NVJITLINK_SUCCESS;
    const char **all = malloc((count + 2) * sizeof(*all));
    if (!all) return NVJITLINK_ERROR_INTERNAL;
    memcpy(all, options, count * sizeof(*all));
    all[count++] = "--no-cache";
    if (!l->ptx) all[count++] = "-ptx";
    int result = l->original->create(&l->handle, count, all);
    free(all);
    return result;
}

/* Appends what is new in the original's log, which only grows. */
static void take_log(struct linker *l) {
    size_t bytes = 0;
    if (l->original->log_size(l->handle, &bytes) || bytes <= l->log_taken) return;
    char *text = calloc(1, bytes + 1);
    if (text && l->original->log(l->handle, text) == 0) {
        buf_printf(&l->log, "%s", text + l->log_taken);
        l->log_taken = strlen(text);
    }
    free(text);
}

static int add_original(struct linker *l, int type, const void *data, size_t bytes,
                        const char *name) {
    if (!l->lto) {
        buf_printf(&l->log, "%s: the input is LTO-IR; give the linker -lto\n", name);
        return NVJITLINK_ERROR_LTO_NOT_ENABLED;
    }
    if (!l->handle) {
        buf_printf(&l->log,
                   "%s: the input is LTO-IR, for which NVIDIA's libnvJitLink.so.13 or .12 is "
                   "needed and was not found; add its directory to LD_LIBRARY_PATH\n",
                   name);
        return NVJITLINK_ERROR_INTERNAL;
    }
    int result = l->original->add(l->handle, type, data, bytes, name);
    if (result) take_log(l);
    l->any_lto |= !result;
    return result;
}

/* Links the LTO-IR; its PTX becomes one more unit. */
static int complete_original(struct linker *l) {
    size_t bytes = 0;
    int result = l->original->complete(l->handle);
    if (!result) result = l->original->ptx_size(l->handle, &bytes);
    char *text = result ? NULL : calloc(1, bytes + 1);
    if (!result && !text) result = NVJITLINK_ERROR_INTERNAL;
    if (!result) result = l->original->ptx(l->handle, text);
    if (!result) result = linker_add(l, NVJITLINK_INPUT_PTX, text, bytes, "the linked LTO-IR");
    free(text);
    if (result) take_log(l);
    return result;
}

/* ---- a link ---------------------------------------------------------------------------------- */

struct linker *linker_create(uint32_t count, const char *const *options, int *result) {
    struct linker *l = calloc(1, sizeof(*l));
    *result = NVJITLINK_ERROR_INTERNAL;
    if (!l) return NULL;
    link_init(&l->link, 0);
    buf_init(&l->log);
    *result = read_options(l, count, options);
    if (!*result && l->lto) *result = create_original(l, count, options);
    if (!*result) return l;
    linker_destroy(l);
    return NULL;
}

void linker_destroy(struct linker *l) {
    if (l->handle) l->original->destroy(&l->handle);
    link_finish(&l->link);
    buf_finish(&l->log);
    free(l);
}

/* Returns the driver's name of an input type; for nvJitLink's "any" type it inspects the data. */
static int driver_type(int type, const void *data, size_t bytes) {
    struct object o;
    struct archive a;
    switch (type) {
    case NVJITLINK_INPUT_CUBIN: return CU_JIT_INPUT_CUBIN;
    case NVJITLINK_INPUT_PTX: return CU_JIT_INPUT_PTX;
    case NVJITLINK_INPUT_FATBIN: return CU_JIT_INPUT_FATBINARY;
    case NVJITLINK_INPUT_OBJECT: return CU_JIT_INPUT_OBJECT;
    case NVJITLINK_INPUT_LIBRARY: return CU_JIT_INPUT_LIBRARY;
    case NVJITLINK_INPUT_ANY:
        if (object_open(&o, data, bytes)) return CU_JIT_INPUT_OBJECT;
        return archive_open(&a, data, bytes) ? CU_JIT_INPUT_LIBRARY : CU_JIT_INPUT_FATBINARY;
    default: return -1;
    }
}

static int result_of(CUresult r) {
    switch (r) {
    case CUDA_SUCCESS: return NVJITLINK_SUCCESS;
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_INVALID_IMAGE: return NVJITLINK_ERROR_INCORRECT_INPUT_TYPE;
    case CUDA_ERROR_NO_BINARY_FOR_GPU: return NVJITLINK_ERROR_ARCH_MISMATCH;
    default: return NVJITLINK_ERROR_INTERNAL;
    }
}

int linker_add(struct linker *l, int type, const void *data, size_t bytes, const char *name) {
    char why[LINK_WHY_BYTES];
    if (!name || !*name) name = "input";
    if (type == NVJITLINK_INPUT_LTOIR) return add_original(l, type, data, bytes, name);
    int as = driver_type(type, data, bytes);
    if (as < 0) {
        buf_printf(&l->log, "%s: the input's type %d is unknown\n", name, type);
        return NVJITLINK_ERROR_INCORRECT_INPUT_TYPE;
    }
    CUresult r = link_add(&l->link, (CUjitInputType)as, data, bytes, name, why);
    if (r && l->handle && type != NVJITLINK_INPUT_PTX)
        return add_original(l, type, data, bytes, name);
    if (r) buf_printf(&l->log, "%s\n", why);
    int result = result_of(r);
    bool is_nothing = type == NVJITLINK_INPUT_ANY && result == NVJITLINK_ERROR_INCORRECT_INPUT_TYPE;
    return is_nothing ? NVJITLINK_ERROR_UNRECOGNIZED_INPUT : result;
}

int linker_complete(struct linker *l) {
    int result = l->any_lto && !l->complete ? complete_original(l) : NVJITLINK_SUCCESS;
    l->complete = !result;
    return result;
}

const void *linker_image(struct linker *l, size_t *bytes) {
    return l->complete ? link_image(&l->link, bytes) : NULL;
}
