/* SPDX-License-Identifier: Apache-2.0
 *
 * A table by the client's numbers, and the driver's objects.
 */
#include "daemon/device/cuda/texture/cuda_texture.h"

#include <errno.h>
#include <stdlib.h>

#include "common/err.h"
#include "daemon/device/cuda/texture/cuda_reference.h"
#include "daemon/device/cuda/texture/cuda_shown.h"
#include "daemon/device/device_textures.h"

#define NUMBERS (1u << 20) /* the low part of a handle */

struct texture {
    struct list link; /* in its array's list, or in textures.of_memory */
    uint64_t number;  /* the client's handle */
    struct array *of; /* NULL: reads memory */
    bool surface;
    CUtexObject handle; /* or the surface's */
};

static const struct driver *driver_of(const struct dev_space *s) {
    return &s->chunks->context->driver;
}

static int result(const struct dev_space *s, CUresult r) {
    return context_result(s->chunks->context, r);
}

/* ---- objects --------------------------------------------------------------------------------- */

static int make(const struct dev_space *s, const struct dev_texture *t, struct texture *made) {
    const struct driver *d = driver_of(s);
    const CUDA_RESOURCE_DESC resource = cuda_shown_resource(t, made->of);
    if (t->surface) return result(s, d->cuSurfObjectCreate(&made->handle, &resource));
    CUDA_RESOURCE_VIEW_DESC view;
    const CUDA_TEXTURE_DESC reading = cuda_shown_reading(t);
    bool viewed = made->of && cuda_shown_view(t, made->of, &view);
    return result(s,
                  d->cuTexObjectCreate(&made->handle, &resource, &reading, viewed ? &view : NULL));
}

static struct texture **place_of(struct dev_space *s, uint64_t handle) {
    struct textures *all = &s->textures;
    if (!all->items) {
        all->items = calloc(NUMBERS, sizeof(struct texture *));
        list_init(&all->of_memory);
    }
    return all->items ? &all->items[handle % NUMBERS] : NULL;
}

int cuda_texture_add(struct dev_space *s, const struct dev_texture *t, uint64_t *seen) {
    struct array *of;
    struct texture **place = place_of(s, t->handle);
    if (!place) return -ENOMEM;
    if (*place) return -EEXIST;
    int err = cuda_shown_find(s, t, &of);
    struct texture *made = err ? NULL : calloc(1, sizeof(*made));
    if (!made) return err ? err : -ENOMEM;
    *made = (struct texture){.number = t->handle, .of = of, .surface = t->surface};
    err = make(s, t, made);
    if (err) {
        free(made);
        return err;
    }
    list_append(of ? &of->textures : &s->textures.of_memory, &made->link);
    *seen = made->handle;
    *place = made;
    return 0;
}

static void end(struct dev_space *s, struct texture *t) {
    const struct driver *d = driver_of(s);
    result(s, t->surface ? d->cuSurfObjectDestroy(t->handle) : d->cuTexObjectDestroy(t->handle));
    s->textures.items[t->number % NUMBERS] = NULL;
    list_remove(&t->link);
    free(t);
}

void cuda_texture_remove(struct dev_space *s, uint64_t handle) {
    if (!s->textures.items) return;
    struct texture *t = s->textures.items[handle % NUMBERS];
    if (t && t->number == handle) end(s, t);
}

static void end_all(struct dev_space *s, struct list *textures) {
    struct list *pos, *tmp;
    list_each_safe(pos, tmp, textures) end(s, list_entry(pos, struct texture, link));
}

/* ---- arrays with their textures -------------------------------------------------------------- */

static void drop(struct dev_space *s, struct array *a) {
    end_all(s, &a->textures);
    cuda_reference_drop_array(s, a);
    cuda_array_destroy(s, a);
}

void cuda_texture_drop_array(struct dev_space *s, uint64_t addr) {
    struct array *a = cuda_array_find(s, addr);
    if (a && a->as.addr == addr) drop(s, a);
}

void cuda_texture_drop_arrays(struct dev_space *s) {
    while (s->arrays.count)
        drop(s, s->arrays.items[s->arrays.count - 1]);
}

void cuda_texture_finish(struct dev_space *s) {
    cuda_texture_drop_arrays(s);
    free(s->arrays.items);
    s->arrays = (struct arrays){0};
    if (!s->textures.items) return;
    end_all(s, &s->textures.of_memory);
    free(s->textures.items);
    s->textures.items = NULL;
}
