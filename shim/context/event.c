/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of events.
 */
#include "shim/context/event.h"

#include <pthread.h>
#include <stdlib.h>

#include "shim/connection/submit.h"
#include "shim/context/signal.h"
#include "shim/handle.h"
#include "shim/lock.h"

static struct event events[EVENT_MARKER];
static uint32_t event_limit;            /* ids from here on were never used */
static uint32_t free_ids[EVENT_MARKER]; /* a queue: the longest unused first */
static uint32_t free_first, free_count;
static pthread_mutex_t event_lock = PTHREAD_MUTEX_INITIALIZER;

struct event *event_find(CUevent handle) {
    uint32_t id = handle_index(HANDLE_EVENT, handle);
    if (id >= EVENT_MARKER || events[id].handle != handle) return NULL;
    return &events[id];
}

/* A record that is still under way would write the time of whoever has its id: such ids wait. */
static bool settled(const struct event *e) {
    struct stamp_point at = event_point(e);
    return submit_done(at.stream, at.seq);
}

/* EVENT_MARKER when there is none. */
static uint32_t take_id(void) {
    if (free_count > 0) {
        uint32_t id = free_ids[free_first];
        if (event_limit == EVENT_MARKER || settled(&events[id])) {
            free_first = (free_first + 1) % EVENT_MARKER;
            free_count--;
            return id;
        }
    }
    return event_limit < EVENT_MARKER ? event_limit++ : EVENT_MARKER;
}

struct event *event_create(uint32_t owner, unsigned int flags) {
    lock_enter(&event_lock);
    uint32_t id = take_id();
    struct event *e = id < EVENT_MARKER ? &events[id] : NULL;
    if (e) {
        e->id = id;
        e->owner = (uint16_t)owner;
        e->flags = flags;
        e->signal = 0;
        event_set(e, 0, 0);
        e->handle = (CUevent)(uintptr_t)handle_make(HANDLE_EVENT, ++e->generation, id);
    }
    lock_leave(&event_lock);
    return e;
}

/* With the lock held. Its signal, which the caller closes when he holds none. */
static uint32_t destroy(struct event *e) {
    e->handle = NULL;
    free(e->captured);
    e->captured = NULL;
    free_ids[(free_first + free_count++) % EVENT_MARKER] = e->id;
    return e->signal;
}

static void close_signal(uint32_t signal) {
    if (signal) signal_close(signal);
}

bool event_destroy(CUevent handle) {
    lock_enter(&event_lock);
    struct event *e = event_find(handle);
    uint32_t signal = e ? destroy(e) : 0;
    lock_leave(&event_lock);
    close_signal(signal);
    return e != NULL;
}

void event_release(uint32_t owner) {
    lock_enter(&event_lock);
    for (uint32_t id = 0; id < event_limit; id++) {
        if (!events[id].handle || events[id].owner != owner) continue;
        uint32_t signal = destroy(&events[id]);
        if (!signal) continue;
        lock_leave(&event_lock);
        close_signal(signal);
        lock_enter(&event_lock);
    }
    lock_leave(&event_lock);
}
