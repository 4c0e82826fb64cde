/* SPDX-License-Identifier: Apache-2.0
 *
 * A loaded image: its PTX, instantiated in the client's module window, and the information in its
 * cubin.
 */
#include "daemon/device/soft/dev/module.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/device_recovery.h"
#include "daemon/device/soft/code/native.h"
#include "daemon/device/soft/decode/code_kernel.h"
#include "daemon/device/soft/dev/described.h"
#include "daemon/device/soft/dev/provision.h"
#include "daemon/device/soft/dev/space.h"
#include "daemon/device/soft/module/code_kernel_info.h"
#include "daemon/device/soft/module/code_module.h"
#include "daemon/device/soft/ptx/ptx_link.h"
#include "daemon/device/soft/ptx/ptx_parse.h"
#include "daemon/device/soft/ptx/ptx_runtime.h"

/* Places all variables at once, at the addresses that they had before. Returns 0 with where_err set
 * if that fails. */
static uint64_t var_again(struct dev_module *m, uint64_t bytes) {
    const struct dev_granule *where = m->where;
    uint32_t count = m->where_count;
    bool host = count && where[0].chunk == DEV_NO_CHUNK;
    m->where_count = 0;
    if (bytes > count * CHUNK_BYTES || count * CHUNK_BYTES - bytes >= CHUNK_BYTES ||
        host != m->managed)
        m->where_err = -EINVAL;
    else
        m->where_err = space_vars_adopt(m->space, where, count, &m->blocks);
    return m->where_err ? 0 : where[0].addr;
}

/* Allocates a variable. Variables are packed into blocks of whole granules. */
static uint64_t var_alloc(void *arg, uint64_t bytes, uint64_t align) {
    struct dev_module *m = arg;
    if (m->where) return var_again(m, bytes);
    if (align < 256) align = 256; /* alignment that cuModuleGetGlobal promises for any variable */
    uint64_t addr = (m->var_next + align - 1) & ~(align - 1);
    if (!m->var_next || addr > m->var_end || m->var_end - addr < bytes) {
        addr = m->managed ? space_managed_alloc(m->space, bytes, align, &m->blocks)
                          : space_vars_alloc(m->space, bytes, align, &m->blocks);
        if (!addr) return 0;
        m->var_end = addr + ((bytes + CHUNK_BYTES - 1) & ~(CHUNK_BYTES - 1));
    }
    m->var_next = addr + bytes;
    return addr;
}

/* Determines whether the kernels may need the heap and the device runtime. */
static void find_needs(struct dev_module *m, const struct ptx_module *ptx) {
    for (uint32_t i = 0; i < ptx->func_count; i++) {
        enum code_native native = native_find(ptx->funcs[i]);
        m->needs.heap |= native_uses_heap(native);
        m->needs.runtime |= native_is_cdp(native);
    }
}

static int take_needs(struct dev_module *m) {
    int err = m->needs.heap ? provision_take_heap(m->space->provision) : 0;
    m->has.heap = m->needs.heap && !err;
    if (!err && m->needs.runtime) err = provision_take_runtime(m->space->provision);
    m->has.runtime = m->needs.runtime && !err;
    return err;
}

/* PTX modules that are parsed one by one, and then joined. */
struct units {
    const _Atomic bool *over; /* set when the space is cancelled */
    struct ptx_module **list;
    uint32_t count;
};

static int parse_unit(struct units *u, const char *text, size_t bytes, char *why,
                      size_t why_bytes) {
    int err = ptx_parse_until(text, bytes, u->over, &u->list[u->count], why, why_bytes);
    u->count += !err;
    return err;
}

/* Parses the image's modules, and the device runtime's if one of them calls it. */
static int parse_units(struct units *u, const struct image *image, char *why, size_t why_bytes) {
    bool runtime = false;
    u->list = calloc(image->ptx_count + 1, sizeof(struct ptx_module *));
    if (!u->list) return -ENOMEM;
    for (uint32_t i = 0; i < image->ptx_count; i++) {
        int err = parse_unit(u, image->ptx[i], image->ptx_bytes[i], why, why_bytes);
        if (err) return err;
        runtime |= ptx_runtime_wanted(u->list[i]);
    }
    return runtime ? parse_unit(u, ptx_runtime_text, strlen(ptx_runtime_text), why, why_bytes) : 0;
}

static int link_units(struct units *u, struct ptx_module **linked, char *why, size_t why_bytes) {
    if (u->count == 1) {
        *linked = u->list[--u->count];
        return 0;
    }
    int err = ptx_link(u->list, u->count, linked, why, why_bytes);
    if (!err) u->count = 0; /* the joined module owns them now */
    return err;
}

static void free_units(struct units *u) {
    while (u->count)
        ptx_module_free(u->list[--u->count]);
    free(u->list);
}

/* Lists the names of kernels and counts variables, for programs that ask. */
static int list_names(struct dev_module *m, const struct ptx_module *ptx) {
    m->names = calloc(ptx->func_count + 1, sizeof(*m->names));
    if (!m->names) return -ENOMEM;
    for (uint32_t i = 0; i < ptx->func_count; i++)
        if (ptx->funcs[i]->entry && ptx->funcs[i]->defined)
            m->names[m->name_count++] = ptx->funcs[i]->name;
    for (uint32_t i = 0; i < ptx->var_count; i++)
        m->global_count += ptx->vars[i]->space == PTX_GLOBAL || ptx->vars[i]->space == PTX_CONST;
    return 0;
}

/* Takes ownership of `ptx`. */
static int take_ptx(struct dev_module *m, struct ptx_module *ptx) {
    for (uint32_t i = 0; i < ptx->var_count; i++)
        m->managed |= ptx->vars[i]->managed;
    find_needs(m, ptx);
    int err = code_module_create(&m->code, ptx);
    if (err) ptx_module_free(ptx);
    return err ? err : list_names(m, ptx);
}

static int parse_image(struct dev_module *m, char *why, size_t why_bytes) {
    struct units units = {.over = &m->space->over};
    struct ptx_module *linked = NULL;
    int err = parse_units(&units, &m->image, why, why_bytes);
    if (!err) err = link_units(&units, &linked, why, why_bytes);
    free_units(&units);
    return err ? err : take_ptx(m, linked);
}

/* Without PTX the names come from the cubin. The kernels can be listed; only a space that computes
 * nothing can launch them. */
static int names_of_cubin(struct dev_module *m) {
    if (m->space->config.null) {
        m->managed = described_managed(&m->image);
        m->global_count = m->image.var_count;
    }
    m->names = calloc(m->image.kernel_count + 1, sizeof(*m->names));
    if (!m->names) return -ENOMEM;
    for (; m->name_count < m->image.kernel_count; m->name_count++)
        m->names[m->name_count] = m->image.kernels[m->name_count].name;
    return 0;
}

int module_read(struct dev_space *space, uint32_t capability, const void *image, size_t bytes,
                struct dev_module **out, char *why, size_t why_bytes) {
    *out = NULL;
    struct dev_module *m = calloc(1, sizeof(*m));
    if (!m) return -ENOMEM;
    m->space = space;
    m->capability = capability ? capability : space->config.capability;
    list_init(&m->blocks);
    int err =
        image_read(image, bytes, m->capability, space->config.null ? IMAGE_DESCRIBE : IMAGE_RUN,
                   &m->image, why, why_bytes);
    if (err) {
        free(m);
        return err;
    }
    err = m->image.ptx_count ? parse_image(m, why, why_bytes) : names_of_cubin(m);
    if (!err) m->funcs = calloc(m->name_count + 1, sizeof(struct dev_func *));
    if (!err && !m->funcs) err = -ENOMEM;
    if (err) {
        module_free(m);
        return err;
    }
    *out = m;
    return 0;
}

static int place_vars(struct dev_module *m, char *why, size_t why_bytes) {
    struct code_env env = {.alloc = var_alloc, .arg = m, .filled = m->where != NULL};
    if (m->code) return code_module_place(m->code, &env, why, why_bytes);
    if (!m->space->config.null) return 0;
    return described_place(&m->image, &env, &m->var_addrs, why, why_bytes);
}

int module_place(struct dev_module *m, char *why, size_t why_bytes) {
    int err = take_needs(m);
    if (err)
        snprintf(why, why_bytes,
                 "out of device memory for the heap and launches of the module's kernels");
    if (!err) err = place_vars(m, why, why_bytes);
    if (err) module_remove(m);
    return err;
}

uint32_t module_where(const struct dev_module *m, struct dev_granule *out, uint32_t cap) {
    return space_vars_where(m->space, &m->blocks, out, cap);
}

int module_place_at(struct dev_module *m, const struct dev_granule *where, uint32_t count,
                    char *why, size_t why_bytes) {
    static const struct dev_granule none;
    m->where = count ? where : &none;
    m->where_count = count;
    m->where_err = 0;
    int err = module_place(m, why, why_bytes);
    if (!err && m->where_count) { /* the module has no variables */
        m->where_err = -EINVAL;
        module_remove(m);
    }
    m->where = NULL;
    m->where_count = 0;
    if (!m->where_err) return err;
    snprintf(why, why_bytes, "the module's variables cannot have their previous addresses");
    return m->where_err;
}

void module_remove(struct dev_module *m) {
    space_module_free(m->space, &m->blocks);
    if (m->has.heap) provision_give_heap(m->space->provision);
    if (m->has.runtime) provision_give_runtime(m->space->provision);
    m->has.heap = m->has.runtime = false;
}

void module_free(struct dev_module *m) {
    if (!m) return;
    for (uint32_t i = 0; m->funcs && i < m->name_count; i++) {
        if (m->funcs[i]) free(m->funcs[i]->params);
        free(m->funcs[i]);
    }
    free(m->funcs);
    free(m->names);
    free(m->var_addrs);
    code_module_destroy(m->code);
    image_finish(&m->image);
    free(m);
}

uint32_t module_func_count(struct dev_module *m) {
    return m->name_count;
}

const char *module_func_name(struct dev_module *m, uint32_t index) {
    return index < m->name_count ? m->names[index] : NULL;
}

static const struct image_kernel *cubin_kernel(const struct dev_module *m, const char *name) {
    for (uint32_t i = 0; i < m->image.kernel_count; i++)
        if (!strcmp(m->image.kernels[i].name, name)) return &m->image.kernels[i];
    return NULL;
}

/* The number of registers determines occupancy. The cubin has the number that ptxas computed; the
 * PTX alone only gives a bound. */
static void describe_func(struct dev_func *f, const char *name) {
    struct code_kernel_info k;
    code_kernel_info(f->kernel, &k);
    const struct image_kernel *c = cubin_kernel(f->module, name);
    uint32_t regs = c && c->regs ? c->regs : k.regs;
    f->info = (struct dev_func_info){
        .params = f->params,
        .param_count = k.func->param_count,
        .param_bytes = k.func->param_bytes,
        .regs = regs < 16    ? 16
                : regs > 255 ? 255
                             : regs,
        .shared_bytes = k.shared_bytes,
        .local_bytes = c ? c->local_bytes : k.local_bytes,
        .const_bytes = c ? c->const_bytes : k.const_bytes,
        .max_threads = code_kernel_threads(f->kernel),
        .ptx_version = f->module->image.ptx_target,
        .binary_version = f->module->capability,
    };
    memcpy(f->info.req_block, k.func->req_block, sizeof(f->info.req_block));
    memcpy(f->info.req_cluster, k.func->req_cluster, sizeof(f->info.req_cluster));
    f->info.max_cluster = k.func->max_cluster;
    f->info.launches = (k.nests ? DEV_LAUNCHES_KERNELS : 0u) |
                       (k.launches_graphs ? DEV_LAUNCHES_GRAPHS : 0u) |
                       (k.prints ? DEV_CALLS_PRINTF : 0u) | (k.allocates ? DEV_CALLS_MALLOC : 0u);
    f->info.must_cluster = k.func->explicit_cluster;
}

static void explain_no_code(const struct dev_module *m, char *why, size_t why_bytes) {
    if (m->image.ptx_above)
        snprintf(why, why_bytes,
                 "the image has only machine code for this device: the PTX is for sm_%u, the "
                 "device is sm_%u",
                 m->image.ptx_above, m->capability);
    else
        snprintf(why, why_bytes, "only machine code, no PTX that this device can run");
}

static int copy_params(struct dev_func *f) {
    struct code_kernel_info k;
    code_kernel_info(f->kernel, &k);
    f->params = calloc(k.func->param_count + 1, sizeof(*f->params));
    if (!f->params) return -ENOMEM;
    for (uint32_t i = 0; i < k.func->param_count; i++)
        f->params[i] = (struct dev_param){(uint32_t)k.func->params[i]->offset,
                                          (uint32_t)k.func->params[i]->bytes};
    return 0;
}

static int decode_func(struct dev_func *f, const char *name, char *why, size_t why_bytes) {
    struct dev_module *m = f->module;
    if (!m->code) {
        explain_no_code(m, why, why_bytes);
        return ERR_NO_BINARY;
    }
    int err = code_kernel_get(m->code, name, &f->kernel, why, why_bytes);
    if (err) return err == ERR_ILLEGAL_INSTRUCTION ? ERR_INVALID_PTX : err;
    err = copy_params(f);
    if (!err) describe_func(f, name);
    return err;
}

static int make_func(struct dev_module *m, uint32_t index, struct dev_func **out, char *why,
                     size_t why_bytes) {
    struct dev_func *f = calloc(1, sizeof(*f));
    if (!f) return -ENOMEM;
    f->module = m;
    int err = m->var_addrs ? described_func(&m->image, index, m->space->config.capability, &f->info,
                                            &f->params, why, why_bytes)
                           : decode_func(f, m->names[index], why, why_bytes);
    if (err) {
        free(f->params);
        free(f);
        return err;
    }
    *out = m->funcs[index] = f;
    return 0;
}

int module_func_get(struct dev_module *m, const char *name, struct dev_func **out,
                    struct dev_func_info *info, char *why, size_t why_bytes) {
    if (why_bytes) why[0] = '\0';
    for (uint32_t i = 0; i < m->name_count; i++) {
        if (strcmp(m->names[i], name) != 0) continue;
        struct dev_func *f = m->funcs[i];
        int err = f ? 0 : make_func(m, i, &f, why, why_bytes);
        if (err) return err;
        *out = f;
        *info = f->info;
        return 0;
    }
    return ERR_NOT_FOUND;
}

int module_global_get(struct dev_module *m, const char *name, uint64_t *addr, uint64_t *bytes) {
    return m->code ? code_global_get(m->code, name, addr, bytes)
                   : described_global_get(&m->image, m->var_addrs, name, addr, bytes);
}

uint32_t module_global_count(struct dev_module *m) {
    return m->global_count;
}
