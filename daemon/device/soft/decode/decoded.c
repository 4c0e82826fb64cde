/* SPDX-License-Identifier: Apache-2.0
 *
 * A list of decoded versions for each function. It mostly has one item, since the kernels of a
 * module have few different layouts.
 */
#include "daemon/device/soft/decode/decoded.h"

#include <errno.h>
#include <stdio.h>

#include "common/arena.h"
#include "daemon/device/soft/decode/decode.h"
#include "daemon/device/soft/module/code_module.h"
#include "daemon/device/soft/module/names.h"

struct decoded {
    struct decoded *next;
    struct code_func *code; /* NULL: the function cannot be decoded */
    int err;
    const char *why;
    /* Offsets of the shared variables that the function names, then of its own. */
    uint64_t offsets[];
};

/* Counts the function's own variables in shared memory, which are few. */
static uint32_t own_count(const struct ptx_func *f) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->var_count; i++)
        n += f->vars[i]->space == PTX_SHARED;
    return n;
}

/* Writes the present offsets of the named and the own shared variables to `out`. */
static void note_offsets(const struct ptx_module *ptx, const struct names_list *named,
                         const struct ptx_func *f, uint64_t *out) {
    for (uint32_t i = 0; i < named->count; i++)
        *out++ = ptx->vars[named->items[i]]->offset;
    for (uint32_t i = 0; i < f->var_count; i++)
        if (f->vars[i]->space == PTX_SHARED) *out++ = f->vars[i]->offset;
}

static bool lies_alike(const struct ptx_module *ptx, const struct names_list *named,
                       const struct ptx_func *f, const uint64_t *offsets) {
    for (uint32_t i = 0; i < named->count; i++)
        if (ptx->vars[named->items[i]]->offset != *offsets++) return false;
    for (uint32_t i = 0; i < f->var_count; i++)
        if (f->vars[i]->space == PTX_SHARED && f->vars[i]->offset != *offsets++) return false;
    return true;
}

/* Decodes the function with the present offsets. NULL when out of memory: no failure is recorded
 * then. */
static struct decoded *decode_now(struct code_module *m, uint32_t func,
                                  const struct names_list *named, char *why, size_t why_bytes) {
    struct ptx_func *f = m->ptx->funcs[func];
    struct decoded *d = arena_calloc(
        m->arena, 1, sizeof(*d) + (named->count + (size_t)own_count(f)) * sizeof(d->offsets[0]));
    if (!d) return NULL;
    note_offsets(m->ptx, named, f, d->offsets);
    d->err = decode_func(m->arena, f, &d->code, why, why_bytes);
    if (d->err) d->code = NULL;
    if (d->err) d->why = arena_strdup(m->arena, why);
    if (d->err == -ENOMEM || (d->err && !d->why)) return NULL;
    d->next = m->decoded[func];
    m->decoded[func] = d;
    return d;
}

int decoded_get(struct code_module *m, uint32_t func, struct code_func **out, char *why,
                size_t why_bytes) {
    const struct code_names *names = names_of(m, func);
    if (!names) return -ENOMEM;
    struct decoded *d = m->decoded[func];
    while (d && !lies_alike(m->ptx, &names->shared, m->ptx->funcs[func], d->offsets))
        d = d->next;
    if (!d) d = decode_now(m, func, &names->shared, why, why_bytes);
    if (!d) return -ENOMEM;
    if (d->err) snprintf(why, why_bytes, "%s", d->why);
    *out = d->code;
    return d->err;
}
