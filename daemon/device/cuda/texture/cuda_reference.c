/* SPDX-License-Identifier: Apache-2.0
 *
 * A list of the bound references, since the driver does not list them.
 */
#include "daemon/device/cuda/texture/cuda_reference.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/cuda/texture/cuda_shown.h"
#include "daemon/device/device_textures.h"

struct reference {
    struct list link; /* in the space's list */
    const struct dev_module *module;
    const struct array *of; /* NULL: reads memory */
    bool surface;
    bool told; /* at least partly bound */
    CUtexref texture;
    CUsurfref sheet; /* the surface's */
    char name[];
};

/* ---- the array of unbound references --------------------------------------------------------- */

static int need_blank(struct context *c) {
    const CUDA_ARRAY3D_DESCRIPTOR one = {.Width = 1,
                                         .Height = 1,
                                         .Format = CU_AD_FORMAT_FLOAT,
                                         .NumChannels = 1,
                                         .Flags = CUDA_ARRAY3D_SURFACE_LDST};
    return c->blank ? 0 : context_result(c, c->driver.cuArray3DCreate_v2(&c->blank, &one));
}

void cuda_reference_close(struct context *c) {
    if (c->blank) c->driver.cuArrayDestroy(c->blank);
    c->blank = NULL;
}

/* ---- binding --------------------------------------------------------------------------------- */

static CUresult bind_array(const struct driver *d, const struct reference *r, CUarray a) {
    return r->surface ? d->cuSurfRefSetArray(r->sheet, a, 0)
                      : d->cuTexRefSetArray(r->texture, a, CU_TRSA_OVERRIDE_FORMAT);
}

/* The range must begin at the address: the driver's offset would need a change in the kernel. */
static CUresult bind_linear(const struct driver *d, CUtexref t, const CUDA_RESOURCE_DESC *m) {
    size_t beyond = 0;
    CUresult r = d->cuTexRefSetFormat(t, m->res.linear.format, (int)m->res.linear.numChannels);
    if (!r)
        r = d->cuTexRefSetAddress_v2(&beyond, t, m->res.linear.devPtr, m->res.linear.sizeInBytes);
    return r || !beyond ? r : CUDA_ERROR_INVALID_VALUE;
}

static CUresult bind_rows(const struct driver *d, CUtexref t, const CUDA_RESOURCE_DESC *m) {
    const CUDA_ARRAY_DESCRIPTOR rows = {.Width = m->res.pitch2D.width,
                                        .Height = m->res.pitch2D.height,
                                        .Format = m->res.pitch2D.format,
                                        .NumChannels = m->res.pitch2D.numChannels};
    return d->cuTexRefSetAddress2D_v3(t, &rows, m->res.pitch2D.devPtr, m->res.pitch2D.pitchInBytes);
}

static CUresult bind_to(const struct driver *d, const struct reference *r,
                        const CUDA_RESOURCE_DESC *of) {
    switch (of->resType) {
    case CU_RESOURCE_TYPE_ARRAY: return bind_array(d, r, of->res.array.hArray);
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        return d->cuTexRefSetMipmappedArray(r->texture, of->res.mipmap.hMipmappedArray,
                                            CU_TRSA_OVERRIDE_FORMAT);
    case CU_RESOURCE_TYPE_LINEAR: return bind_linear(d, r->texture, of);
    default: return bind_rows(d, r->texture, of);
    }
}

static CUresult read_as(const struct driver *d, CUtexref t, const CUDA_TEXTURE_DESC *as) {
    float border[4];
    CUresult r = d->cuTexRefSetFlags(t, as->flags);
    for (int k = 0; !r && k < 3; k++)
        r = d->cuTexRefSetAddressMode(t, k, as->addressMode[k]);
    if (!r) r = d->cuTexRefSetFilterMode(t, as->filterMode);
    if (!r) r = d->cuTexRefSetMipmapFilterMode(t, as->mipmapFilterMode);
    if (!r) r = d->cuTexRefSetMipmapLevelBias(t, as->mipmapLevelBias);
    if (!r) r = d->cuTexRefSetMipmapLevelClamp(t, as->minMipmapLevelClamp, as->maxMipmapLevelClamp);
    if (!r) r = d->cuTexRefSetMaxAnisotropy(t, as->maxAnisotropy ? as->maxAnisotropy : 1);
    memcpy(border, as->borderColor, sizeof(border));
    return r ? r : d->cuTexRefSetBorderColor(t, border);
}

static int tell(struct context *c, struct reference *r, const struct dev_texture *t,
                const struct array *of) {
    const CUDA_RESOURCE_DESC resource = cuda_shown_resource(t, of);
    int err = need_blank(c);
    if (err) return err;
    r->told = true;
    r->of = of;
    err = context_result(c, bind_to(&c->driver, r, &resource));
    if (err || r->surface) return err;
    const CUDA_TEXTURE_DESC as = cuda_shown_reading(t);
    return context_result(c, read_as(&c->driver, r->texture, &as));
}

/* ---- list of bound references ---------------------------------------------------------------- */

static struct reference *find(const struct dev_module *m, const char *name, bool surface) {
    const struct list *pos;
    list_each(pos, &m->space->references.all) {
        struct reference *r = list_entry(pos, struct reference, link);
        if (r->module == m && r->surface == surface && !strcmp(r->name, name)) return r;
    }
    return NULL;
}

static int look_up(const struct dev_module *m, struct reference *r) {
    const struct driver *d = &m->context->driver;
    CUresult got = r->surface ? d->cuModuleGetSurfRef(&r->sheet, m->handle, r->name)
                              : d->cuModuleGetTexRef(&r->texture, m->handle, r->name);
    return context_result(m->context, got);
}

static int add(const struct dev_module *m, const char *name, bool surface, struct reference **out) {
    struct references *all = &m->space->references;
    size_t length = strlen(name) + 1;
    if (all->count == REFERENCES_MOST) return ERR_NO_MEMORY;
    struct reference *r = calloc(1, sizeof(*r) + length);
    if (!r) return -ENOMEM;
    r->module = m;
    r->surface = surface;
    memcpy(r->name, name, length);
    int err = look_up(m, r);
    if (err) {
        free(r);
        return err;
    }
    list_append(&all->all, &r->link);
    all->count++;
    *out = r;
    return 0;
}

static void drop(struct dev_space *s, struct reference *r) {
    struct context *c = s->chunks->context;
    if (r->told) context_result(c, bind_array(&c->driver, r, c->blank));
    list_remove(&r->link);
    s->references.count--;
    free(r);
}

/* ---- setting a reference --------------------------------------------------------------------- */

/* A reference reads the complete object to which it is bound, with its own format. */
static int check(const struct dev_space *s, const struct dev_texture *t, struct array **of) {
    CUDA_RESOURCE_VIEW_DESC view;
    int err = cuda_shown_find(s, t, of);
    if (err) return err;
    return *of && cuda_shown_view(t, *of, &view) ? -ENOTSUP : 0;
}

int cuda_reference_set(struct dev_module *m, const char *name, bool surface,
                       const struct dev_texture *t) {
    struct reference *r = find(m, name, surface);
    struct array *of = NULL;
    int err = t ? check(m->space, t, &of) : 0;
    if (!err && !r) err = add(m, name, surface, &r);
    if (!err && t) err = tell(m->context, r, t, of);
    if (r && (err || !t)) drop(m->space, r);
    return err;
}

void cuda_reference_drop_array(struct dev_space *s, const struct array *a) {
    struct list *pos, *tmp;
    list_each_safe(pos, tmp, &s->references.all) {
        struct reference *r = list_entry(pos, struct reference, link);
        if (r->of == a) drop(s, r);
    }
}

void cuda_reference_drop_module(struct dev_module *m) {
    struct list *pos, *tmp;
    list_each_safe(pos, tmp, &m->space->references.all) {
        struct reference *r = list_entry(pos, struct reference, link);
        if (r->module == m) drop(m->space, r);
    }
}
