/* SPDX-License-Identifier: Apache-2.0
 *
 * cuModuleLoadDataEx, and the driver's description of the kernels.
 */
#include "daemon/device/cuda/module/cuda_module.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/cuda/module/cuda_image.h"
#include "daemon/device/cuda/module/cuda_link.h"
#include "daemon/device/cuda/module/cuda_prints.h"
#include "daemon/device/device_recovery.h"

#define MODULE_LOG_BYTES 4096
#define MODULE_PARAMS 4096u

/* ---- loading --------------------------------------------------------------------------------- */

/* Writes the message of the driver's compiler on one line. */
static void explain(const struct context *c, CUresult r, char *log, char *why, size_t why_bytes) {
    for (char *at = log; *at; at++)
        if (*at == '\n') *at = at[1] ? ';' : '\0';
    snprintf(why, why_bytes, "%s%s%s", driver_name(&c->driver, r), log[0] ? ": " : "", log);
}

static CUresult load_units(struct dev_module *m, const struct cuda_image *image,
                           CUjit_option *options, void **values, unsigned int count) {
    const struct driver *d = &m->context->driver;
    CUresult r =
        d->cuLibraryLoadData(&m->library, &image->wrapper, options, values, count, NULL, NULL, 0);
    return r ? r : d->cuLibraryGetModule(&m->handle, m->library);
}

/* Loads one image, units that must be linked first, or linked code with its units. */
static CUresult load_any(struct dev_module *m, const struct cuda_image *image,
                         CUjit_option *options, void **values, unsigned int count) {
    const struct driver *d = &m->context->driver;
    if (image->parts) return cuda_link_load(d, image->list, options, values, count, &m->handle);
    if (image->units) return load_units(m, image, options, values, count);
    return d->cuModuleLoadDataEx(&m->handle, image->bytes, count, options, values);
}

static int load(struct dev_module *m, const void *bytes, size_t count, char *why,
                size_t why_bytes) {
    char log[MODULE_LOG_BYTES] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof(log)};
    struct cuda_image image;
    int err = cuda_image_open(&image, bytes, count);
    if (err) return err;
    CUresult r = load_any(m, &image, options, values, 2);
    cuda_image_close(&image);
    log[sizeof(log) - 1] = '\0';
    if (r) explain(m->context, r, log, why, why_bytes);
    return context_result(m->context, r);
}

static void unload(struct dev_module *m) {
    const struct driver *d = &m->context->driver;
    cuda_cut_unload(m->context, m->cut);
    if (m->library)
        context_result(m->context, d->cuLibraryUnload(m->library));
    else if (m->handle)
        context_result(m->context, d->cuModuleUnload(m->handle));
}

static uint32_t capability_of(const struct context *c) {
    int major = 0, minor = 0;
    c->driver.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, c->device);
    c->driver.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, c->device);
    return (uint32_t)(10 * major + minor);
}

/* The place of a variable that the driver does not know cannot be compared. */
static int find_one(struct dev_module *m, uint32_t i) {
    CUdeviceptr at = 0;
    size_t bytes = 0;
    const char *name = m->again.names[i];
    CUresult r = m->context->driver.cuModuleGetGlobal_v2(&at, &bytes, m->handle, name);
    m->where[i] = (struct dev_granule){at, DEV_NO_CHUNK};
    if (r == CUDA_ERROR_NOT_FOUND)
        snprintf(m->again.lacks, sizeof(m->again.lacks),
                 "the driver does not report the address of variable %.96s of a module", name);
    return r == CUDA_ERROR_NOT_FOUND ? 0 : context_result(m->context, r);
}

static int find_places(struct dev_module *m) {
    int err = 0;
    if (m->again.lacks[0]) return 0;
    m->where = calloc(m->again.count + 1, sizeof(*m->where));
    if (!m->where) return -ENOMEM;
    for (uint32_t i = 0; !err && i < m->again.count; i++)
        err = find_one(m, i);
    return err;
}

/* Finds the module's other properties. */
static int look_at(struct dev_module *m, const void *image, size_t bytes) {
    uint32_t capability = capability_of(m->context);
    m->prints = cuda_prints(image, bytes, capability, &m->asserts);
    int err = cuda_again_read(&m->again, image, bytes, capability);
    return err ? err : find_places(m);
}

static int name_funcs(struct dev_module *m) {
    const struct driver *d = &m->context->driver;
    unsigned int count = 0;
    int err = context_result(m->context, d->cuModuleGetFunctionCount(&count, m->handle));
    if (err || !count) return err;
    CUfunction *funcs = calloc(count, sizeof(CUfunction));
    m->names = calloc(count, sizeof(char *));
    if (!funcs || !m->names) err = -ENOMEM;
    if (!err)
        err = context_result(m->context, d->cuModuleEnumerateFunctions(funcs, count, m->handle));
    for (; !err && m->name_count < count; m->name_count++) {
        const char *name = NULL;
        err = context_result(m->context, d->cuFuncGetName(&name, funcs[m->name_count]));
        if (err) break;
        m->names[m->name_count] = strdup(name ? name : "");
        if (!m->names[m->name_count]) err = -ENOMEM;
        if (err) break;
    }
    free(funcs);
    return err;
}

int cuda_module_read(struct dev_space *space, uint32_t capability, const void *image, size_t bytes,
                     struct dev_module **out, char *why, size_t why_bytes) {
    (void)capability; /* the driver chooses for its GPU */
    *out = NULL;
    struct dev_module *m = calloc(1, sizeof(*m));
    if (!m) return -ENOMEM;
    *m = (struct dev_module){.space = space, .context = space->chunks->context};
    int err = context_enter(m->context);
    if (!err) err = load(m, image, bytes, why, why_bytes);
    if (!err && m->context->subgrids) err = cuda_cut_load(m->context, image, bytes, &m->cut);
    if (!err) err = name_funcs(m);
    if (!err) err = look_at(m, image, bytes);
    if (err)
        cuda_module_free(m);
    else
        *out = m;
    return err;
}

/* The driver has allocated the memory at loading. */
int cuda_module_place(struct dev_module *m, char *why, size_t why_bytes) {
    (void)why, (void)why_bytes;
    if (m->again.lacks[0]) cuda_space_lacks(m->space, m->again.lacks);
    return 0;
}

uint32_t cuda_module_where(const struct dev_module *m, struct dev_granule *out, uint32_t cap) {
    uint32_t count = m->again.lacks[0] ? 0 : m->again.count;
    for (uint32_t i = 0; i < count && i < cap; i++)
        out[i] = m->where[i];
    return count;
}

int cuda_module_place_at(struct dev_module *m, const struct dev_granule *where, uint32_t count,
                         char *why, size_t why_bytes) {
    uint32_t i = 0;
    snprintf(why, why_bytes, "%s", m->again.lacks);
    if (m->again.lacks[0] || count != m->again.count) return -EINVAL;
    while (i < count && where[i].addr == m->where[i].addr && where[i].chunk == DEV_NO_CHUNK)
        i++;
    if (i == count) return cuda_module_place(m, why, why_bytes);
    snprintf(why, why_bytes, "variable %.96s of a module has another address than before",
             m->again.names[i]);
    return -EINVAL;
}

void cuda_module_remove(struct dev_module *m) {
    cuda_space_remove_globals(m->space, m);
}

void cuda_module_free(struct dev_module *m) {
    if (!m) return;
    if (!context_enter(m->context)) unload(m);
    for (struct dev_func *f = m->funcs, *next; f; f = next) {
        next = f->next;
        free(f->params);
        free(f);
    }
    for (uint32_t i = 0; i < m->name_count; i++)
        free(m->names[i]);
    free(m->names);
    free(m->where);
    cuda_again_finish(&m->again);
    free(m);
}

uint32_t cuda_module_func_count(struct dev_module *m) {
    return m->name_count;
}

const char *cuda_module_func_name(struct dev_module *m, uint32_t index) {
    return index < m->name_count ? m->names[index] : NULL;
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* 0 for an attribute that the driver does not know. Any other error is stored in `*err`. */
static uint32_t attribute(const struct dev_func *f, CUfunction_attribute which, int *err) {
    struct context *c = f->module->context;
    int value = 0;
    CUresult r = c->driver.cuFuncGetAttribute(&value, which, f->handle);
    if (r && r != CUDA_ERROR_INVALID_VALUE && !*err) *err = context_result(c, r);
    return r || value < 0 ? 0 : (uint32_t)value;
}

static int read_params(struct dev_func *f) {
    const struct driver *d = &f->module->context->driver;
    uint32_t room = 0;
    for (uint32_t i = 0; i < MODULE_PARAMS; i++) {
        size_t offset = 0, bytes = 0;
        CUresult r = d->cuFuncGetParamInfo(f->handle, i, &offset, &bytes);
        if (r == CUDA_ERROR_INVALID_VALUE) return 0; /* there are no more */
        if (r) return context_result(f->module->context, r);
        if (i == room) {
            struct dev_param *more = realloc(f->params, (room = 2 * room + 8) * sizeof(*more));
            if (!more) return -ENOMEM;
            f->params = more;
        }
        f->params[i] = (struct dev_param){(uint32_t)offset, (uint32_t)bytes};
        f->info.param_count = i + 1;
        f->info.param_bytes = (uint32_t)(offset + bytes);
    }
    return -E2BIG;
}

static int describe(struct dev_func *f) {
    struct dev_func_info *i = &f->info;
    int err = 0;
    i->params = f->params;
    i->launches = f->module->prints ? DEV_CALLS_PRINTF : 0;
    i->regs = attribute(f, CU_FUNC_ATTRIBUTE_NUM_REGS, &err);
    i->shared_bytes = attribute(f, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &err);
    i->local_bytes = attribute(f, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &err);
    i->const_bytes = attribute(f, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, &err);
    i->max_threads = attribute(f, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &err);
    i->ptx_version = attribute(f, CU_FUNC_ATTRIBUTE_PTX_VERSION, &err);
    i->binary_version = attribute(f, CU_FUNC_ATTRIBUTE_BINARY_VERSION, &err);
    i->must_cluster = attribute(f, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, &err) != 0;
    i->req_cluster[0] = attribute(f, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, &err);
    i->req_cluster[1] = attribute(f, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, &err);
    i->req_cluster[2] = attribute(f, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, &err);
    f->shared_allowed = attribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, &err);
    /* The client's library checks launches, including clusters of more than 8 blocks. */
    f->module->context->driver.cuFuncSetAttribute(
        f->handle, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
    return err;
}

static int make_func(struct dev_module *m, const char *name, struct dev_func **out, char *why,
                     size_t why_bytes) {
    const struct driver *d = &m->context->driver;
    size_t length = strlen(name) + 1;
    struct dev_func *f = calloc(1, sizeof(*f) + length);
    if (!f) return -ENOMEM;
    f->module = m;
    memcpy(f->name, name, length);
    CUresult r = d->cuModuleGetFunction(&f->handle, m->handle, name);
    int err = context_result(m->context, r);
    if (err && err != ERR_NOT_FOUND) snprintf(why, why_bytes, "%s", driver_name(d, r));
    if (!err) err = read_params(f);
    if (!err) err = describe(f);
    if (!err) err = cuda_cut_find(m->context, m->cut, name, &f->info, &f->cut);
    if (err) {
        free(f->params);
        free(f);
        return err;
    }
    f->next = m->funcs;
    m->funcs = f;
    *out = f;
    return 0;
}

int cuda_module_func_get(struct dev_module *m, const char *name, struct dev_func **out,
                         struct dev_func_info *info, char *why, size_t why_bytes) {
    struct dev_func *f = m->funcs;
    if (why_bytes) why[0] = '\0';
    int err = context_enter(m->context);
    while (f && strcmp(f->name, name) != 0)
        f = f->next;
    if (!err && !f) err = make_func(m, name, &f, why, why_bytes);
    if (err) return err;
    *out = f;
    *info = f->info;
    return 0;
}

int cuda_func_allow_shared(struct dev_func *f, uint32_t bytes) {
    struct context *c = f->module->context;
    if (bytes <= f->shared_allowed) return 0;
    int err = context_result(
        c, c->driver.cuFuncSetAttribute(f->handle, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                        (int)bytes));
    if (!err) f->shared_allowed = bytes;
    return err;
}

/* ---- variables ------------------------------------------------------------------------------- */

/* A job with a variable's address can write it, even a constant. */
static void lack_known(struct dev_module *m, const char *name) {
    char text[160];
    snprintf(text, sizeof(text), "variable %.96s of a module differs in a new context", name);
    cuda_space_lacks(m->space, text);
}

int cuda_module_global_get(struct dev_module *m, const char *name, uint64_t *addr,
                           uint64_t *bytes) {
    CUdeviceptr at = 0;
    size_t size = 0;
    int err = context_result(m->context,
                             m->context->driver.cuModuleGetGlobal_v2(&at, &size, m->handle, name));
    if (!err) err = cuda_space_add_global(m->space, m, at, size);
    if (err) return err;
    lack_known(m, name);
    *addr = at;
    *bytes = size;
    return 0;
}

/* The driver does not give the number of variables. */
uint32_t cuda_module_global_count(struct dev_module *m) {
    (void)m;
    return 0;
}
