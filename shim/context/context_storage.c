/* SPDX-License-Identifier: Apache-2.0
 *
 * Stores the entries in a short array, because there is one key for each copy of the runtime in the
 * process. Destructors are not called when a context ends: the runtime's destructors free what its
 * own later calls still use.
 */
#include "shim/context/context_storage.h"

#include <stdlib.h>

#include "shim/context/ctx.h"
#include "shim/lock.h"

struct cls_entry {
    uint32_t ctx;
    void *key, *value;
    cls_destructor destructor;
};

static struct {
    struct lock lock;
    struct cls_entry *entries;
    uint32_t count, cap;
} cls;

static struct cls_entry *find(uint32_t ctx, const void *key) {
    for (uint32_t i = 0; i < cls.count; i++) {
        if (cls.entries[i].key == key && cls.entries[i].ctx == ctx) return &cls.entries[i];
    }
    return NULL;
}

static struct cls_entry *append(void) {
    if (cls.count == cls.cap) {
        uint32_t cap = cls.cap ? cls.cap * 2 : 16;
        struct cls_entry *more = realloc(cls.entries, cap * sizeof(*more));
        if (!more) return NULL;
        cls.entries = more;
        cls.cap = cap;
    }
    return &cls.entries[cls.count++];
}

CUresult context_storage_put(CUcontext ctx, void *key, void *value, cls_destructor destructor) {
    struct context *c = ctx_find(ctx);
    if (!c) return CUDA_ERROR_INVALID_CONTEXT;
    lock_take(&cls.lock);
    struct cls_entry *e = find(c->index, key);
    if (!e) e = append();
    if (e) *e = (struct cls_entry){c->index, key, value, destructor};
    lock_drop(&cls.lock);
    return e ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult context_storage_delete(CUcontext ctx, void *key) {
    struct context *c = ctx_find(ctx);
    if (!c) return CUDA_ERROR_INVALID_CONTEXT;
    lock_take(&cls.lock);
    struct cls_entry *e = find(c->index, key);
    if (e) *e = cls.entries[--cls.count];
    lock_drop(&cls.lock);
    return e ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult context_storage_get(void **value, CUcontext ctx, void *key) {
    struct context *c = ctx_find(ctx);
    if (!c) return CUDA_ERROR_INVALID_CONTEXT;
    lock_take(&cls.lock);
    struct cls_entry *e = find(c->index, key);
    if (e && value) *value = e->value;
    lock_drop(&cls.lock);
    return e ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

void context_storage_release(uint32_t ctx_index) {
    lock_take(&cls.lock);
    for (uint32_t i = 0; i < cls.count;) {
        if (cls.entries[i].ctx == ctx_index)
            cls.entries[i] = cls.entries[--cls.count];
        else
            i++;
    }
    lock_drop(&cls.lock);
}
