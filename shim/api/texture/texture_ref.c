/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/api/texture/texture_ref.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "proto/gen/prototypes.h"
#include "shim/api/texture/texture_desc.h"
#include "shim/code/image.h"
#include "shim/connection/reply.h"
#include "shim/connection/state.h"
#include "shim/handle.h"
#include "shim/lock.h"
#include "shim/memory/mem.h"

#define PLACES 1024u
#define REFERENCES_SINCE 8 /* first minor version of the protocol with references */

static struct texture_ref *refs[PLACES];
static uint16_t generations[PLACES];
static pthread_mutex_t texture_ref_lock = PTHREAD_MUTEX_INITIALIZER;

static enum handle_kind kind_of(bool surface) {
    return surface ? HANDLE_SURFACE_REF : HANDLE_TEXTURE_REF;
}

static bool is_gone(const struct texture_ref *t) {
    return t->module && !image_of_module(t->module);
}

/* Ends a reference. The caller holds the lock. */
static void end(struct texture_ref *t) {
    if (t->object) texture_destroy(t->object, t->as.surface);
    refs[handle_index(kind_of(t->as.surface), (const void *)(uintptr_t)t->handle)] = NULL;
    free(t);
}

/* Returns a free place, or one of an unloaded module, which it frees. The caller holds the lock. */
static uint32_t take_place(void) {
    for (uint32_t k = 0; k < PLACES; k++) {
        if (refs[k] && is_gone(refs[k])) end(refs[k]);
        if (!refs[k]) return k;
    }
    return PLACES;
}

/* Adds a reference that reads as the runtime's references do at first: single floats, nearest
 * element. The caller holds the lock. */
static CUresult add(CUmodule module, uint64_t variable, const char *name, bool surface,
                    uint64_t *handle) {
    const uint32_t place = take_place();
    const size_t name_bytes = strlen(name) + 1;
    struct texture_ref *t = place < PLACES ? calloc(1, sizeof(*t) + name_bytes) : NULL;
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
    memcpy(t->name, name, name_bytes);
    refs[place] = t;
    *handle = t->handle;
    return CUDA_SUCCESS;
}

/* Finds the reference of this name, or NULL. The caller holds the lock. */
static const struct texture_ref *known(CUmodule module, const char *name, bool surface) {
    for (uint32_t k = 0; k < PLACES; k++)
        if (refs[k] && refs[k]->module == module && refs[k]->as.surface == surface &&
            !strcmp(refs[k]->name, name))
            return refs[k];
    return NULL;
}

/* ---- references of the device itself --------------------------------------------------------- */

static CUresult refuse(bool surface) {
    log_warn("shim", "what=\"%s references on this device need a newer salusd\"",
             surface ? "surface" : "texture");
    return CUDA_ERROR_NOT_SUPPORTED;
}

/* Tells the worker that `w` is bound to the reference, or nothing if NULL; then the worker only
 * looks the name up. The caller has entered (image_enter). */
static CUresult tell(struct image *image, const char *name, bool surface,
                     const struct wire_texture *w) {
    const size_t name_bytes = strlen(name) + 1;
    if (name_bytes < 2 || name_bytes > WIRE_REFERENCE_NAME) return CUDA_ERROR_NOT_FOUND;
    CUresult r = image_load(image, NULL);
    if (r) return r;
    struct wire_texture_ref rec = {
        .module = image->index, .name_bytes = (uint32_t)name_bytes, .bound = w != NULL};
    if (w) rec.texture = *w;
    if (surface) rec.texture.flags |= WIRE_TEXTURE_SURFACE;
    rec.texture.rec = (struct wire_record){.op = WIRE_TEXTURE_REF};
    mem_tell_all(); /* linear memory must be backed first */
    return reply_call(&rec, sizeof(rec), name, (uint32_t)name_bytes, NULL);
}

static CUresult tell_again(struct texture_ref *t) {
    struct image *image = image_of_module(t->module);
    struct wire_texture w;
    const bool reads = t->bound && !texture_desc(&t->as, &w);
    if (!reads && !t->told) return CUDA_SUCCESS;
    image_enter();
    CUresult r =
        image ? tell(image, t->name, t->as.surface, reads ? &w : NULL) : CUDA_ERROR_INVALID_VALUE;
    image_leave();
    t->told = reads && !r;
    return r;
}

/* ---- variables ------------------------------------------------------------------------------- */

/* Finds the variable of a reference. The caller has entered (image_enter). */
static CUresult find_variable(struct image *image, const char *name, uint64_t *variable) {
    uint64_t bytes;
    CUresult r = image_global(image, name, variable, &bytes);
    return r || bytes == sizeof(uint64_t) ? r : CUDA_ERROR_NOT_FOUND;
}

static CUresult put_object(struct texture_ref *t) {
    struct wire_texture w;
    uint64_t made = 0;
    CUresult r = CUDA_SUCCESS;
    if (!t->bound && !t->object) return r;
    if (t->bound && !texture_desc(&t->as, &w)) r = texture_create(&w, &t->as, &made);
    if (!r) r = cuMemcpyHtoD_v2(t->variable, &made, sizeof(made));
    /* Streams that do not synchronise with the legacy stream would not wait for the copy. */
    if (!r) r = cuStreamSynchronize(CU_STREAM_LEGACY);
    if (r) return r;
    if (t->object) texture_destroy(t->object, t->as.surface);
    t->object = made;
    return CUDA_SUCCESS;
}

/* ---- both ------------------------------------------------------------------------------------ */

CUresult texture_ref_of_module(CUmodule module, const char *name, bool surface, uint64_t *handle) {
    struct image *image = image_of_module(module);
    uint64_t variable = 0;
    if (!image) return CUDA_ERROR_INVALID_HANDLE;
    if (state_has_arrays() && state.conn.minor < REFERENCES_SINCE) return refuse(surface);
    lock_enter(&texture_ref_lock);
    const struct texture_ref *t = known(module, name, surface);
    if (t) *handle = t->handle;
    lock_leave(&texture_ref_lock);
    if (t) return CUDA_SUCCESS;
    image_enter();
    CUresult r = state_has_arrays() ? tell(image, name, surface, NULL)
                                    : find_variable(image, name, &variable);
    image_leave();
    if (r) return r;
    lock_enter(&texture_ref_lock);
    t = known(module, name, surface); /* another thread may have added it */
    if (t)
        *handle = t->handle;
    else
        r = add(module, variable, name, surface, handle);
    lock_leave(&texture_ref_lock);
    return r;
}

CUresult texture_ref_create(uint64_t *handle) {
    lock_enter(&texture_ref_lock);
    CUresult r = add(NULL, 0, "", false, handle);
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

/* Puts the changed description in force. A half-set description may make no object: that is no
 * error. */
CUresult texture_ref_update(struct texture_ref *t) {
    if (!t->module) return CUDA_SUCCESS;
    return t->variable ? put_object(t) : tell_again(t);
}

/* Checks the resource alone, with a reading that suits any such resource. */
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
