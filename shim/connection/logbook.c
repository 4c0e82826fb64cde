/* SPDX-License-Identifier: Apache-2.0
 *
 * A ring of lines, and the callbacks, each with the number of the entry that it gets next.
 */
#include "shim/connection/logbook.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/atomics.h"
#include "shim/lock.h"

struct entry {
    CUlogLevel level;
    uint32_t bytes;
    char line[LOGBOOK_LINE];
};

struct callback {
    CUlogsCallback function; /* NULL while the place is free */
    void *data;
    uint32_t next;
};

static struct entry entries[LOGBOOK_ENTRIES];
static struct callback callbacks[LOGBOOK_CALLBACKS];
static uint32_t next_entry;
static _Atomic uint32_t waiting; /* entries not yet delivered to callbacks */
static pthread_mutex_t logbook_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- entries --------------------------------------------------------------------------------- */

static uint32_t begin_line(char *line) {
    struct timespec now;
    struct tm at;
    char second[16];
    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &at);
    strftime(second, sizeof(second), "%H:%M:%S", &at);
    int n = snprintf(line, LOGBOOK_LINE, "[%s.%03ld][CUDA] ", second, now.tv_nsec / 1000000);
    return n > 0 ? (uint32_t)n : 0;
}

void logbook_add(CUlogLevel level, const char *format, ...) {
    struct entry e = {.level = level};
    int saved = errno;
    va_list arguments;
    e.bytes = begin_line(e.line);
    va_start(arguments, format);
    int n = vsnprintf(e.line + e.bytes, LOGBOOK_LINE - 1 - e.bytes, format, arguments);
    va_end(arguments);
    e.bytes = (uint32_t)strlen(e.line);
    if (n >= 0) e.line[e.bytes++] = '\n';
    lock_enter(&logbook_lock);
    entries[next_entry++ % LOGBOOK_ENTRIES] = e;
    lock_leave(&logbook_lock);
    atom_add_relaxed(&waiting, 1);
    errno = saved;
}

static uint32_t oldest(void) {
    return next_entry > LOGBOOK_ENTRIES ? next_entry - LOGBOOK_ENTRIES : 0;
}

uint32_t logbook_next(void) {
    lock_enter(&logbook_lock);
    uint32_t next = next_entry;
    lock_leave(&logbook_lock);
    return next;
}

uint32_t logbook_oldest(void) {
    lock_enter(&logbook_lock);
    uint32_t first = oldest();
    lock_leave(&logbook_lock);
    return first;
}

bool logbook_line(uint32_t entry, char line[LOGBOOK_LINE], size_t *bytes) {
    lock_enter(&logbook_lock);
    bool there = entry >= oldest() && entry < next_entry;
    const struct entry *e = &entries[entry % LOGBOOK_ENTRIES];
    if (there) {
        *bytes = e->bytes;
        memcpy(line, e->line, e->bytes);
    }
    lock_leave(&logbook_lock);
    return there;
}

/* ---- callbacks ------------------------------------------------------------------------------- */

uint32_t logbook_register(CUlogsCallback function, void *data) {
    uint32_t i = 0;
    lock_enter(&logbook_lock);
    while (i < LOGBOOK_CALLBACKS && callbacks[i].function)
        i++;
    if (i < LOGBOOK_CALLBACKS) callbacks[i] = (struct callback){function, data, next_entry};
    lock_leave(&logbook_lock);
    return i < LOGBOOK_CALLBACKS ? i + 1 : 0;
}

bool logbook_unregister(uint32_t callback) {
    uint32_t i = callback - 1;
    lock_enter(&logbook_lock);
    bool found = i < LOGBOOK_CALLBACKS && callbacks[i].function;
    if (found) callbacks[i].function = NULL;
    lock_leave(&logbook_lock);
    return found;
}

/* Takes the next entry that a callback has not got. The caller holds the lock. */
static bool take(struct callback *to, struct entry *e) {
    for (uint32_t i = 0; i < LOGBOOK_CALLBACKS; i++) {
        struct callback *c = &callbacks[i];
        if (!c->function || c->next >= next_entry) continue;
        if (c->next < oldest()) c->next = oldest();
        *e = entries[c->next++ % LOGBOOK_ENTRIES];
        *to = *c;
        return true;
    }
    return false;
}

void logbook_deliver(void) {
    struct callback c;
    struct entry e;
    if (!atom_load_relaxed(&waiting)) return;
    int saved = errno;
    lock_assert_none();
    for (;;) {
        lock_enter(&logbook_lock);
        bool any = take(&c, &e);
        if (!any) atom_store_relaxed(&waiting, 0);
        lock_leave(&logbook_lock);
        if (!any) break;
        e.line[e.bytes - 1] = 0; /* removes the newline */
        c.function(c.data, e.level, e.line, e.bytes - 1);
    }
    errno = saved;
}
