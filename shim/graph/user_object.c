/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts the holders of objects.
 */
#include "shim/graph/user_object.h"

#include <stdlib.h>

#include "shim/graph/registry.h"
#include "shim/lock.h"

struct user_object {
    CUuserObject handle;
    CUhostFn destroy;
    void *ptr;
    uint64_t count;
    struct user_object *next; /* link in the list of objects without a holder */
};

/* An object that a graph holds. */
struct hold {
    struct list link;
    struct user_object *object;
    uint32_t count;
};

static struct user_object *unheld;

CUresult user_object_create(void *ptr, CUhostFn destroy, uint32_t count, CUuserObject *out) {
    struct user_object *o = calloc(1, sizeof(*o));
    if (!o) return CUDA_ERROR_OUT_OF_MEMORY;
    *o = (struct user_object){.destroy = destroy, .ptr = ptr, .count = count};
    o->handle = registry_add(HANDLE_USER_OBJECT, o);
    if (!o->handle) {
        free(o);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = o->handle;
    return CUDA_SUCCESS;
}

struct user_object *user_object_find(CUuserObject handle) {
    return registry_find(HANDLE_USER_OBJECT, handle);
}

void user_object_retain(struct user_object *o, uint32_t count) {
    o->count += count;
}

CUresult user_object_release(struct user_object *o, uint32_t count) {
    if (count > o->count) return CUDA_ERROR_INVALID_VALUE;
    o->count -= count;
    if (o->count > 0) return CUDA_SUCCESS;
    registry_remove(HANDLE_USER_OBJECT, o->handle);
    o->next = unheld;
    unheld = o;
    return CUDA_SUCCESS;
}

void user_object_destroy_unheld(void) {
    lock_enter(&graph_lock);
    struct user_object *list = unheld;
    unheld = NULL;
    lock_leave(&graph_lock);
    for (struct user_object *o = list, *next; o; o = next) {
        next = o->next;
        o->destroy(o->ptr);
        free(o);
    }
}

/* ---- objects of a graph ---------------------------------------------------------------------- */

void user_objects_init(struct user_objects *set) {
    list_init(&set->list);
}

static struct hold *find(const struct user_objects *set, const struct user_object *o) {
    struct list *pos;
    list_each(pos, &set->list) {
        struct hold *h = list_entry(pos, struct hold, link);
        if (h->object == o) return h;
    }
    return NULL;
}

CUresult user_objects_add(struct user_objects *set, struct user_object *o, uint32_t count) {
    struct hold *h = find(set, o);
    if (!h) h = calloc(1, sizeof(*h));
    if (!h) return CUDA_ERROR_OUT_OF_MEMORY;
    if (!h->object) list_append(&set->list, &h->link);
    h->object = o;
    h->count += count;
    return CUDA_SUCCESS;
}

static void free_hold(struct hold *h) {
    list_remove(&h->link);
    free(h);
}

CUresult user_objects_drop(struct user_objects *set, struct user_object *o, uint32_t count) {
    struct hold *h = find(set, o);
    if (!h || h->count < count) return CUDA_ERROR_INVALID_VALUE;
    h->count -= count;
    if (h->count == 0) free_hold(h);
    return user_object_release(o, count);
}

CUresult user_objects_share(struct user_objects *set, const struct user_objects *from) {
    struct list *pos;
    list_each(pos, &from->list) {
        const struct hold *h = list_entry(pos, struct hold, link);
        CUresult r = user_objects_add(set, h->object, h->count);
        if (r) return r;
        user_object_retain(h->object, h->count);
    }
    return CUDA_SUCCESS;
}

void user_objects_finish(struct user_objects *set) {
    struct list *pos, *next;
    list_each_safe(pos, next, &set->list) {
        struct hold *h = list_entry(pos, struct hold, link);
        user_object_release(h->object, h->count);
        free_hold(h);
    }
}
