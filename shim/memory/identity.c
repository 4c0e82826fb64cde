/* SPDX-License-Identifier: Apache-2.0
 *
 * An allocation gets its record when a program first asks about it, and loses the record when its
 * addresses are allocated again.
 */
#include "shim/memory/identity.h"

#include <pthread.h>

#include "common/atomics.h"
#include "shim/lock.h"
#include "shim/memory/spans.h"

static struct spans records; /* `access`: SYNC_MEMOPS is set */
static _Atomic uint64_t last_id;
static _Atomic uint32_t known, synchronous; /* number of records, and of those with SYNC_MEMOPS */
static pthread_mutex_t identity_lock = PTHREAD_MUTEX_INITIALIZER;

uint64_t identity_next(void) {
    return atom_add_relaxed(&last_id, 1) + 1;
}

/* Removes the records of a range. The caller holds the lock. */
static void forget(uint64_t addr, uint64_t bytes) {
    uint32_t first, count = spans_overlapping(&records, addr, bytes, &first);
    for (uint32_t i = first; i < first + count; i++)
        if (records.items[i].access) atom_sub_relaxed(&synchronous, 1);
    spans_remove(&records, first, count);
    atom_store_relaxed(&known, records.count);
}

/* Returns the allocation's record; NULL: out of memory. A record of another extent belongs to an
 * allocation that was freed. The caller holds the lock. */
static struct span *record_of(uint64_t addr, uint64_t bytes) {
    struct span *s = spans_find(&records, addr);
    if (s && s->addr == addr && s->bytes == bytes) return s;
    forget(addr, bytes);
    if (spans_add(&records, &(struct span){.addr = addr, .bytes = bytes, .id = identity_next()}))
        return NULL;
    atom_store_relaxed(&known, records.count);
    return spans_find(&records, addr);
}

uint64_t identity_of(uint64_t addr, uint64_t bytes) {
    lock_enter(&identity_lock);
    const struct span *s = record_of(addr, bytes);
    uint64_t id = s ? s->id : 0;
    lock_leave(&identity_lock);
    return id;
}

bool identity_set_sync(uint64_t addr, uint64_t bytes, bool sync) {
    lock_enter(&identity_lock);
    struct span *s = record_of(addr, bytes);
    if (s && s->access != sync) {
        s->access = sync;
        if (sync)
            atom_add_relaxed(&synchronous, 1);
        else
            atom_sub_relaxed(&synchronous, 1);
    }
    lock_leave(&identity_lock);
    return s != NULL;
}

bool identity_sync(uint64_t addr) {
    if (!atom_load_relaxed(&synchronous)) return false;
    lock_enter(&identity_lock);
    const struct span *s = spans_find(&records, addr);
    bool sync = s && s->access;
    lock_leave(&identity_lock);
    return sync;
}

void identity_forget(uint64_t addr, uint64_t bytes) {
    if (!atom_load_relaxed(&known)) return;
    lock_enter(&identity_lock);
    forget(addr, bytes);
    lock_leave(&identity_lock);
}
