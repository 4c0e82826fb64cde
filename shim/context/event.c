/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of events.
 */
#include "shim/context/event.h"

#include <pthread.h>
#include <stdlib.h>

#include "shim/connection/refuse.h"
#include "shim/connection/submit.h"
#include "shim/context/signal.h"
#include "shim/handle.h"
#include "shim/lock.h"
#include "shim/table.h"

static struct table events = {.bytes = sizeof(struct event)};
static uint32_t event_limit;                    /* ids from here on were never used */
static struct list unused = {&unused, &unused}; /* unused ids, the longest unused first */
static pthread_mutex_t event_lock = PTHREAD_MUTEX_INITIALIZER;

struct event *event_find(CUevent handle) {
    struct event *e = table_at(&events, handle_index(HANDLE_EVENT, handle));
    return e && e->handle == handle ? e : NULL;
}

/* True when the event's last record is complete. An earlier reuse of the id would give its time to
 * another event, so the id waits while other ids are left. */
static bool settled(const struct event *e) {
    struct stamp_point at = event_point(e);
    return submit_done(at.stream, at.seq);
}

static uint32_t most(void) {
    return table_most(WIRE_EVENTS, WIRE_EVENTS_FIRST);
}

static struct event *take_unused(void) {
    struct event *e = list_entry(unused.next, struct event, unused);
    if (list_empty(&unused) || (event_limit < most() && !settled(e))) return NULL;
    list_remove(&e->unused);
    return e;
}

static struct event *take_new(void) {
    if (event_limit == EVENT_MARKER) event_limit++;
    struct event *e = event_limit < most() ? table_reach(&events, event_limit) : NULL;
    if (e) e->id = event_limit++;
    return e;
}

struct event *event_create(uint32_t owner, unsigned int flags) {
    lock_enter(&event_lock);
    struct event *e = take_unused();
    if (!e) e = take_new();
    if (e) {
        e->owner = owner;
        e->flags = flags;
        e->signal = 0;
        event_set(e, 0, 0);
        e->handle = (CUevent)(uintptr_t)handle_make(HANDLE_EVENT, ++e->generation, e->id);
    }
    lock_leave(&event_lock);
    if (!e) refuse_more(REFUSE_EVENTS, most());
    return e;
}

/* Frees the event. Returns its signal, which the caller closes after releasing the lock. The caller
 * holds the lock. */
static uint32_t destroy(struct event *e) {
    e->handle = NULL;
    free(e->captured);
    e->captured = NULL;
    list_append(&unused, &e->unused);
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
        struct event *e = table_at(&events, id);
        if (!e || !e->handle || e->owner != owner) continue;
        uint32_t signal = destroy(e);
        if (!signal) continue;
        lock_leave(&event_lock);
        close_signal(signal);
        lock_enter(&event_lock);
    }
    lock_leave(&event_lock);
}
