/* SPDX-License-Identifier: Apache-2.0
 *
 * The table by number. A number can be reused when the worker has dropped its object. All destroyed
 * objects are dropped together, with one wait for all of them, when there are many or no number is
 * left. A destruction itself does that only where each object belongs to the device.
 */
#include "shim/texture/texture.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "shim/connection/refuse.h"
#include "shim/connection/reply.h"
#include "shim/connection/state.h"
#include "shim/connection/submit.h"
#include "shim/context/ctx.h"
#include "shim/handle.h"
#include "shim/lock.h"
#include "shim/memory/mem.h"
#include "shim/table.h"

#define ENDED_MOST 65536u /* most destroyed objects that the worker keeps */
#define ENDED_FEW 256u    /* most destroyed objects where each belongs to the device */

/* The number of an object. */
struct place {
    struct table_item item;
    struct texture *object; /* NULL: it was destroyed */
    struct place *next;     /* next in its bucket, or in the list of destroyed ones */
    uint64_t last_handle;   /* the handle that the worker knows */
    uint16_t generation;
};

static struct table places = {
    .bytes = sizeof(struct place)}; /* vacant numbers: the worker has dropped their objects */
static struct place *buckets[1 << 16];
static struct ended {
    struct place *first; /* destroyed objects that the worker still knows */
    uint32_t count;
} ended;
static pthread_mutex_t texture_lock = PTHREAD_MUTEX_INITIALIZER;

static void put_ended(struct place *p) {
    p->next = ended.first;
    ended.first = p;
    ended.count++;
}

static uint32_t most(void) {
    return table_most(WIRE_TEXTURES, WIRE_TEXTURES_FIRST);
}

/* Drops an object. The reply to the last one comes when the worker has read everything sent before.
 */
static CUresult drop(const struct place *p) {
    struct wire_texture_drop rec = {.rec = {.op = WIRE_TEXTURE_DROP}, .handle = p->last_handle};
    return p->next ? submit_record(&rec, sizeof(rec), NULL, 0)
                   : reply_call(&rec, sizeof(rec), NULL, 0, NULL);
}

/* Frees the numbers of destroyed objects. Objects that another thread destroys meanwhile are left
 * for the next call. */
static CUresult reclaim(void) {
    CUresult r = CUDA_SUCCESS;
    lock_enter(&texture_lock);
    struct ended mine = ended;
    ended = (struct ended){NULL, 0};
    lock_leave(&texture_lock);
    for (const struct place *p = mine.first; p && !r; p = p->next)
        r = drop(p);
    lock_enter(&texture_lock);
    for (struct place *p = mine.first; p && !r; p = p->next)
        table_give(&places, p);
    lock_leave(&texture_lock);
    return r;
}

static struct place *take_place(void) {
    lock_enter(&texture_lock);
    struct place *p = ended.count < ENDED_MOST ? table_take(&places, most()) : NULL;
    lock_leave(&texture_lock);
    return p;
}

static CUresult reserve(struct place **out) {
    *out = take_place();
    if (*out) return CUDA_SUCCESS;
    CUresult r = reclaim();
    if (r) return r;
    *out = take_place();
    if (!*out) refuse_more(REFUSE_TEXTURES, most());
    return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static enum handle_kind kind_of(bool surface) {
    return surface ? HANDLE_SURFACE : HANDLE_TEXTURE;
}

/* ---- by handle; with the lock held ----------------------------------------------------------- */

static struct place **bucket_of(uint64_t handle) {
    return &buckets[handle * 0x9e3779b97f4a7c15u >> 48];
}

static void enlist(struct place *p, struct texture *t) {
    struct place **bucket = bucket_of(t->handle);
    p->object = t;
    p->next = *bucket;
    *bucket = p;
}

static void strike(struct place *p) {
    struct place **at = bucket_of(p->object->handle);
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    p->object = NULL;
}

/* Finds an object; a texture and a surface may have equal handles. NULL: there is none. */
static struct place *find(uint64_t handle, bool surface) {
    struct place *p = *bucket_of(handle);
    while (p && (p->object->handle != handle || p->object->surface != surface))
        p = p->next;
    return p;
}

/* ---- objects --------------------------------------------------------------------------------- */

static CUresult tell(struct wire_texture *rec, uint64_t *seen) {
    struct reply answer;
    *seen = rec->handle;
    if (!state_has_arrays()) return submit_record(rec, sizeof(*rec), NULL, 0);
    mem_tell_all(); /* linear memory must be backed first */
    CUresult r = reply_call(rec, sizeof(*rec), NULL, 0, &answer);
    if (!r) memcpy(seen, answer.data, sizeof(*seen));
    return r;
}

CUresult texture_create(const struct wire_texture *w, const struct texture *content,
                        uint64_t *handle) {
    struct wire_texture rec = *w;
    struct place *p;
    struct texture *t = malloc(sizeof(*t));
    if (!t) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = reserve(&p);
    if (r) {
        free(t);
        return r;
    }
    *t = *content;
    t->owner = ctx_current()->index;
    rec.rec = (struct wire_record){.op = WIRE_TEXTURE};
    rec.handle = handle_make(kind_of(t->surface), ++p->generation, p->item.number);
    r = tell(&rec, &t->handle);
    *handle = t->handle;
    lock_enter(&texture_lock);
    p->last_handle = rec.handle;
    if (r)
        put_ended(p);
    else
        enlist(p, t);
    lock_leave(&texture_lock);
    if (r) free(t);
    return r;
}

/* Destroys the object. The caller holds the lock. */
static void end(struct place *p) {
    struct texture *t = p->object;
    strike(p);
    put_ended(p);
    free(t);
}

bool texture_destroy(uint64_t handle, bool surface) {
    lock_enter(&texture_lock);
    struct place *p = find(handle, surface);
    if (p) end(p);
    bool many = state_has_arrays() && ended.count >= ENDED_FEW;
    lock_leave(&texture_lock);
    if (many) reclaim();
    return p != NULL;
}

bool texture_find(uint64_t handle, bool surface, struct texture *out) {
    lock_enter(&texture_lock);
    const struct place *p = find(handle, surface);
    if (p) *out = *p->object;
    lock_leave(&texture_lock);
    return p != NULL;
}

void texture_release(uint32_t owner) {
    lock_enter(&texture_lock);
    for (uint32_t k = 0; k < atom_load_relaxed(&places.limit); k++) {
        struct place *p = table_at(&places, k);
        if (p->object && p->object->owner == owner) end(p);
    }
    lock_leave(&texture_lock);
}
