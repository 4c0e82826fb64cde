/* SPDX-License-Identifier: Apache-2.0
 *
 * Queries the worker about kernels.
 */
#include "shim/code/resolve.h"

#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "proto/wire/record.h"
#include "shim/code/image.h"
#include "shim/connection/refuse.h"
#include "shim/connection/reply.h"
#include "shim/connection/state.h"
#include "shim/memory/mem.h"

#define PARAMS_MAX RECORD_PARAMS_MAX

static uint64_t
    params_at; /* address in the host window at which the worker puts parameter layouts */

static CUresult keep_params(struct function *f) {
    size_t bytes = f->info.param_count * sizeof(*f->params);
    if (f->info.param_count > PARAMS_MAX || f->info.param_bytes > WIRE_PARAM_MAX) {
        static const char why[] = "the kernel has more parameters than are supported";
        refuse_kernel(f->name, f->image->origin, ERR_UNSUPPORTED_PTX, why, sizeof(why));
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    free(f->params);
    f->params = malloc(bytes ? bytes : 1);
    if (!f->params) return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(f->params, (const void *)(uintptr_t)params_at, bytes);
    for (uint32_t i = 0; i < f->info.param_count; i++) {
        const struct wire_param *p = &f->params[i];
        if (p->offset > f->info.param_bytes || p->bytes > f->info.param_bytes - p->offset)
            return CUDA_ERROR_UNKNOWN;
    }
    return CUDA_SUCCESS;
}

static uint32_t default_dynamic(const struct function *f) {
    uint32_t per_block = state.conn.device.shared_per_block_bytes;
    return f->info.shared_bytes < per_block ? per_block - f->info.shared_bytes : 0;
}

/* The flags of launches that set no cluster. Drivers report "must" also for a kernel that has a
 * cluster size of its own. */
static uint16_t clusters_unsaid(const struct wire_func_reply *i) {
    return i->cluster ? i->cluster : i->cluster_must ? CLUSTER_NONE : 0;
}

/* True when the kernel exists and cannot be used. Names that do not exist are asked for as well;
 * those come without a reason. */
static bool is_refusal(const struct reply *reply) {
    return refuse_is_code(reply->result) ||
           (reply->result == ERR_NOT_FOUND && reply->bytes && reply->data[0]);
}

/* Asks the worker about the kernel. The caller has entered. */
static CUresult ask(struct function *f, bool first) {
    CUresult r = image_load(f->image, NULL);
    if (!r && f->sent) return CUDA_ERROR_NOT_SUPPORTED; /* the kernel's layout was refused before */
    if (!r && !params_at)
        r = mem_take(MEM_OWN, 0, 0, PARAMS_MAX * sizeof(struct wire_param), &params_at);
    if (r) return r;
    struct wire_func_get rec = {
        .rec = {.op = WIRE_FUNC_GET},
        .module = f->image->index,
        .func = f->id,
        .params = params_at,
        .params_cap = PARAMS_MAX,
        .name_bytes = (uint32_t)strlen(f->name) + 1,
    };
    struct reply reply = {0};
    r = reply_call(&rec, sizeof(rec), f->name, rec.name_bytes, &reply);
    if (r && is_refusal(&reply))
        refuse_kernel(f->name, f->image->origin, reply.result, (const char *)reply.data,
                      reply.bytes);
    if (r) return r;
    f->sent = true;
    if (reply.bytes != sizeof(f->info)) return CUDA_ERROR_UNKNOWN;
    memcpy(&f->info, reply.data, sizeof(f->info));
    r = keep_params(f);
    if (r) return r;
    if (first) {
        f->max_dynamic = default_dynamic(f);
        f->carveout = CU_SHAREDMEM_CARVEOUT_DEFAULT;
        f->cluster_policy = f->non_portable_cluster = 0;
        f->launch_flags = clusters_unsaid(&f->info);
    }
    atom_store_release(&f->ready, 1);
    return CUDA_SUCCESS;
}

CUresult resolve_ready_slow(struct function *f) {
    image_enter();
    CUresult r = atom_load_acquire(&f->ready) ? CUDA_SUCCESS : ask(f, false);
    image_leave();
    return r;
}

CUresult resolve_get(struct image *image, const char *name, struct function **out) {
    struct function *f = image_function(image, name);
    if (f) {
        *out = f;
        return atom_load_acquire(&f->ready) ? CUDA_SUCCESS : ask(f, false);
    }
    if (!*name || strlen(name) >= FUNCTION_NAME_MAX) return CUDA_ERROR_NOT_FOUND;
    f = function_create(image, name);
    if (!f) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = ask(f, true);
    if (r) {
        if (!f->sent)
            function_free(f); /* otherwise the id stays taken, because the worker has it */
        return r;
    }
    function_publish(f);
    image_add(image, f);
    *out = f;
    return CUDA_SUCCESS;
}

CUresult resolve_all(struct image *image, void **handles, uint32_t count) {
    uint64_t at;
    CUresult r = image_load(image, NULL);
    if (!r) r = mem_take(MEM_OWN, 0, 0, FUNCTION_NAME_MAX, &at);
    if (r) return r;
    for (uint32_t i = 0; !r && i < count && i < image->function_count; i++) {
        struct wire_func_name rec = {.rec = {.op = WIRE_FUNC_NAME},
                                     .module = image->index,
                                     .index = i,
                                     .buf = at,
                                     .cap = FUNCTION_NAME_MAX};
        struct function *f = NULL;
        char *name = (char *)(uintptr_t)at;
        r = reply_call(&rec, sizeof(rec), NULL, 0, NULL);
        name[FUNCTION_NAME_MAX - 1] = '\0';
        if (!r) r = resolve_get(image, name, &f);
        if (!r) handles[i] = f->handle;
    }
    mem_give(at);
    return r;
}
