/* SPDX-License-Identifier: Apache-2.0
 *
 * Images are lines of text after "fake":
 *     kernel NAME [bytes of each parameter...]     a function of fake_kernels.c
 *     entry NAME [bytes...]                        the same, if the PTX around it has this .entry
 *     global NAME BYTES
 *     texref NAME
 *     surfref NAME
 * The text stands alone, in a fatbin, or in several fatbins behind a wrapper, as the CUDA runtime
 * registers them. It may also stand in a comment of PTX; the PTX is then the rest of the image.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/lib/driver/fake_state.h"

#define WRAPPER_MAGIC 0x466243b1u
#define FATBIN_MAGIC 0xba55ed50u
#define SHARED_DEFAULT (48 << 10)
#define SHARED_MOST (227 << 10)

struct wrapper {
    uint32_t magic, version;
    const void *code;
    const void *const *units;
};

struct fatbin {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes;
};

static void *at(uint64_t addr) {
    return (void *)(uintptr_t)addr;
}

/* ---- images ---------------------------------------------------------------------------------- */

/* Counts the parameters in the text up to the next ')'. */
static uint32_t declared(const char *text) {
    uint32_t count = 0;
    const char *end = strchr(text, ')');
    for (const char *p = text; (p = strstr(p, ".param ")) && p < end; p++)
        count++;
    return count;
}

/* `text`: the PTX after the opening parenthesis. Parameters that the line does not list are
 * words of 4 bytes. */
static CUresult add_kernel(struct object *module, char *words, const char *text) {
    char *save = NULL;
    const char *name = strtok_r(words, " ", &save);
    struct object *f = fake_object_new(OBJECT_FUNC, 0, 0);
    f->owner = module;
    f->shared_allowed = SHARED_DEFAULT;
    f->kernel = name ? fake_kernel_find(name) : NULL;
    if (!f->kernel) return CUDA_ERROR_INVALID_IMAGE;
    snprintf(f->name, sizeof(f->name), "%s", name);
    for (const char *w; (w = strtok_r(NULL, " ", &save)) && f->param_count < 16;)
        f->params[f->param_count++] = (uint32_t)atoi(w);
    uint32_t count = text ? declared(text) : 0;
    f->words = count > f->param_count ? count - f->param_count : 0;
    return CUDA_SUCCESS;
}

/* A caller may have rewritten the PTX but not the comment in it. */
static CUresult add_entry(struct object *module, const char *image, char *words) {
    char head[80];
    snprintf(head, sizeof(head), ".entry %.*s(", (int)strcspn(words, " "), words);
    const char *text = strstr(image, head);
    return text ? add_kernel(module, words, text) : CUDA_SUCCESS;
}

static CUresult add_global(struct object *module, char *words) {
    char *save = NULL;
    const char *name = strtok_r(words, " ", &save), *bytes = strtok_r(NULL, " ", &save);
    if (!name || !bytes) return CUDA_ERROR_INVALID_IMAGE;
    struct object *g = fake_object_new(OBJECT_GLOBAL, 0, (uint64_t)atoi(bytes));
    g->addr = (uintptr_t)calloc(1, g->bytes);
    g->owner = module;
    snprintf(g->name, sizeof(g->name), "%s", name);
    return CUDA_SUCCESS;
}

static CUresult add_reference(struct object *module, const char *name, bool surface) {
    struct object *r = fake_object_new(OBJECT_REFERENCE, 0, 0);
    r->owner = module;
    r->index = r->told.surface = surface;
    snprintf(r->name, sizeof(r->name), "%s", name);
    return CUDA_SUCCESS;
}

static char *lines_of(const char *image) {
    const char *begin = !strncmp(image, ".version", 8) ? strstr(image, "/*fake\n") : NULL;
    const char *end = begin ? strstr(begin, "*/") : NULL;
    if (end) return strndup(begin + 7, (size_t)(end - begin) - 7);
    return strncmp(image, "fake\n", 5) ? NULL : strdup(image + 5);
}

static CUresult parse(struct object *module, const char *image) {
    CUresult r = CUDA_SUCCESS;
    char *text = lines_of(image), *save = NULL;
    if (!text) return CUDA_ERROR_INVALID_IMAGE;
    for (char *line = strtok_r(text, "\n", &save); line && !r; line = strtok_r(NULL, "\n", &save)) {
        if (!strncmp(line, "kernel ", 7))
            r = add_kernel(module, line + 7, NULL);
        else if (!strncmp(line, "entry ", 6))
            r = add_entry(module, image, line + 6);
        else if (!strncmp(line, "global ", 7))
            r = add_global(module, line + 7);
        else if (!strncmp(line, "texref ", 7))
            r = add_reference(module, line + 7, false);
        else if (!strncmp(line, "surfref ", 8))
            r = add_reference(module, line + 8, true);
        else
            r = CUDA_ERROR_INVALID_IMAGE;
    }
    free(text);
    return r;
}

/* Reads a fatbin, or plain text. */
static CUresult parse_any(struct object *module, const void *image) {
    struct fatbin f;
    memcpy(&f, image, 4);
    if (f.magic != FATBIN_MAGIC) return parse(module, image);
    memcpy(&f, image, sizeof(f));
    char *text = strndup((const char *)image + f.header_bytes, f.bytes);
    CUresult r = parse(module, text);
    free(text);
    return r;
}

static void unload(struct object *module) {
    for (struct object *o = fake.objects, *next; o; o = next) {
        next = o->next;
        if (o == module || o->owner != module) continue;
        fake_memory_forget(o);
        fake_object_free(o);
    }
    fake_object_free(module);
}

static void explain(unsigned int count, const CUjit_option *options, void *const *values) {
    char *log = NULL;
    for (unsigned int i = 0; i < count; i++)
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER) log = values[i];
    if (log) strcpy(log, "line 1\nis not understood\n");
}

CUresult cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned int count,
                            CUjit_option *options, void **values) {
    FAKE_CALL(true);
    struct object *module = fake_object_new(OBJECT_MODULE, 0, 0);
    CUresult r = parse_any(module, image);
    if (r) {
        unload(module);
        explain(count, options, values);
        return r;
    }
    *out = at(module->id);
    return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module) {
    FAKE_CALL(true);
    struct object *o = fake_object(OBJECT_MODULE, module);
    if (!o || o->owner) return FAKE_MISUSE(CUDA_ERROR_INVALID_HANDLE, "no module, or a library's");
    unload(o);
    return CUDA_SUCCESS;
}

/* ---- linking --------------------------------------------------------------------------------- */

/* The linked image consists of the lines of all inputs; `addr` is its text. */
CUresult cuLinkCreate_v2(unsigned int count, CUjit_option *options, void **values,
                         CUlinkState *out) {
    FAKE_CALL(true);
    (void)count, (void)options, (void)values;
    struct object *link = fake_object_new(OBJECT_LINK, 0, 0);
    link->addr = (uintptr_t)strdup("fake\n");
    *out = at(link->id);
    return CUDA_SUCCESS;
}

CUresult cuLinkAddData_v2(CUlinkState link, CUjitInputType type, void *data, size_t bytes,
                          const char *name, unsigned int count, CUjit_option *options,
                          void **values) {
    FAKE_CALL(true);
    (void)name, (void)count, (void)options, (void)values;
    struct object *o = fake_object(OBJECT_LINK, link);
    if (!o) return FAKE_MISUSE(CUDA_ERROR_INVALID_HANDLE, "no link, or none any more");
    const char *text = data;
    if (type == CU_JIT_INPUT_FATBINARY) text += ((const struct fatbin *)data)->header_bytes;
    char *lines = strndup(text, bytes - (size_t)(text - (const char *)data)), *more = NULL;
    char *own = lines_of(lines);
    free(lines);
    if (!own) return CUDA_ERROR_INVALID_IMAGE;
    if (asprintf(&more, "%s%s", (char *)at(o->addr), own) < 0) abort();
    free(own);
    free(at(o->addr));
    o->addr = (uintptr_t)more;
    return CUDA_SUCCESS;
}

CUresult cuLinkComplete(CUlinkState link, void **out, size_t *bytes) {
    FAKE_CALL(true);
    const struct object *o = fake_object(OBJECT_LINK, link);
    if (!o) return FAKE_MISUSE(CUDA_ERROR_INVALID_HANDLE, "no link, or none any more");
    *out = at(o->addr);
    *bytes = strlen(*out) + 1;
    return CUDA_SUCCESS;
}

CUresult cuLinkDestroy(CUlinkState link) {
    FAKE_CALL(true);
    struct object *o = fake_object(OBJECT_LINK, link);
    if (!o) return FAKE_MISUSE(CUDA_ERROR_INVALID_HANDLE, "no link, or none any more");
    free(at(o->addr));
    fake_object_free(o);
    return CUDA_SUCCESS;
}

/* ---- libraries ------------------------------------------------------------------------------- */

CUresult cuLibraryLoadData(CUlibrary *out, const void *code, CUjit_option *options, void **values,
                           unsigned int count, CUlibraryOption *library_options,
                           void **library_values, unsigned int library_count) {
    FAKE_CALL(true);
    const struct wrapper *w = code;
    if (w->magic != WRAPPER_MAGIC || w->version != 2)
        return FAKE_MISUSE(CUDA_ERROR_INVALID_IMAGE, "no wrapper of linked code");
    struct object *library = fake_object_new(OBJECT_LIBRARY, 0, 0);
    struct object *module = fake_object_new(OBJECT_MODULE, 0, 0);
    module->owner = library;
    CUresult r = parse_any(module, w->code);
    for (const void *const *unit = w->units; !r && *unit; unit++)
        r = parse_any(module, *unit);
    if (r) {
        unload(module);
        fake_object_free(library);
        explain(count, options, values);
        return r;
    }
    *out = at(library->id);
    return CUDA_SUCCESS;
}

static struct object *module_of(const struct object *library) {
    struct object *o = fake.objects;
    while (o && (o->kind != OBJECT_MODULE || o->owner != library))
        o = o->next;
    return o;
}

CUresult cuLibraryGetModule(CUmodule *out, CUlibrary library) {
    FAKE_CALL(true);
    const struct object *o = fake_object(OBJECT_LIBRARY, library);
    if (!o) return FAKE_MISUSE(CUDA_ERROR_INVALID_HANDLE, "no library, or none any more");
    *out = at(module_of(o)->id);
    return CUDA_SUCCESS;
}

CUresult cuLibraryUnload(CUlibrary library) {
    FAKE_CALL(true);
    struct object *o = fake_object(OBJECT_LIBRARY, library);
    if (!o) return FAKE_MISUSE(CUDA_ERROR_INVALID_HANDLE, "no library, or none any more");
    unload(module_of(o));
    fake_object_free(o);
    return CUDA_SUCCESS;
}

/* ---- functions, variables and references of a module ----------------------------------------- */

struct object *fake_module_named(enum object_kind kind, const struct object *module,
                                 const char *name) {
    struct object *o = fake.objects;
    while (o && (o->kind != kind || o->owner != module || strcmp(o->name, name) != 0))
        o = o->next;
    return o;
}

CUresult cuModuleGetFunction(CUfunction *out, CUmodule module, const char *name) {
    FAKE_CALL(true);
    const struct object *m = fake_object(OBJECT_MODULE, module);
    if (!m) return FAKE_MISUSE(CUDA_ERROR_INVALID_HANDLE, "no module, or none any more");
    const struct object *f = fake_module_named(OBJECT_FUNC, m, name);
    if (f) *out = at(f->id);
    return f ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

static unsigned int list_funcs(const struct object *m, CUfunction *out, unsigned int room) {
    unsigned int count = 0;
    for (const struct object *o = fake.objects; o; o = o->next) {
        if (o->kind != OBJECT_FUNC || o->owner != m) continue;
        if (count < room) out[count] = at(o->id);
        count++;
    }
    return count;
}

CUresult cuModuleGetFunctionCount(unsigned int *count, CUmodule module) {
    FAKE_CALL(true);
    const struct object *m = fake_object(OBJECT_MODULE, module);
    if (!m) return FAKE_MISUSE(CUDA_ERROR_INVALID_HANDLE, "no module, or none any more");
    *count = list_funcs(m, NULL, 0);
    return CUDA_SUCCESS;
}

CUresult cuModuleEnumerateFunctions(CUfunction *out, unsigned int room, CUmodule module) {
    FAKE_CALL(true);
    const struct object *m = fake_object(OBJECT_MODULE, module);
    if (!m) return FAKE_MISUSE(CUDA_ERROR_INVALID_HANDLE, "no module, or none any more");
    list_funcs(m, out, room);
    return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *addr, size_t *bytes, CUmodule module, const char *name) {
    FAKE_CALL(true);
    const struct object *m = fake_object(OBJECT_MODULE, module);
    if (!m) return FAKE_MISUSE(CUDA_ERROR_INVALID_HANDLE, "no module, or none any more");
    const struct object *g = fake_module_named(OBJECT_GLOBAL, m, name);
    if (!g) return CUDA_ERROR_NOT_FOUND;
    *addr = g->addr;
    *bytes = g->bytes;
    return CUDA_SUCCESS;
}

CUresult cuFuncGetName(const char **name, CUfunction func) {
    FAKE_CALL(true);
    const struct object *f = fake_object(OBJECT_FUNC, func);
    if (!f) return FAKE_MISUSE(CUDA_ERROR_INVALID_HANDLE, "no function, or none any more");
    *name = f->name;
    return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction func) {
    FAKE_CALL(true);
    const struct object *f = fake_object(OBJECT_FUNC, func);
    if (!f) return FAKE_MISUSE(CUDA_ERROR_INVALID_HANDLE, "no function, or none any more");
    switch ((int)attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = 1024; break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = 32; break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = f->shared_allowed; break;
    default: *value = 0;
    }
    return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction func, CUfunction_attribute attribute, int value) {
    FAKE_CALL(true);
    struct object *f = fake_object(OBJECT_FUNC, func);
    if (!f) return FAKE_MISUSE(CUDA_ERROR_INVALID_HANDLE, "no function, or none any more");
    if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) return CUDA_SUCCESS;
    if (value < 0 || value > SHARED_MOST) return CUDA_ERROR_INVALID_VALUE;
    f->shared_allowed = value;
    return CUDA_SUCCESS;
}

/* ---- occupancy ------------------------------------------------------------------------------- */

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *count, CUfunction func, int threads,
                                                     size_t shared_bytes) {
    FAKE_CALL(true);
    const struct object *f = fake_object(OBJECT_FUNC, func);
    if (!f) return FAKE_MISUSE(CUDA_ERROR_INVALID_HANDLE, "no function, or none any more");
    if (threads <= 0 || shared_bytes > (size_t)f->shared_allowed)
        return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE,
                           "no threads, or more shared memory than allowed");
    *count = threads > 1024 ? 0 : 2048 / threads;
    return CUDA_SUCCESS;
}

/* ---- clusters -------------------------------------------------------------------------------- */

static const char *check_like(const struct object *f, const CUlaunchConfig *c) {
    if (!f) return "no function, or none any more";
    if (!c->gridDimX || !c->gridDimY || !c->gridDimZ) return "of no grid";
    if (!c->blockDimX || !c->blockDimY || !c->blockDimZ) return "of no blocks";
    return c->sharedMemBytes > (unsigned int)f->shared_allowed ? "more shared memory than allowed"
                                                               : NULL;
}

/* Answers as if clusters had few multiprocessors, and fewer for blocks of many threads. */
CUresult cuOccupancyMaxPotentialClusterSize(int *size, CUfunction func, const CUlaunchConfig *c) {
    FAKE_CALL(true);
    const char *wrong = check_like(fake_object(OBJECT_FUNC, func), c);
    if (wrong) return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, wrong);
    *size = c->blockDimX > 512 ? 2 : 4;
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveClusters(int *count, CUfunction func, const CUlaunchConfig *c) {
    FAKE_CALL(true);
    const char *wrong = check_like(fake_object(OBJECT_FUNC, func), c);
    if (!wrong && (c->numAttrs != 1 || c->attrs->id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION))
        wrong = "of no clusters";
    if (wrong) return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, wrong);
    const unsigned int x = c->attrs->value.clusterDim.x, y = c->attrs->value.clusterDim.y;
    const unsigned int z = c->attrs->value.clusterDim.z;
    if (c->gridDimX % x || c->gridDimY % y || c->gridDimZ % z || x * y * z > 4)
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    *count = (int)(FAKE_SMS / (x * y * z)) - 1;
    return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction func, size_t index, size_t *offset, size_t *bytes) {
    FAKE_CALL(true);
    const struct object *f = fake_object(OBJECT_FUNC, func);
    if (!f) return FAKE_MISUSE(CUDA_ERROR_INVALID_HANDLE, "no function, or none any more");
    uint32_t count = f->param_count;
    if (index >= count + f->words) return CUDA_ERROR_INVALID_VALUE;
    *offset = 8 * index;
    *bytes = index < count ? f->params[index] : 4;
    if (index >= count)
        *offset = (count ? 8 * (count - 1) + ((f->params[count - 1] + 3) & ~3u) : 0) +
                  4 * (index - count);
    return CUDA_SUCCESS;
}

/* ---- launches -------------------------------------------------------------------------------- */

static void note_launch(const CUlaunchConfig *c, const struct object *f) {
    struct fake_launch *l = &fake.last_launch;
    *l = (struct fake_launch){.grid = {c->gridDimX, c->gridDimY, c->gridDimZ},
                              .block = {c->blockDimX, c->blockDimY, c->blockDimZ},
                              .shared_bytes = c->sharedMemBytes,
                              .shared_allowed = f->shared_allowed};
    for (unsigned int i = 0; i < c->numAttrs; i++) {
        const CUlaunchAttribute *a = &c->attrs[i];
        if (a->id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) l->cooperative = a->value.cooperative;
        if (a->id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
        l->cluster[0] = a->value.clusterDim.x;
        l->cluster[1] = a->value.clusterDim.y;
        l->cluster[2] = a->value.clusterDim.z;
    }
}

/* Reads parameters from cuLaunchKernel's `extra`; NULL: `extra` has none. */
static const void *find_params(void **extra, size_t *bytes) {
    const void *params = NULL;
    for (; extra && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) params = extra[1];
        if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE) *bytes = *(size_t *)extra[1];
    }
    return params;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction func, void **params,
                          void **extra) {
    FAKE_CALL(true);
    size_t bytes = 0, needed = 0;
    const void *given = find_params(extra, &bytes);
    const struct object *f = fake_object(OBJECT_FUNC, func);
    struct item i = {.kind = FAKE_LAUNCH};
    if (!f) return FAKE_MISUSE(CUDA_ERROR_INVALID_HANDLE, "no function, or none any more");
    if (f->param_count) needed = 8 * (f->param_count - 1) + f->params[f->param_count - 1];
    if (params || bytes < needed || bytes > sizeof(i.params)) return CUDA_ERROR_INVALID_VALUE;
    if (config->sharedMemBytes > (unsigned int)f->shared_allowed)
        return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, "more shared memory than it was told of");
    note_launch(config, f);
    i.kernel = f->kernel;
    if (bytes) memcpy(i.params, given, bytes);
    return fake_stream_add(config->hStream, &i, __func__);
}
