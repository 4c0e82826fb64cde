/* SPDX-License-Identifier: Apache-2.0
 *
 * A loaded image: its PTX, instantiated in the client's module window, and what its cubin knows.
 */
#include "daemon/device/soft/dev/module.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/code/kernel.h"
#include "daemon/device/soft/code/module.h"
#include "daemon/device/soft/dev/space.h"

/* Variables are packed into blocks of whole granules. */
static uint64_t var_alloc(void *arg, uint64_t bytes, uint64_t align) {
    struct dev_module *m = arg;
    if (align < 256) align = 256; /* what cuModuleGetGlobal promises of any variable */
    uint64_t addr = (m->var_next + align - 1) & ~(align - 1);
    if (!m->var_next || addr > m->var_end || m->var_end - addr < bytes) {
        addr = m->managed ? space_managed_alloc(m->space, bytes, align, &m->blocks)
                          : space_module_alloc(m->space, bytes, align, &m->blocks);
        if (!addr) return 0;
        m->var_end = addr + ((bytes + CHUNK_BYTES - 1) & ~(CHUNK_BYTES - 1));
    }
    m->var_next = addr + bytes;
    return addr;
}

static bool calls_malloc(const struct ptx_module *ptx) {
    const struct ptx_func *f = ptx_find_func(ptx, "malloc");
    return f && !f->defined;
}

static int parse_image(struct dev_module *m, char *why, size_t why_bytes) {
    struct ptx_module *units[64], *linked = NULL;
    uint32_t n = 0;
    int err = 0;
    if (m->image.ptx_count > sizeof(units) / sizeof(*units)) {
        snprintf(why, why_bytes, "%u units to link, at most 64 are supported", m->image.ptx_count);
        return ERR_UNSUPPORTED_PTX;
    }
    for (; !err && n < m->image.ptx_count; n += !err)
        err = ptx_parse(m->image.ptx[n], m->image.ptx_bytes[n], &units[n], why, why_bytes);
    if (!err && n == 1)
        linked = units[--n];
    else if (!err)
        err = ptx_link(units, n, &linked, why, why_bytes);
    if (linked) n = 0; /* which owns its units */
    if (!err && calls_malloc(linked)) err = space_need_heap(m->space);
    for (uint32_t i = 0; !err && i < linked->var_count; i++)
        m->managed |= linked->vars[i]->managed;
    if (!err) {
        struct code_env env = {.alloc = var_alloc, .arg = m};
        err = code_module_create(&m->code, linked, &env, why, why_bytes);
        for (uint32_t i = 0; !err && i < linked->func_count; i++)
            m->name_count += linked->funcs[i]->entry && linked->funcs[i]->defined;
        for (uint32_t i = 0; !err && i < linked->var_count; i++)
            m->global_count +=
                linked->vars[i]->space == PTX_GLOBAL || linked->vars[i]->space == PTX_CONST;
    }
    if (!err) {
        m->names = calloc(m->name_count + 1, sizeof(*m->names));
        if (!m->names) return -ENOMEM;
        for (uint32_t i = 0, k = 0; i < linked->func_count; i++)
            if (linked->funcs[i]->entry && linked->funcs[i]->defined)
                m->names[k++] = linked->funcs[i]->name;
    } else if (!m->code) {
        ptx_module_free(linked);
    }
    while (n)
        ptx_module_free(units[--n]);
    return err;
}

/* Without PTX the names are the cubin's; its kernels can be listed but not run. */
static int names_of_cubin(struct dev_module *m) {
    m->names = calloc(m->image.kernel_count + 1, sizeof(*m->names));
    if (!m->names) return -ENOMEM;
    for (; m->name_count < m->image.kernel_count; m->name_count++)
        m->names[m->name_count] = m->image.kernels[m->name_count].name;
    return 0;
}

int module_load(struct dev_space *space, const void *image, size_t bytes, struct dev_module **out,
                char *why, size_t why_bytes) {
    *out = NULL;
    struct dev_module *m = calloc(1, sizeof(*m));
    if (!m) return -ENOMEM;
    m->space = space;
    list_init(&m->blocks);
    int err = image_read(image, bytes, space->config.capability, &m->image, why, why_bytes);
    if (err) {
        free(m);
        return err;
    }
    err = m->image.ptx_count ? parse_image(m, why, why_bytes) : names_of_cubin(m);
    if (!err) m->funcs = calloc(m->name_count + 1, sizeof(struct dev_func *));
    if (!err && !m->funcs) err = -ENOMEM;
    if (err) {
        module_unload(m);
        return err;
    }
    *out = m;
    return 0;
}

void module_unload(struct dev_module *m) {
    if (!m) return;
    for (uint32_t i = 0; m->funcs && i < m->name_count; i++) {
        if (m->funcs[i]) free(m->funcs[i]->params);
        free(m->funcs[i]);
    }
    free(m->funcs);
    free(m->names);
    code_module_destroy(m->code);
    space_module_free(m->space, &m->blocks);
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

static uint32_t product(const uint32_t v[3]) {
    return (v[0] ? v[0] : 1) * (v[1] ? v[1] : 1) * (v[2] ? v[2] : 1);
}

/* Registers decide occupancy; ptxas knows them, the PTX alone only bounds them. */
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
        .const_bytes = k.const_bytes,
        .max_threads = 1024,
        .ptx_version = f->module->image.ptx_target,
        .binary_version = f->module->space->config.capability,
    };
    const uint32_t *limit = k.func->req_block[0] ? k.func->req_block : k.func->max_block;
    if (limit[0] && product(limit) < 1024) f->info.max_threads = product(limit);
    memcpy(f->info.req_block, k.func->req_block, sizeof(f->info.req_block));
}

static void explain_no_code(const struct dev_module *m, char *why, size_t why_bytes) {
    if (m->image.ptx_above)
        snprintf(why, why_bytes, "only machine code: the PTX is for sm_%u, the device is sm_%u",
                 m->image.ptx_above, m->space->config.capability);
    else
        snprintf(why, why_bytes, "only machine code, no PTX that this device can run");
}

static int decode_func(struct dev_module *m, uint32_t index, struct dev_func **out, char *why,
                       size_t why_bytes) {
    const char *name = m->names[index];
    struct dev_func *f = calloc(1, sizeof(*f));
    if (!f) return -ENOMEM;
    f->module = m;
    int err = ERR_NO_BINARY;
    explain_no_code(m, why, why_bytes);
    if (m->code) err = code_kernel_get(m->code, name, &f->kernel, why, why_bytes);
    if (err) {
        free(f);
        return err == ERR_ILLEGAL_INSTRUCTION ? ERR_INVALID_PTX : err;
    }
    struct code_kernel_info k;
    code_kernel_info(f->kernel, &k);
    f->params = calloc(k.func->param_count + 1, sizeof(*f->params));
    if (!f->params) {
        free(f);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < k.func->param_count; i++)
        f->params[i] = (struct dev_param){(uint32_t)k.func->params[i]->offset,
                                          (uint32_t)k.func->params[i]->bytes};
    describe_func(f, name);
    *out = m->funcs[index] = f;
    return 0;
}

int module_func_get(struct dev_module *m, const char *name, struct dev_func **out,
                    struct dev_func_info *info, char *why, size_t why_bytes) {
    if (why_bytes) why[0] = '\0';
    for (uint32_t i = 0; i < m->name_count; i++) {
        if (strcmp(m->names[i], name) != 0) continue;
        struct dev_func *f = m->funcs[i];
        int err = f ? 0 : decode_func(m, i, &f, why, why_bytes);
        if (err) return err;
        *out = f;
        *info = f->info;
        return 0;
    }
    return ERR_NOT_FOUND;
}

int module_global_get(struct dev_module *m, const char *name, uint64_t *addr, uint64_t *bytes) {
    return m->code ? code_global_get(m->code, name, addr, bytes) : ERR_NOT_FOUND;
}

uint32_t module_global_count(struct dev_module *m) {
    return m->global_count;
}
