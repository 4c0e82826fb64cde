/* SPDX-License-Identifier: Apache-2.0
 *
 * The ranges that are registered.
 */
#include "shim/memory/hostmem.h"

#include <pthread.h>
#include <stdlib.h>

#include "shim/lock.h"

static struct {
    pthread_mutex_t lock;
    struct hostmem_range *ranges;
    uint32_t count, cap;
} registered = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct hostmem_range *find_locked(uint64_t addr) {
    for (uint32_t i = 0; i < registered.count; i++) {
        struct hostmem_range *range = &registered.ranges[i];
        if (addr - range->addr < range->bytes) return range;
    }
    return NULL;
}

bool hostmem_find(uint64_t addr, struct hostmem_range *out) {
    lock_enter(&registered.lock);
    const struct hostmem_range *range = find_locked(addr);
    if (range) *out = *range;
    lock_leave(&registered.lock);
    return range != NULL;
}

void hostmem_clear(void) {
    lock_enter(&registered.lock);
    registered.count = 0;
    lock_leave(&registered.lock);
}

static bool overlaps(uint64_t addr, uint64_t bytes) {
    for (uint32_t i = 0; i < registered.count; i++) {
        const struct hostmem_range *range = &registered.ranges[i];
        if (addr < range->addr + range->bytes && range->addr < addr + bytes) return true;
    }
    return false;
}

static CUresult append(uint64_t addr, uint64_t bytes, unsigned int flags) {
    if (overlaps(addr, bytes)) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    if (registered.count == registered.cap) {
        uint32_t cap = registered.cap ? registered.cap * 2 : 16;
        struct hostmem_range *more = realloc(registered.ranges, cap * sizeof(*more));
        if (!more) return CUDA_ERROR_OUT_OF_MEMORY;
        registered.ranges = more;
        registered.cap = cap;
    }
    registered.ranges[registered.count++] = (struct hostmem_range){addr, bytes, flags};
    return CUDA_SUCCESS;
}

CUresult hostmem_add(uint64_t addr, uint64_t bytes, unsigned int flags) {
    lock_enter(&registered.lock);
    CUresult r = append(addr, bytes, flags);
    lock_leave(&registered.lock);
    return r;
}

bool hostmem_remove(uint64_t addr) {
    lock_enter(&registered.lock);
    struct hostmem_range *range = find_locked(addr);
    bool found = range && range->addr == addr;
    if (found) *range = registered.ranges[--registered.count];
    lock_leave(&registered.lock);
    return found;
}
