/* SPDX-License-Identifier: Apache-2.0
 *
 * The table, by number. Numbers go from those that were never used to those that the worker has
 * dropped; when there is none left, it drops all that are destroyed, which waits once for all of
 * them. So do a few, where each is an object of the device's.
 */
#include "shim/memory/texture.h"

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

#define NUMBERS WIRE_TEXTURES
#define ENDED_MOST 256 /* destroyed objects that the device keeps */

struct numbers {
    uint16_t list[NUMBERS];
    uint32_t count;
};

static struct texture *objects[NUMBERS];
static uint32_t buckets[1 << 16], next_in_bucket[NUMBERS]; /* number + 1; 0: none */
static uint64_t last_handle[NUMBERS];                      /* that the worker knows; 0: none */
static uint16_t generations[NUMBERS];
static uint32_t texture_limit;      /* numbers from here on were never used */
static struct numbers ready, ended; /* the worker knows none of these; it knows these still */
static pthread_mutex_t texture_lock = PTHREAD_MUTEX_INITIALIZER;

static void put(struct numbers *n, uint32_t number) {
    n->list[n->count++] = (uint16_t)number;
}

/* With the lock held; NUMBERS: there is none. */
static uint32_t take_number(void) {
    if (texture_limit < NUMBERS) return texture_limit++;
    return ready.count ? ready.list[--ready.count] : NUMBERS;
}

/* The last one is answered when the worker has come past all that was sent before. */
static CUresult drop(const struct numbers *n) {
    CUresult r = CUDA_SUCCESS;
    for (uint32_t k = 0; k < n->count && !r; k++) {
        struct wire_texture_drop rec = {.rec = {.op = WIRE_TEXTURE_DROP},
                                        .handle = last_handle[n->list[k]]};
        r = k + 1 < n->count ? submit_record(&rec, sizeof(rec), NULL, 0)
                             : reply_call(&rec, sizeof(rec), NULL, 0, NULL);
    }
    return r;
}

/* Makes destroyed ones' numbers ready. What another thread destroys meanwhile has its turn next. */
static CUresult reclaim(void) {
    struct numbers *mine = malloc(sizeof(*mine));
    if (!mine) return CUDA_ERROR_OUT_OF_MEMORY;
    lock_enter(&texture_lock);
    *mine = ended;
    ended.count = 0;
    lock_leave(&texture_lock);
    CUresult r = mine->count ? drop(mine) : CUDA_ERROR_OUT_OF_MEMORY;
    lock_enter(&texture_lock);
    for (uint32_t k = 0; k < mine->count && !r; k++)
        put(&ready, mine->list[k]);
    lock_leave(&texture_lock);
    free(mine);
    return r;
}

static CUresult reserve(uint32_t *number) {
    CUresult r = CUDA_SUCCESS;
    lock_enter(&texture_lock);
    *number = take_number();
    lock_leave(&texture_lock);
    if (*number < NUMBERS) return r;
    r = reclaim();
    lock_enter(&texture_lock);
    *number = take_number();
    lock_leave(&texture_lock);
    if (*number < NUMBERS) return CUDA_SUCCESS;
    if (!r) refuse_more(REFUSE_TEXTURES, NUMBERS);
    return r ? r : CUDA_ERROR_OUT_OF_MEMORY;
}

static enum handle_kind kind_of(bool surface) {
    return surface ? HANDLE_SURFACE : HANDLE_TEXTURE;
}

/* ---- by handle; with the lock held ----------------------------------------------------------- */

static uint32_t bucket_of(uint64_t handle) {
    return (uint32_t)(handle * 0x9e3779b97f4a7c15u >> 48);
}

static void enlist(struct texture *t) {
    uint32_t *bucket = &buckets[bucket_of(t->handle)];
    objects[t->number] = t;
    next_in_bucket[t->number] = *bucket;
    *bucket = t->number + 1;
}

static void strike(const struct texture *t) {
    uint32_t *at = &buckets[bucket_of(t->handle)];
    while (*at != t->number + 1)
        at = &next_in_bucket[*at - 1];
    *at = next_in_bucket[t->number];
    objects[t->number] = NULL;
}

/* A texture's and a surface's may be equal. */
static struct texture *find(uint64_t handle, bool surface) {
    for (uint32_t k = buckets[bucket_of(handle)]; k; k = next_in_bucket[k - 1]) {
        struct texture *t = objects[k - 1];
        if (t->handle == handle && t->surface == surface) return t;
    }
    return NULL;
}

/* ---- objects --------------------------------------------------------------------------------- */

static CUresult tell(struct wire_texture *rec, uint64_t *seen) {
    struct reply answer;
    *seen = rec->handle;
    if (!state_has_arrays()) return submit_record(rec, sizeof(*rec), NULL, 0);
    mem_tell_all(); /* linear memory has to be there */
    CUresult r = reply_call(rec, sizeof(*rec), NULL, 0, &answer);
    if (!r) memcpy(seen, answer.data, sizeof(*seen));
    return r;
}

CUresult texture_create(const struct wire_texture *w, const struct texture *content,
                        uint64_t *handle) {
    struct wire_texture rec = *w;
    uint32_t number;
    struct texture *t = malloc(sizeof(*t));
    if (!t) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = reserve(&number);
    if (r) {
        free(t);
        return r;
    }
    *t = *content;
    t->owner = ctx_current()->index;
    t->number = number;
    rec.rec = (struct wire_record){.op = WIRE_TEXTURE};
    rec.handle = handle_make(kind_of(t->surface), ++generations[number], number);
    r = tell(&rec, &t->handle);
    *handle = t->handle;
    lock_enter(&texture_lock);
    last_handle[number] = rec.handle;
    if (r)
        put(&ended, number);
    else
        enlist(t);
    lock_leave(&texture_lock);
    if (r) free(t);
    return r;
}

/* With the lock held. */
static void end(struct texture *t) {
    strike(t);
    put(&ended, t->number);
    free(t);
}

bool texture_destroy(uint64_t handle, bool surface) {
    lock_enter(&texture_lock);
    struct texture *t = find(handle, surface);
    if (t) end(t);
    bool many = state_has_arrays() && ended.count >= ENDED_MOST;
    lock_leave(&texture_lock);
    if (many) reclaim();
    return t != NULL;
}

bool texture_find(uint64_t handle, bool surface, struct texture *out) {
    lock_enter(&texture_lock);
    const struct texture *t = find(handle, surface);
    if (t) *out = *t;
    lock_leave(&texture_lock);
    return t != NULL;
}

void texture_release(uint32_t owner) {
    lock_enter(&texture_lock);
    for (uint32_t k = 0; k < texture_limit; k++)
        if (objects[k] && objects[k]->owner == owner) end(objects[k]);
    lock_leave(&texture_lock);
}
