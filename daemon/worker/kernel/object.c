/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables by id.
 */
#include "daemon/worker/kernel/object.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/worker/kernel/kernels.h"

int object_init(struct objects *o) {
    o->modules = calloc(WIRE_MODULES, sizeof(*o->modules));
    o->funcs = calloc(WIRE_FUNCS, sizeof(*o->funcs));
    return o->modules && o->funcs ? 0 : -ENOMEM;
}

void object_finish(struct objects *o) {
    free(o->modules);
    free(o->funcs);
    *o = (struct objects){0};
}

uint64_t object_fingerprint(uint64_t hash, const void *data, size_t bytes) {
    const unsigned char *at = data;
    uint64_t word;
    for (; bytes >= sizeof(word); at += sizeof(word), bytes -= sizeof(word)) {
        memcpy(&word, at, sizeof(word));
        hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
        hash ^= hash >> 32;
    }
    for (; bytes; at++, bytes--)
        hash = (hash ^ *at) * 0x100000001b3ull;
    return hash;
}

struct module *object_add_module(struct objects *o, const struct module *loaded) {
    struct module *m = malloc(sizeof(*m));
    if (!m) return NULL;
    *m = *loaded;
    o->modules[m->id] = m;
    if (m->id >= o->modules_end) o->modules_end = m->id + 1;
    return m;
}

struct func *object_add_func(struct objects *o, struct module *m, const struct wire_func_get *g,
                             struct dev_func *dev, const struct dev_func_info *info) {
    struct func *f = malloc(sizeof(*f) + g->name_bytes);
    if (!f) return NULL;
    *f = (struct func){.dev = dev,
                       .next = m->funcs,
                       .fingerprint = object_fingerprint(m->fingerprint, g + 1, g->name_bytes),
                       .id = g->func,
                       .param_bytes = info->param_bytes,
                       .max_threads = info->max_threads,
                       .shared_bytes = info->shared_bytes,
                       .regs = info->regs};
    memcpy(f->name, g + 1, g->name_bytes);
    m->funcs = f;
    o->funcs[f->id] = f;
    return f;
}

void object_forget(struct objects *o, struct module *m) {
    o->modules[m->id] = NULL;
    for (struct func *f = m->funcs; f; f = f->next)
        o->funcs[f->id] = NULL;
}

struct module *object_next(const struct objects *o, uint32_t from) {
    for (uint32_t i = from; o->modules && i < o->modules_end; i++)
        if (o->modules[i]) return o->modules[i];
    return NULL;
}

static void free_beside(struct background_task *e) {
    struct module *m = list_entry(e, struct module, freeing);
    m->ops->module_free(m->dev);
    free(m);
}

uint64_t object_free(struct module *m, struct background_tasks *background_tasks,
                     struct kernels *kernels) {
    uint64_t funcs = 0;
    for (struct func *f = m->funcs, *next; f; f = next, funcs++) {
        next = f->next;
        kernels_drop(kernels, f->shape.kernel);
        free(f);
    }
    m->ops->module_remove(m->dev);
    m->freeing = (struct background_task){.run = free_beside, .last = true};
    background_give(background_tasks, &m->freeing, object_line(m->image_bytes));
    return funcs;
}
