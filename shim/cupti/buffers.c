/* SPDX-License-Identifier: Apache-2.0
 *
 * Fills one buffer at a time.
 */
#include "shim/cupti/buffers.h"

#include <pthread.h>
#include <string.h>

#include "common/atomics.h"
#include "shim/lock.h"

#define ALIGNMENT 8u

struct buffer {
    uint8_t *bytes; /* NULL: no buffer */
    size_t size, used;
    size_t records, most; /* number of records written; the most of them, 0: as many as fit */
};

static struct buffer current;
static pthread_mutex_t buffer_lock = PTHREAD_MUTEX_INITIALIZER; /* protects `current` */
static _Atomic(cupti_requested) requested;
static _Atomic(cupti_completed) completed;
static _Atomic uint64_t dropped;

void buffers_register(cupti_requested r, cupti_completed c) {
    atom_store_release(&completed, c);
    atom_store_release(&requested, r);
}

bool buffers_registered(void) {
    return atom_load_acquire(&requested) && atom_load_acquire(&completed);
}

/* ---- life of a buffer ------------------------------------------------------------------------ */

static struct buffer request(void) {
    struct buffer b = {0};
    cupti_requested ask = atom_load_acquire(&requested);
    if (ask) ask(&b.bytes, &b.size, &b.most);
    if ((uintptr_t)b.bytes % ALIGNMENT) b.size = 0; /* records would not be aligned */
    return b;
}

static void give_back(const struct buffer *b) {
    cupti_completed done = atom_load_acquire(&completed);
    if (b->bytes && done) done(NULL, 0, b->bytes, b->size, b->used);
}

static bool fits(const struct buffer *b, size_t bytes) {
    return b->bytes && b->size - b->used >= bytes && (!b->most || b->records < b->most);
}

static bool write_record(const void *record, size_t bytes) {
    lock_enter(&buffer_lock);
    bool room = fits(&current, bytes);
    if (room) {
        memcpy(current.bytes + current.used, record, bytes);
        current.used += bytes;
        current.records++;
    }
    lock_leave(&buffer_lock);
    return room;
}

/* Puts `fresh` in the place of the full buffer, unless another thread did so. Returns the buffer
 * that is not needed any more. */
static struct buffer replace(struct buffer fresh, size_t bytes) {
    lock_enter(&buffer_lock);
    struct buffer old = current;
    if (fits(&current, bytes))
        old = fresh;
    else
        current = fresh;
    lock_leave(&buffer_lock);
    return old;
}

void buffers_put(const void *record, size_t bytes) {
    if (write_record(record, bytes)) return;
    struct buffer fresh = request();
    struct buffer old = fits(&fresh, bytes) ? replace(fresh, bytes) : fresh;
    give_back(&old);
    if (!write_record(record, bytes)) atom_add(&dropped, 1);
}

void buffers_flush(void) {
    struct buffer full = {0};
    lock_enter(&buffer_lock);
    if (current.used) {
        full = current;
        current = (struct buffer){0};
    }
    lock_leave(&buffer_lock);
    give_back(&full);
}

uint64_t buffers_dropped(void) {
    return atom_exchange(&dropped, 0);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Returns the size of a record; 0: a kind that this library does not write. */
static size_t bytes_of(uint32_t kind) {
    switch (kind) {
    case CUPTI_KIND_MEMCPY: return sizeof(struct cupti_copy);
    case CUPTI_KIND_MEMSET: return sizeof(struct cupti_fill);
    case CUPTI_KIND_KERNEL:
    case CUPTI_KIND_CONCURRENT_KERNEL: return sizeof(struct cupti_kernel);
    case CUPTI_KIND_DRIVER: return sizeof(struct cupti_call);
    case CUPTI_KIND_EXTERNAL_CORRELATION: return sizeof(struct cupti_external);
    default: return 0;
    }
}

/* Returns the size of the complete record at `at`; 0: there is none. */
static size_t record_at(const uint8_t *buffer, size_t valid, size_t at) {
    uint32_t kind;
    if (at > valid || valid - at < sizeof(kind)) return 0;
    memcpy(&kind, buffer + at, sizeof(kind));
    size_t bytes = bytes_of(kind);
    return bytes <= valid - at ? bytes : 0;
}

bool buffers_next(uint8_t *buffer, size_t valid, uint8_t **at) {
    size_t next = 0;
    if (*at) {
        if (*at < buffer || *at >= buffer + valid) return false;
        next = (size_t)(*at - buffer);
        size_t bytes = record_at(buffer, valid, next);
        if (!bytes) return false;
        next += bytes;
    }
    if (!record_at(buffer, valid, next)) return false;
    *at = buffer + next;
    return true;
}
