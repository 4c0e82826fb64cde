/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/api/texture_ref.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/log.h"
#include "proto/gen/prototypes.h"
#include "shim/api/texture_desc.h"
#include "shim/code/image.h"
#include "shim/connection/state.h"
#include "shim/handle.h"
#include "shim/lock.h"

#define PLACES 1024u

static struct texture_ref *refs[PLACES];
static uint16_t generations[PLACES];
static pthread_mutex_t texture_ref_lock = PTHREAD_MUTEX_INITIALIZER;

static enum handle_kind kind_of(bool surface) {
    return surface ? HANDLE_SURFACE_REF : HANDLE_TEXTURE_REF;
}

static bool is_gone(const struct texture_ref *t) {
    return t->module && !image_of_module(t->module);
}

/* With the lock held. */
static void end(struct texture_ref *t) {
    if (t->object) texture_destroy(t->object, t->as.surface);
    refs[handle_index(kind_of(t->as.surface), (const void *)(uintptr_t)t->handle)] = NULL;
    free(t);
}

/* With the lock held: a place, also one of a module that is gone. */
static uint32_t take_place(void) {
    for (uint32_t k = 0; k < PLACES; k++) {
        if (refs[k] && is_gone(refs[k])) end(refs[k]);
        if (!refs[k]) return k;
    }
    return PLACES;
}

/* With the lock held. As the runtime's are at first: single floats, of the nearest element. */
static CUresult add(CUmodule module, uint64_t variable, bool surface, uint64_t *handle) {
    const uint32_t place = take_place();
    struct texture_ref *t = place < PLACES ? calloc(1, sizeof(*t)) : NULL;
    if (!t) return CUDA_ERROR_OUT_OF_MEMORY;
    *t = (struct texture_ref){
        .handle = handle_make(kind_of(surface), ++generations[place], place),
        .module = module,
        .variable = variable,
        .format = CU_AD_FORMAT_FLOAT,
        .channels = 1,
        .as.surface = surface,
    };
    for (int k = 0; k < 3; k++)
        t->as.reading.addressMode[k] = CU_TR_ADDRESS_MODE_CLAMP;
    refs[place] = t;
    *handle = t->handle;
    return CUDA_SUCCESS;
}

/* With the lock held. */
static const struct texture_ref *known(CUmodule module, uint64_t variable, bool surface) {
    for (uint32_t k = 0; k < PLACES; k++)
        if (refs[k] && refs[k]->module == module && refs[k]->variable == variable &&
            refs[k]->as.surface == surface)
            return refs[k];
    return NULL;
}

/* Its variables hold no object's handle. */
static CUresult refuse(bool surface) {
    log_warn("shim", "what=\"%s references on this device are not supported\"",
             surface ? "surface" : "texture");
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult texture_ref_of_module(CUmodule module, const char *name, bool surface, uint64_t *handle) {
    struct image *image = image_of_module(module);
    uint64_t variable, bytes;
    if (!image) return CUDA_ERROR_INVALID_HANDLE;
    if (state_has_arrays()) return refuse(surface);
    image_enter();
    CUresult r = image_global(image, name, &variable, &bytes);
    image_leave();
    if (r) return r;
    if (bytes != sizeof(uint64_t)) return CUDA_ERROR_NOT_FOUND;
    lock_enter(&texture_ref_lock);
    const struct texture_ref *t = known(module, variable, surface);
    if (t)
        *handle = t->handle;
    else
        r = add(module, variable, surface, handle);
    lock_leave(&texture_ref_lock);
    return r;
}

CUresult texture_ref_create(uint64_t *handle) {
    lock_enter(&texture_ref_lock);
    CUresult r = add(NULL, 0, false, handle);
    lock_leave(&texture_ref_lock);
    return r;
}

struct texture_ref *texture_ref_find(uint64_t handle, bool surface) {
    const uint32_t place = handle_index(kind_of(surface), (const void *)(uintptr_t)handle);
    lock_enter(&texture_ref_lock);
    struct texture_ref *t = place < PLACES ? refs[place] : NULL;
    if (t && (t->handle != handle || is_gone(t))) t = NULL;
    lock_leave(&texture_ref_lock);
    return t;
}

bool texture_ref_destroy(uint64_t handle) {
    struct texture_ref *t = texture_ref_find(handle, false);
    if (!t || t->module) return false;
    lock_enter(&texture_ref_lock);
    end(t);
    lock_leave(&texture_ref_lock);
    return true;
}

/* What is said one by one may make no object in between: that is no error. */
CUresult texture_ref_update(struct texture_ref *t) {
    struct wire_texture w;
    uint64_t made = 0;
    CUresult r = CUDA_SUCCESS;
    if (!t->variable || (!t->bound && !t->object)) return r;
    if (t->bound && !texture_desc(&t->as, &w)) r = texture_create(&w, &t->as, &made);
    if (!r) r = cuMemcpyHtoD_v2(t->variable, &made, sizeof(made));
    if (!r) r = cuStreamSynchronize(CU_STREAM_LEGACY); /* other streams need not wait for it */
    if (r) return r;
    if (t->object) texture_destroy(t->object, t->as.surface);
    t->object = made;
    return CUDA_SUCCESS;
}

/* Whatever else is said of it. */
static CUresult check_resource(const struct texture_ref *t, const CUDA_RESOURCE_DESC *resource) {
    const bool levels = resource->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    struct texture plain = {.surface = t->as.surface, .resource = *resource};
    struct wire_texture w;
    if (levels) plain.reading.flags = CU_TRSF_NORMALIZED_COORDINATES;
    return texture_desc(&plain, &w);
}

CUresult texture_ref_bind(struct texture_ref *t, const CUDA_RESOURCE_DESC *resource) {
    CUresult r = resource ? check_resource(t, resource) : CUDA_SUCCESS;
    if (r) return r;
    t->bound = resource != NULL;
    if (resource) t->as.resource = *resource;
    return texture_ref_update(t);
}
