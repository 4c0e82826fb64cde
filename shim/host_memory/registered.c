/* SPDX-License-Identifier: Apache-2.0
 *
 * The registered ranges, which of them are mapped for the device, and the pages that a forked child
 * gets in their place.
 */
#include "shim/host_memory/registered.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/atomics.h"
#include "common/log.h"
#include "shim/connection/state.h"
#include "shim/host_memory/page_exchange.h"
#include "shim/host_memory/pages.h"
#include "shim/host_memory/shadow.h"
#include "shim/host_memory/share.h"
#include "shim/lock.h"
#include "shim/memory/identity.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define NEAR_BYTES (64ull << 10) /* more than fork needs of its caller's stack */
#define FORK_PATIENCE_NS 300000000ull

struct entry {
    struct registered_range range;
    struct shadow *shadow; /* NULL: not mapped for the device by a shadow */
    struct share *share;   /* NULL: not mapped for the device as a file's pages */
    int prot;              /* protection of its pages while it is mapped */
    bool stack;            /* the pages are of the main thread's stack */
    bool away;             /* not mapped for the device while a child is forked */
    char *copy;            /* copy of its pages while a child is forked */
};

static struct {
    pthread_mutex_t lock;
    struct entry *entries;
    uint32_t count, cap;
    _Atomic uint32_t
        shown; /* ranges that are mapped, so that programs without any take no lock in copies */
} registered = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t first_page(const struct registered_range *r) {
    return r->addr & ~(PAGES_BYTES - 1);
}

static uint64_t end_page(const struct registered_range *r) {
    return (r->addr + r->bytes + PAGES_BYTES - 1) & ~(PAGES_BYTES - 1);
}

/* ---- lookup ---------------------------------------------------------------------------------- */

static struct entry *find_locked(uint64_t addr) {
    for (uint32_t i = 0; i < registered.count; i++) {
        struct registered_range *r = &registered.entries[i].range;
        if (addr - r->addr < r->bytes) return &registered.entries[i];
    }
    return NULL;
}

bool registered_find(uint64_t addr, struct registered_range *out) {
    lock_enter(&registered.lock);
    const struct entry *e = find_locked(addr);
    if (e) *out = e->range;
    lock_leave(&registered.lock);
    return e != NULL;
}

bool registered_find_device(uint64_t device, struct registered_range *out) {
    bool found = false;
    lock_enter(&registered.lock);
    for (uint32_t i = 0; !found && i < registered.count; i++) {
        *out = registered.entries[i].range;
        found = out->device && device - out->device < out->bytes;
    }
    lock_leave(&registered.lock);
    return found;
}

uint64_t registered_device(uint64_t addr, uint64_t bytes) {
    struct registered_range r;
    if (atom_load_relaxed(&registered.shown) == 0) return 0;
    if (!registered_find(addr, &r) || !r.device || bytes > r.bytes - (addr - r.addr)) return 0;
    return addr - r.addr + r.device;
}

/* ---- exchanging pages ------------------------------------------------------------------------ */

static struct shadow_how how_of(const struct entry *e, int guard) {
    return (struct shadow_how){.prot = e->prot,
                               .guard = guard,
                               .stack = e->stack,
                               .since = e->away ? e->copy : NULL,
                               .since_lo = first_page(&e->range)};
}

static const char *lay(struct entry *e, uint64_t patience_ns) {
    struct calm calm;
    uint64_t lo = first_page(&e->range), hi = end_page(&e->range);
    page_exchange_begin(&calm, lo, hi, patience_ns);
    const struct shadow_how how = how_of(e, calm.guard);
    int err = calm.guard == SHADOW_BESIDE ? -EAGAIN : shadow_lay(e->shadow, lo, hi, &how);
    page_exchange_end(&calm);
    switch (err) {
    case 0: return NULL;
    case -EAGAIN: return "other threads of the program could write to the memory meanwhile";
    case -EBUSY: return "a device writes to the memory";
    default: return "the system does not allow the memory's pages to be replaced";
    }
}

/* Returns the pages to the program. -EAGAIN when other threads ran meanwhile: the device then keeps
 * access to the old contents only. */
static int lift(struct entry *e, uint64_t lo, uint64_t hi, uint64_t patience_ns) {
    struct calm calm;
    page_exchange_begin(&calm, lo, hi, patience_ns);
    const struct shadow_how how = how_of(e, calm.guard);
    shadow_lift(e->shadow, lo, hi, &how);
    page_exchange_end(&calm);
    return calm.guard == SHADOW_BESIDE ? -EAGAIN : 0;
}

/* ---- fork ------------------------------------------------------------------------------------
 *
 * A child does not inherit pages that map the window. It gets copies in their place, made when fork
 * was called: they contain everything that a single thread wrote before. */

static char *copy_of(const struct entry *e) {
    uint64_t lo = first_page(&e->range), bytes = end_page(&e->range) - lo;
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    memcpy(p, (const void *)(uintptr_t)shadow_at(e->shadow, lo), bytes);
    return p;
}

/* True when the caller's stack is in or near these pages. */
static bool is_near(const struct entry *e) {
    uint64_t frame = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    return frame + NEAR_BYTES >= first_page(&e->range) && frame < end_page(&e->range) + NEAR_BYTES;
}

/* Returns pages to the program before a fork. The pages that fork itself runs on must exist in the
 * child, which inherits the program's own. */
static void take_away(struct entry *e) {
    e->away = true;
    if (lift(e, first_page(&e->range), end_page(&e->range), FORK_PATIENCE_NS) == 0) return;
    e->away = false;
    log_error("shim",
              "what=\"the device no longer sees what the program writes to its registered memory, "
              "because the program forked while other threads ran\" do=\"fork before the memory is "
              "registered\"");
}

static void lay_again(struct entry *e) {
    const char *why = lay(e, FORK_PATIENCE_NS);
    e->away = false;
    if (why)
        log_error(
            "shim",
            "what=\"the device no longer sees what the program writes to its registered "
            "memory, because the program forked\" reason=\"%s\" do=\"fork before the memory is "
            "registered\"",
            why);
}

static void before_fork(void) {
    lock_enter(&registered.lock);
    for (uint32_t i = 0; i < registered.count; i++) {
        struct entry *e = &registered.entries[i];
        e->copy = e->shadow ? copy_of(e) : NULL;
        if (e->copy && is_near(e)) take_away(e);
        if (e->shadow && !e->copy)
            log_error("shim", "what=\"a forked child lacks the pages of registered memory, because "
                              "memory is short\"");
    }
}

static void in_parent(void) {
    for (uint32_t i = 0; i < registered.count; i++) {
        struct entry *e = &registered.entries[i];
        if (e->away) lay_again(e);
        if (e->copy) munmap(e->copy, end_page(&e->range) - first_page(&e->range));
        e->copy = NULL;
    }
    lock_leave(&registered.lock);
}

/* Fills a gap in the child's memory. Where a mapping exists, the program made it, or a neighbour in
 * the same page came first. */
static void fill_hole(uint64_t lo, const void *copy, uint64_t bytes, int prot) {
    void *at = (void *)(uintptr_t)lo;
    void *p = mmap(at, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (p == at) {
        memcpy(p, copy, bytes);
        mprotect(p, bytes, prot);
        return;
    }
    if (p != MAP_FAILED) munmap(p, bytes); /* the kernel is older than 4.17 */
    for (uint64_t i = 0; bytes > PAGES_BYTES && i < bytes; i += PAGES_BYTES)
        fill_hole(lo + i, (const char *)copy + i, PAGES_BYTES, prot);
}

static void in_child(void) {
    for (uint32_t i = 0; i < registered.count; i++) {
        struct entry *e = &registered.entries[i];
        uint64_t lo = first_page(&e->range), bytes = end_page(&e->range) - lo;
        if (!e->copy) continue;
        fill_hole(lo, e->copy, bytes, e->prot);
        munmap(e->copy, bytes);
    }
    registered.count = 0;
    lock_leave(&registered.lock);
}

static void watch_forks(void) {
    pthread_atfork(before_fork, in_parent, in_child);
}

/* ---- mapping for the device ------------------------------------------------------------------ */

/* True for pages that contain a thread's own variables: the kernel writes near them, and calls
 * store errno there. */
static bool has_own_variables(uint64_t lo, uint64_t hi) {
    uint64_t thread = (uint64_t)pthread_self(), error = (uint64_t)(uintptr_t)&errno;
    return (thread >= lo && thread < hi) || (error >= lo && error < hi);
}

/* Extends the main thread's stack below the pages. A stack grows from its end, which must not be
 * among the pages. */
static __attribute__((no_sanitize("address"))) bool grow_stack(uint64_t lo, uint64_t hi) {
    uint64_t frame = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    if (frame < lo || frame >= hi) return false;
    (void)*(volatile char *)(uintptr_t)(lo - 1);
    return true;
}

static const char *why_not(uint64_t lo, uint64_t hi, struct pages_view *view) {
    if (has_own_variables(lo, hi)) return "the calling thread has its thread-local variables there";
    if (pages_look(lo, hi, state.conn.host_inode, view)) return "/proc/self/maps cannot be read";
    if (!view->readable) return "the memory is no longer mapped or cannot be read";
    if (view->stack_end == lo && !grow_stack(lo, hi)) return "the main thread's stack ends there";
    return view->unfit;
}

static const char shared_memory[] = "other processes map the memory too";

static const char *show(struct entry *e, uint64_t patience_ns) {
    struct pages_view view;
    uint64_t lo = first_page(&e->range), hi = end_page(&e->range);
    if (pages_shared(lo, state.conn.host_inode)) return shared_memory;
    const char *why = why_not(lo, hi, &view);
    if (why) return why;
    struct shadow *s = shadow_take(lo, hi, &why);
    if (!s) return why;
    e->shadow = s;
    e->prot = view.prot;
    e->stack = view.stack_end != 0;
    why = lay(e, patience_ns);
    if (why) {
        shadow_give(s);
        e->shadow = NULL;
        return why;
    }
    e->range.device = shadow_at(s, e->range.addr);
    atom_add_relaxed(&registered.shown, 1);
    return NULL;
}

/* Stores the share, unless another thread mapped the range meanwhile, or unregistered it. */
static const char *keep_share(struct share *s, struct registered_range *out) {
    lock_enter(&registered.lock);
    struct entry *e = find_locked(out->addr);
    bool same = e && e->range.addr == out->addr && e->range.bytes == out->bytes;
    bool used = same && !e->range.device;
    if (used) {
        e->share = s;
        e->range.device = share_at(s, e->range.addr);
        atom_add_relaxed(&registered.shown, 1);
    }
    if (same) *out = e->range;
    lock_leave(&registered.lock);
    if (!used) share_hide(s);
    return same ? NULL : "the memory is not registered";
}

/* Maps a file's pages. The caller holds no lock, because the worker is asked. */
static const char *show_file(struct registered_range *out) {
    const char *why;
    struct share *s = share_show(first_page(out), end_page(out), &why);
    return s ? keep_share(s, out) : why;
}

const char *registered_show(uint64_t addr, uint64_t patience_ns, struct registered_range *out) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int saved = errno;
    pthread_once(&once, watch_forks);
    lock_enter(&registered.lock);
    struct entry *e = find_locked(addr);
    const char *why = !e                ? "the memory is not registered"
                      : e->range.device ? NULL
                                        : show(e, patience_ns);
    if (e) *out = e->range;
    lock_leave(&registered.lock);
    if (why == shared_memory) why = show_file(out);
    errno = saved;
    return why;
}

/* True when a neighbouring range has this page as well, the first or the last one. */
static bool is_shared(const struct entry *self, uint64_t page) {
    for (uint32_t i = 0; i < registered.count; i++) {
        const struct entry *e = &registered.entries[i];
        if (e != self && e->shadow && page >= first_page(&e->range) && page < end_page(&e->range))
            return true;
    }
    return false;
}

/* Removes the range's mapping for the device. A share is put on `files`, to be removed with no lock
 * held. */
static void hide(struct entry *e, struct share **files) {
    uint64_t lo = first_page(&e->range), hi = end_page(&e->range);
    if (e->share) {
        e->share->next = *files;
        *files = e->share;
        e->share = NULL;
        atom_sub_relaxed(&registered.shown, 1);
    }
    if (!e->shadow) return;
    if (is_shared(e, lo)) lo += PAGES_BYTES;
    if (lo < hi && is_shared(e, hi - PAGES_BYTES)) hi -= PAGES_BYTES;
    if (lo < hi) (void)lift(e, lo, hi, 0);
    shadow_give(e->shadow);
    e->shadow = NULL;
    atom_sub_relaxed(&registered.shown, 1);
}

static void hide_files(struct share *files) {
    while (files) {
        struct share *s = files;
        files = s->next;
        share_hide(s);
    }
}

/* ---- registering ----------------------------------------------------------------------------- */

static bool overlaps(uint64_t addr, uint64_t bytes) {
    for (uint32_t i = 0; i < registered.count; i++) {
        const struct registered_range *range = &registered.entries[i].range;
        if (addr < range->addr + range->bytes && range->addr < addr + bytes) return true;
    }
    return false;
}

static CUresult append(const struct registered_range *r) {
    if (overlaps(r->addr, r->bytes)) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    if (registered.count == registered.cap) {
        uint32_t cap = registered.cap ? registered.cap * 2 : 16;
        struct entry *more = realloc(registered.entries, cap * sizeof(*more));
        if (!more) return CUDA_ERROR_OUT_OF_MEMORY;
        registered.entries = more;
        registered.cap = cap;
    }
    identity_forget(r->addr, r->bytes);
    registered.entries[registered.count++] = (struct entry){.range = *r};
    return CUDA_SUCCESS;
}

/* True for memory that can be pinned; also when /proc/self/maps cannot be read. */
static bool is_memory(const struct registered_range *r) {
    int saved = errno, prot = PROT_NONE, needs = PROT_READ;
    int err = pages_access(first_page(r), end_page(r), &prot);
    errno = saved;
    if (!(r->flags & CU_MEMHOSTREGISTER_READ_ONLY)) needs |= PROT_WRITE;
    return err || (prot & needs) == needs;
}

CUresult registered_add(uint64_t addr, uint64_t bytes, unsigned int flags) {
    const struct registered_range range = {.addr = addr, .bytes = bytes, .flags = flags};
    lock_enter(&registered.lock);
    CUresult r = append(&range);
    lock_leave(&registered.lock);
    if (r || is_memory(&range)) return r;
    registered_remove(addr);
    return CUDA_ERROR_INVALID_VALUE;
}

bool registered_remove(uint64_t addr) {
    int saved = errno;
    struct share *files = NULL;
    lock_enter(&registered.lock);
    struct entry *e = find_locked(addr);
    bool found = e && e->range.addr == addr;
    if (found) {
        hide(e, &files);
        *e = registered.entries[--registered.count];
    }
    lock_leave(&registered.lock);
    hide_files(files);
    errno = saved;
    return found;
}

void registered_clear(void) {
    struct share *files = NULL;
    lock_enter(&registered.lock);
    while (registered.count > 0)
        hide(&registered.entries[--registered.count], &files);
    lock_leave(&registered.lock);
    hide_files(files);
}
