/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams and events of grids. A stream is represented by the moment at which its last member is
 * complete; the next member waits for that moment. An event is the moment at which its stream was
 * when it was recorded.
 */
#include "daemon/device/soft/runtime/nest_stream.h"

#include <stdlib.h>

#include "daemon/device/soft/runtime/nest_state.h"

#define NAMES_MAX 65536 /* streams, events and waits of a launch tree */
/* A handle consists of a tag, a generation of the number, and the number. It never equals a stream
 * without a handle. */
#define STREAM_TAG 0x5354ull
#define EVENT_TAG 0x4556ull

/* ---- moments --------------------------------------------------------------------------------- */

void nest_moment_unref(struct moment *at) {
    if (!at || --at->refs) return;
    free(at->waiting);
    free(at);
}

void nest_moment_come(struct moment *at) {
    if (!at) return;
    at->come = true;
    for (uint32_t i = 0; i < at->count; i++)
        if (--at->waiting[i]->before == 0) nest_state_ready(at->waiting[i]);
    at->count = 0;
}

static bool is_open(const struct moment *at) {
    return at && !at->come;
}

/* Makes space for one more waiting member. */
static bool has_room(struct moment *at) {
    if (at->count < at->room) return true;
    uint32_t room = at->room ? at->room * 2 : 4;
    struct nested **waiting = reallocarray(at->waiting, room, sizeof(struct nested *));
    if (!waiting) return false;
    at->waiting = waiting;
    at->room = room;
    return true;
}

static void wait_for(struct nested *m, struct moment *at) {
    at->waiting[at->count++] = m;
    m->before++;
}

static void set_last(struct named *s, struct moment *at) {
    if (at) at->refs++;
    nest_moment_unref(s->last);
    s->last = at;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Makes the items up to `index` exist; new ones are unused. */
static bool reach_name(struct names *n, uint32_t index) {
    if (index < n->count) return true;
    uint32_t count = n->count ? n->count * 2 : 4;
    while (count <= index)
        count *= 2;
    struct named *items = reallocarray(n->items, count, sizeof(*items));
    if (!items) return false;
    for (uint32_t i = n->count; i < count; i++)
        items[i] = (struct named){0};
    n->items = items;
    n->count = count;
    return true;
}

static uint64_t handle_of(uint64_t tag, const struct named *s, uint32_t index) {
    return tag << 48 | (uint64_t)s->generation << 32 | (index + 1u);
}

static struct named *find_name(const struct names *n, uint64_t tag, uint64_t handle) {
    const uint32_t index = (uint32_t)handle - 1;
    struct named *s = index < n->count ? &n->items[index] : NULL;
    return s && s->used && handle_of(tag, s, index) == handle ? s : NULL;
}

static enum runtime_error add_name(struct nested *self, struct names *n, uint64_t tag,
                                   uint64_t *handle) {
    uint32_t index = n->lowest;
    while (index < n->count && n->items[index].used)
        index++;
    n->lowest = index;
    if (self->nest->names_used >= NAMES_MAX || !reach_name(n, index)) return RUNTIME_NO_MEMORY;
    self->nest->names_used++;
    n->items[index].used = true;
    *handle = handle_of(tag, &n->items[index], index);
    return RUNTIME_SUCCESS;
}

static enum runtime_error remove_name(struct nested *self, struct names *n, uint64_t tag,
                                      uint64_t handle) {
    struct named *s = find_name(n, tag, handle);
    if (!s) return RUNTIME_INVALID_VALUE;
    set_last(s, NULL);
    s->used = false;
    s->generation++;
    if (s - n->items < n->lowest) n->lowest = (uint32_t)(s - n->items);
    self->nest->names_used--;
    return RUNTIME_SUCCESS;
}

static void finish_names(struct nest *nest, struct names *n, bool counted) {
    for (uint32_t i = 0; i < n->count; i++) {
        set_last(&n->items[i], NULL);
        nest->names_used -= counted && n->items[i].used;
    }
    free(n->items);
}

void nest_names_finish(struct nested *m) {
    finish_names(m->nest, &m->streams, true);
    finish_names(m->nest, &m->events, true);
    finish_names(m->nest, &m->blocks, false);
}

/* Returns NULL if there is no such stream, or no memory for the block's. */
static struct named *find_stream(struct nested *self, uint32_t slot, uint64_t stream) {
    if (stream > NEST_STREAM_THREAD) return find_name(&self->streams, STREAM_TAG, stream);
    return reach_name(&self->blocks, slot) ? &self->blocks.items[slot] : NULL;
}

/* ---- calls ----------------------------------------------------------------------------------- */

enum runtime_error nest_stream_order(struct nested *self, uint32_t slot, uint64_t stream,
                                     struct nested *m) {
    struct named *s = find_stream(self, slot, stream);
    if (!s) return RUNTIME_INVALID_VALUE;
    struct moment *end = calloc(1, sizeof(*end));
    if (!end || (is_open(s->last) && !has_room(s->last))) {
        free(end);
        return RUNTIME_NO_MEMORY;
    }
    end->refs = 1;
    m->end = end;
    if (is_open(s->last)) wait_for(m, s->last);
    set_last(s, end);
    return RUNTIME_SUCCESS;
}

/* Puts a mark into the stream that waits for everything in the stream and for the event. */
static enum runtime_error put_mark(struct nested *self, struct named *s, struct moment *at) {
    struct nest *n = self->nest;
    struct moment *end = calloc(1, sizeof(*end));
    bool room = has_room(at) && (!is_open(s->last) || has_room(s->last));
    struct nested *mark =
        end && room && n->names_used < NAMES_MAX ? nest_state_child(self, NESTED_MARK) : NULL;
    if (!mark) {
        free(end);
        return RUNTIME_NO_MEMORY;
    }
    n->names_used++;
    end->refs = 1;
    mark->end = end;
    wait_for(mark, at);
    if (is_open(s->last) && s->last != at) wait_for(mark, s->last);
    set_last(s, end);
    return RUNTIME_SUCCESS;
}

enum runtime_error nest_stream_wait(struct nested *self, uint32_t slot, uint64_t stream,
                                    uint64_t event) {
    enum runtime_error err = RUNTIME_INVALID_VALUE;
    pthread_mutex_lock(&self->nest->lock);
    struct named *s = find_stream(self, slot, stream);
    struct named *e = find_name(&self->events, EVENT_TAG, event);
    if (s && e) err = is_open(e->last) ? put_mark(self, s, e->last) : RUNTIME_SUCCESS;
    pthread_mutex_unlock(&self->nest->lock);
    return err;
}

enum runtime_error nest_event_record(struct nested *self, uint32_t slot, uint64_t event,
                                     uint64_t stream) {
    pthread_mutex_lock(&self->nest->lock);
    struct named *s = find_stream(self, slot, stream);
    struct named *e = find_name(&self->events, EVENT_TAG, event);
    if (s && e) set_last(e, is_open(s->last) ? s->last : NULL);
    pthread_mutex_unlock(&self->nest->lock);
    return s && e ? RUNTIME_SUCCESS : RUNTIME_INVALID_VALUE;
}

enum runtime_error nest_stream_create(struct nested *self, uint64_t *stream) {
    pthread_mutex_lock(&self->nest->lock);
    enum runtime_error err = add_name(self, &self->streams, STREAM_TAG, stream);
    pthread_mutex_unlock(&self->nest->lock);
    return err;
}

enum runtime_error nest_stream_destroy(struct nested *self, uint64_t stream) {
    pthread_mutex_lock(&self->nest->lock);
    enum runtime_error err = remove_name(self, &self->streams, STREAM_TAG, stream);
    pthread_mutex_unlock(&self->nest->lock);
    return err;
}

enum runtime_error nest_event_create(struct nested *self, uint64_t *event) {
    pthread_mutex_lock(&self->nest->lock);
    enum runtime_error err = add_name(self, &self->events, EVENT_TAG, event);
    pthread_mutex_unlock(&self->nest->lock);
    return err;
}

enum runtime_error nest_event_destroy(struct nested *self, uint64_t event) {
    pthread_mutex_lock(&self->nest->lock);
    enum runtime_error err = remove_name(self, &self->events, EVENT_TAG, event);
    pthread_mutex_unlock(&self->nest->lock);
    return err;
}
