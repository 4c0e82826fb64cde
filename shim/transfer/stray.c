/* SPDX-License-Identifier: Apache-2.0
 *
 * A short list: programs look up few of their variables. Variables share pages; a page is reserved
 * for the first variable and released with the last.
 */
#include "shim/transfer/stray.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "common/atomics.h"
#include "shim/host_memory/pages.h"
#include "shim/lock.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

struct stray {
    uint64_t addr, bytes;
    uint32_t holders;
};

static struct {
    pthread_mutex_t lock;
    struct stray *list;
    uint32_t room;
    _Atomic uint32_t count;
} strays = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t page_of(uint64_t addr) {
    return addr & ~(PAGES_BYTES - 1);
}

static uint64_t page_behind(const struct stray *s) {
    return page_of(s->addr + s->bytes + PAGES_BYTES - 1);
}

static struct stray *find(uint64_t addr, uint64_t bytes) {
    uint32_t count = atom_load_relaxed(&strays.count);
    for (uint32_t i = 0; i < count; i++) {
        struct stray *s = &strays.list[i];
        if (addr >= s->addr && bytes <= s->bytes && addr - s->addr <= s->bytes - bytes) return s;
    }
    return NULL;
}

/* True when a range other than `but` reserves this page. */
static bool page_taken(uint64_t page, const struct stray *but) {
    uint32_t count = atom_load_relaxed(&strays.count);
    for (uint32_t i = 0; i < count; i++) {
        const struct stray *s = &strays.list[i];
        if (s != but && page >= page_of(s->addr) && page < page_behind(s)) return true;
    }
    return false;
}

static void give_pages(const struct stray *s, uint64_t end) {
    for (uint64_t page = page_of(s->addr); page < end; page += PAGES_BYTES)
        if (!page_taken(page, s)) munmap((void *)(uintptr_t)page, PAGES_BYTES);
}

static int take_pages(const struct stray *s) {
    for (uint64_t page = page_of(s->addr); page < page_behind(s); page += PAGES_BYTES) {
        if (page_taken(page, s)) continue;
        void *at = (void *)(uintptr_t)page;
        void *got = mmap(at, PAGES_BYTES, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
        if (got == at) continue;
        int err = got == MAP_FAILED ? -errno : -EEXIST;
        if (got != MAP_FAILED) munmap(got, PAGES_BYTES);
        give_pages(s, page);
        return err;
    }
    return 0;
}

static int make_room(void) {
    if (atom_load_relaxed(&strays.count) < strays.room) return 0;
    uint32_t room = strays.room ? 2 * strays.room : 16;
    struct stray *more = realloc(strays.list, room * sizeof(*more));
    if (!more) return -ENOMEM;
    strays.list = more;
    strays.room = room;
    return 0;
}

static int add(uint64_t addr, uint64_t bytes) {
    struct stray *s = find(addr, bytes), made = {.addr = addr, .bytes = bytes, .holders = 1};
    if (s && s->addr == addr && s->bytes == bytes) {
        s->holders++;
        return 0;
    }
    int err = make_room();
    if (!err) err = take_pages(&made);
    if (err) return err;
    uint32_t count = atom_load_relaxed(&strays.count);
    strays.list[count] = made;
    atom_store_relaxed(&strays.count, count + 1);
    return 0;
}

int stray_add(uint64_t addr, uint64_t bytes) {
    lock_enter(&strays.lock);
    int err = add(addr, bytes);
    lock_leave(&strays.lock);
    return err;
}

void stray_remove(uint64_t addr, uint64_t bytes) {
    lock_enter(&strays.lock);
    struct stray *s = find(addr, bytes);
    if (s && s->addr == addr && s->bytes == bytes && --s->holders == 0) {
        uint32_t last = atom_load_relaxed(&strays.count) - 1;
        give_pages(s, page_behind(s));
        *s = strays.list[last];
        atom_store_relaxed(&strays.count, last);
    }
    lock_leave(&strays.lock);
}

bool stray_has(uint64_t addr, uint64_t bytes) {
    if (atom_load_relaxed(&strays.count) == 0) return false;
    lock_enter(&strays.lock);
    bool has = find(addr, bytes) != NULL;
    lock_leave(&strays.lock);
    return has;
}
