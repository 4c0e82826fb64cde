/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels. On a kernel's first use, finds the functions that it can call, lays out its shared
 * memory and decodes it.
 */
#include "daemon/device/soft/decode/code_kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/arena.h"
#include "common/err.h"
#include "daemon/device/soft/code/func.h"
#include "daemon/device/soft/decode/decoded.h"
#include "daemon/device/soft/module/code_module.h"
#include "daemon/device/soft/module/names.h"
#include "daemon/device/soft/ptx/ptx_parse.h"

#define CODE_SHARED_MAX (1u << 20) /* limit of static shared memory, far above any GPU's */

/* Everything that a kernel can reach, as a work list of functions. */
struct code_reach {
    struct code_module *m;
    uint32_t *list, count;
    /* optional: reached only through pointers, so that the function may stay undecoded */
    bool *seen, *optional;
    bool indirect, reserved;
    bool *shared_seen; /* indexed by module variable */
    bool *launches;    /* kernels whose address the functions take */
};

static void code_reach_add(struct code_reach *r, uint32_t func, bool optional) {
    if (func >= r->m->ptx->func_count || !r->m->ptx->funcs[func]->defined) return;
    if (!optional) r->optional[func] = false;
    if (r->seen[func]) return;
    r->seen[func] = true;
    r->optional[func] = optional;
    r->list[r->count++] = func;
}

static int code_reach_func(struct code_reach *r, uint32_t func) {
    bool optional = r->optional[func];
    const struct code_names *names = names_of(r->m, func);
    if (!names) return -ENOMEM;
    for (uint32_t i = 0; i < names->calls.count; i++)
        code_reach_add(r, names->calls.items[i], optional);
    for (uint32_t i = 0; i < names->launches.count; i++)
        r->launches[names->launches.items[i]] = true;
    for (uint32_t i = 0; i < names->shared.count; i++)
        r->shared_seen[names->shared.items[i]] = true;
    r->indirect |= names->indirect;
    r->reserved |= names->reserved;
    return 0;
}

static int code_reach_all(struct code_reach *r, uint32_t entry) {
    code_reach_add(r, entry, false);
    for (uint32_t at = 0; at < r->count; at++) {
        bool had = r->indirect;
        int err = code_reach_func(r, r->list[at]);
        if (err) return err;
        if (had || !r->indirect) continue;
        for (uint32_t f = 0; f < r->m->ptx->func_count; f++)
            if (r->m->address_taken[f] && !r->m->ptx->funcs[f]->entry) code_reach_add(r, f, true);
    }
    return 0;
}

static int code_place_shared(struct code_kernel *k, struct ptx_var *v) {
    uint64_t align = code_var_align(v);
    if (v->bytes > CODE_SHARED_MAX || align > 4096) return ERR_ILLEGAL_INSTRUCTION;
    uint64_t at = (k->shared_bytes + align - 1) & ~(align - 1);
    if (at + v->bytes > CODE_SHARED_MAX) return ERR_ILLEGAL_INSTRUCTION;
    v->offset = at;
    k->shared_bytes = (uint32_t)(at + v->bytes);
    if (align > k->shared_align) k->shared_align = (uint32_t)align;
    return 0;
}

/* Aligns the dynamic shared memory for an array of unknown size. All such arrays share the dynamic
 * memory, which has the largest alignment that any of them asks for. */
static int code_align_dynamic(struct code_kernel *k, struct ptx_var *v) {
    uint64_t align = code_var_align(v);
    if (align > 4096) return ERR_ILLEGAL_INSTRUCTION;
    if (align > k->shared_align) k->shared_align = (uint32_t)align;
    k->dynamic_offset = (uint32_t)((k->dynamic_offset + align - 1) & ~(align - 1));
    return 0;
}

static int code_set_dynamic(struct code_kernel *k, struct ptx_var *v) {
    v->offset = k->dynamic_offset;
    return 0;
}

/* Calls `fn` for the kernel's variables in shared memory that have a size, or with `dynamic` those
 * of unknown size. The functions' own variables come last. Stops at the first error. */
static int code_each_shared(struct code_reach *r, struct code_kernel *k, bool dynamic,
                            int (*fn)(struct code_kernel *, struct ptx_var *)) {
    struct ptx_module *m = r->m->ptx;
    int err = 0;
    for (uint32_t i = 0; !err && i < m->var_count; i++)
        if (r->shared_seen[i] && (m->vars[i]->bytes == 0) == dynamic) err = fn(k, m->vars[i]);
    for (uint32_t n = 0; n < r->count; n++) {
        struct ptx_func *f = m->funcs[r->list[n]];
        for (uint32_t i = 0; !err && i < f->var_count; i++)
            if (f->vars[i]->space == PTX_SHARED && (f->vars[i]->bytes == 0) == dynamic)
                err = fn(k, f->vars[i]);
    }
    return err;
}

/* Lays out shared memory: static variables first, then the dynamic part, where all arrays of
 * unknown size begin. */
static int code_shared(struct code_reach *r, struct code_kernel *k) {
    k->reserved = r->reserved;
    k->shared_align = 16;
    int err = code_each_shared(r, k, false, code_place_shared);
    k->dynamic_offset = (k->shared_bytes + 15) & ~15u;
    if (!err) err = code_each_shared(r, k, true, code_align_dynamic);
    if (!err) err = code_each_shared(r, k, true, code_set_dynamic);
    return err;
}

static int code_decode_all(struct code_reach *r, struct code_kernel *k, char *why,
                           size_t why_bytes) {
    for (uint32_t n = 0; n < r->count; n++) {
        uint32_t f = r->list[n];
        struct code_func *code = NULL;
        int err = decoded_get(r->m, f, &code, why, why_bytes);
        if (err && r->optional[f] && err != -ENOMEM) continue; /* a call of this function faults */
        if (err) return err;
        k->funcs[f] = code;
    }
    return 0;
}

/* Bytes that a frame of `f` may need for its alignment, in addition to its own bytes. */
static uint64_t code_padding(const struct code_func *f) {
    return f ? f->local_align - 16u : 0;
}

/* Bytes of local memory on the longest path of calls from `f` on. Sets `recursive` on a cycle, a
 * call through a pointer, or a path of over 1000 calls. */
static uint64_t code_depth(struct code_kernel *k, uint32_t f, uint64_t *known, uint32_t depth) {
    enum { BUSY = 1 }; /* known[]: 0 unknown, 1 on the path, else bytes + 2 */
    if (!k->funcs[f]) return 0;
    if (known[f] == BUSY || depth > 1000) {
        k->recursive = true;
        return 0;
    }
    if (known[f]) return known[f] - 2;
    known[f] = BUSY;
    uint64_t most = 0;
    const struct code_func *code = k->funcs[f];
    /* Not NULL, since the function was decoded. */
    const struct code_names *names = k->module->names[f];
    k->recursive |= names->indirect;
    for (uint32_t i = 0; i < names->calls.count; i++) {
        uint32_t callee = names->calls.items[i];
        uint64_t below = code_depth(k, callee, known, depth + 1) + code_padding(k->funcs[callee]);
        if (below > most) most = below;
    }
    known[f] = most + code->local_bytes + 2;
    return most + code->local_bytes;
}

static int code_measure_kernel(struct code_reach *r, struct code_kernel *k) {
    uint64_t *known = calloc(k->func_count, sizeof(*known));
    if (!known) return -ENOMEM;
    uint64_t bytes = code_depth(k, r->list[0], known, 0);
    k->local_bytes = bytes > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uint32_t)bytes;
    free(known);
    for (uint32_t n = 0; n < r->count; n++) {
        const struct code_func *f = k->funcs[r->list[n]];
        if (!f) continue;
        k->nests |= k->module->names[r->list[n]]->nests;
        k->launches_graphs |= k->module->names[r->list[n]]->launches_graphs;
        k->prints |= k->module->names[r->list[n]]->prints;
        k->allocates |= k->module->names[r->list[n]]->allocates;
        k->recursive |= f->stack;
        k->const_bytes += f->const_bytes;
        if (f->local_align > k->local_align) k->local_align = f->local_align;
    }
    return 0;
}

static int build_kernel(struct code_module *m, const struct ptx_func *f, struct code_kernel *k,
                        char *why, size_t why_bytes) {
    uint32_t n = m->ptx->func_count;
    struct code_reach r = {.m = m};
    r.list = calloc(n + 1, sizeof(*r.list));
    r.seen = calloc(2 * (size_t)n + m->ptx->var_count + 1, sizeof(*r.seen));
    r.launches = k->launches = arena_calloc(k->arena, (size_t)n + 1, sizeof(*k->launches));
    int err = r.list && r.seen && r.launches ? 0 : -ENOMEM;
    if (!err) {
        r.optional = r.seen + n;
        r.shared_seen = r.optional + n;
        err = code_reach_all(&r, f->index);
    }
    if (!err) {
        err = code_shared(&r, k);
        if (err) snprintf(why, why_bytes, "%s: the kernel needs too much shared memory", f->name);
    }
    if (!err) err = code_decode_all(&r, k, why, why_bytes);
    if (!err) err = code_measure_kernel(&r, k);
    k->entry = err ? NULL : k->funcs[f->index];
    free(r.list);
    free(r.seen);
    return err;
}

static struct code_kernel *find_kernel(const struct code_module *m, const char *name) {
    struct code_kernel *k = m->kernels;
    while (k && strcmp(k->name, name) != 0)
        k = k->next;
    return k;
}

static struct code_kernel *new_kernel(struct code_module *m, const struct ptx_func *f) {
    struct arena *arena = arena_create();
    struct code_kernel *k = arena ? arena_calloc(arena, 1, sizeof(*k)) : NULL;
    if (!k) {
        arena_destroy(arena);
        return NULL;
    }
    k->arena = arena;
    k->module = m;
    k->name = f->name;
    k->func_count = m->ptx->func_count;
    k->funcs = arena_calloc(arena, k->func_count, sizeof(struct code_func *));
    return k;
}

/* Returns the kernel, decoded now or before, without the kernels that it may launch. */
static int decode_kernel(struct code_module *m, const struct ptx_func *f, struct code_kernel **out,
                         char *why, size_t why_bytes) {
    *out = find_kernel(m, f->name);
    if (*out) return 0;
    struct code_kernel *k = new_kernel(m, f);
    if (!k) return -ENOMEM;
    int err = k->funcs ? build_kernel(m, f, k, why, why_bytes) : -ENOMEM;
    if (err) {
        arena_destroy(k->arena);
        return err;
    }
    k->next = m->kernels;
    m->kernels = k;
    *out = k;
    return 0;
}

/* ---- kernels launched by kernels --------------------------------------------------------------
 */

static int survey_one(struct code_module *m, uint32_t i) {
    struct code_launchable *l = &m->launchable[i];
    char why[256] = "";
    l->err = decode_kernel(m, m->ptx->funcs[i], &l->kernel, why, sizeof(why));
    if (!l->err) return 0;
    if (l->err != -ENOMEM) l->why = strdup(why);
    return l->why ? 0 : -ENOMEM;
}

/* Returns the first kernel that `k` names and that cannot run, or NULL. */
static const struct code_launchable *first_refused(const struct code_module *m,
                                                   const struct code_kernel *k) {
    for (uint32_t i = 0; i < k->func_count; i++)
        if (k->launches[i] && m->launchable[i].err) return &m->launchable[i];
    return NULL;
}

/* A kernel that names one that cannot run cannot run either. Repeats until no more are found. */
static int spread_refusals(struct code_module *m) {
    for (bool again = true; again;) {
        again = false;
        for (uint32_t i = 0; i < m->ptx->func_count; i++) {
            struct code_launchable *l = &m->launchable[i];
            const struct code_launchable *of = l->kernel ? first_refused(m, l->kernel) : NULL;
            if (!of) continue;
            l->kernel = NULL;
            l->err = of->err;
            l->why = strdup(of->why);
            if (!l->why) return -ENOMEM;
            again = true;
        }
    }
    return 0;
}

/* Decodes all kernels whose address is taken, since a launch may be of any of them. Done once; the
 * result never changes. */
static int survey_launchable(struct code_module *m) {
    int err = 0;
    if (m->launchable) return 0;
    m->launchable = calloc((size_t)m->ptx->func_count + 1, sizeof(*m->launchable));
    if (!m->launchable) return -ENOMEM;
    for (uint32_t i = 0; !err && i < m->ptx->func_count; i++) {
        const struct ptx_func *f = m->ptx->funcs[i];
        if (f->entry && f->defined && m->address_taken[i]) err = survey_one(m, i);
    }
    if (!err) err = spread_refusals(m);
    if (err) code_launchable_free(m);
    return err;
}

/* Returns 0 if all kernels that `k` names can be launched; otherwise the error of one that cannot,
 * with its `why`. */
static int check_launches(struct code_module *m, const struct code_kernel *k, char *why,
                          size_t why_bytes) {
    int err = survey_launchable(m);
    const struct code_launchable *of = err ? NULL : first_refused(m, k);
    if (!of) return err;
    snprintf(why, why_bytes, "%s", of->why);
    return of->err;
}

/* Adds the use of printf and malloc by all kernels of the module whose address is taken: `k`, or a
 * kernel that it launches, may launch any of them. */
static void add_calls(const struct code_module *m, struct code_kernel *k) {
    for (uint32_t i = 0; i < m->ptx->func_count; i++) {
        const struct code_kernel *launched = m->launchable[i].kernel;
        k->prints |= launched && launched->prints;
        k->allocates |= launched && launched->allocates;
    }
}

int code_kernel_get(struct code_module *m, const char *name, struct code_kernel **out, char *why,
                    size_t why_bytes) {
    struct code_kernel *k = NULL;
    const struct ptx_func *f = ptx_find_func(m->ptx, name);
    if (!f || !f->entry || !f->defined) {
        snprintf(why, why_bytes, "the module has no kernel of this name");
        return ERR_NOT_FOUND;
    }
    int err = decode_kernel(m, f, &k, why, why_bytes);
    if (!err && k->nests) err = check_launches(m, k, why, why_bytes);
    if (!err && k->nests) add_calls(m, k);
    if (!err) *out = k;
    return err;
}
