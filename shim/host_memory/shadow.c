/* SPDX-License-Identifier: Apache-2.0
 *
 * Replaces pages piece by piece, so that at most one piece exists twice. One system call replaces a
 * mapping: a reading thread sees the old or the new one.
 */
#include "shim/host_memory/shadow.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "common/atomics.h"
#include "shim/connection/state.h"
#include "shim/host_memory/own_stack.h"
#include "shim/host_memory/page_block.h"
#include "shim/host_memory/pages.h"
#include "shim/memory/mem.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

#define PIECE_BYTES (16ull << 20)
#define BUSY_TRIES 50 /* one millisecond apart */
/* Addresses reserved around a range, because a range registered next may share its last page. They
 * take no memory. */
#define MARGIN_BYTES (256ull << 10)

static struct shadow *shadows;

static void *at(uint64_t addr) {
    return (void *)(uintptr_t)addr;
}

/* ---- pieces of the window -------------------------------------------------------------------- */

/* Extends the range as far as no other shadow reaches. */
static void add_margin(uint64_t *lo, uint64_t *hi) {
    uint64_t least = *lo > MARGIN_BYTES ? *lo - MARGIN_BYTES : 0, most = *hi + MARGIN_BYTES;
    for (const struct shadow *s = shadows; s; s = s->next) {
        if (s->hi <= *lo && s->hi > least) least = s->hi;
        if (s->lo >= *hi && s->lo < most) most = s->lo;
    }
    *lo = least;
    *hi = most;
}

static struct shadow *find(uint64_t lo, uint64_t hi) {
    struct shadow *s = shadows;
    while (s && (s->hi <= lo || s->lo >= hi))
        s = s->next;
    return s;
}

static struct shadow *make(uint64_t lo, uint64_t hi) {
    struct shadow *s = malloc(sizeof(*s));
    if (!s) return NULL;
    add_margin(&lo, &hi);
    *s = (struct shadow){.lo = lo, .hi = hi, .next = shadows};
    if (mem_take(MEM_SHADOW, 0, 0, hi - lo + PAGES_BYTES, &s->block)) {
        free(s);
        return NULL;
    }
    s->window = (s->block + PAGES_BYTES - 1) & ~(PAGES_BYTES - 1);
    shadows = s;
    return s;
}

struct shadow *shadow_take(uint64_t lo, uint64_t hi, const char **why) {
    struct shadow *s = find(lo, hi);
    if (s && (lo < s->lo || hi > s->hi)) {
        *why = "the memory shares a page with memory that was registered before";
        return NULL;
    }
    if (!s) s = make(lo, hi);
    *why = "the window of pinned memory is full (window_host_bytes in salus.conf)";
    if (s) s->users++;
    return s;
}

static void release_parked(struct shadow *s);

void shadow_give(struct shadow *s) {
    struct shadow **at = &shadows;
    if (--s->users > 0) return;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    release_parked(s);
    if (!s->worn) mem_give_kept(s->block);
    free(s);
}

/* ---- stored stack pages ----------------------------------------------------------------------
 *
 * A page of the main thread's stack is restored as the original mapping. A new mapping would split
 * the stack for good, and a query for the stack's size would return only its upper part. */

struct parked {
    uint64_t addr, at; /* address in the program, and current address */
    struct parked *next;
};

static struct parked **find_parked(struct shadow *s, uint64_t addr) {
    struct parked **p = &s->parked;
    while (*p && (*p)->addr != addr)
        p = &(*p)->next;
    return p;
}

/* Returns an address for storing the page; 0: out of memory. */
static uint64_t park(struct shadow *s, uint64_t addr) {
    void *p = mmap(NULL, PAGES_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct parked *new = p != MAP_FAILED ? malloc(sizeof(*new)) : NULL;
    if (!new) {
        if (p != MAP_FAILED) munmap(p, PAGES_BYTES);
        return 0;
    }
    *new = (struct parked){.addr = addr, .at = (uint64_t)(uintptr_t)p, .next = s->parked};
    s->parked = new;
    return new->at;
}

/* Returns the address of a stored page, which the caller then owns; 0: not stored. */
static uint64_t unpark(struct shadow *s, uint64_t addr) {
    struct parked **p = find_parked(s, addr), *old = *p;
    if (!old) return 0;
    uint64_t at = old->at;
    *p = old->next;
    free(old);
    return at;
}

static void release_parked(struct shadow *s) {
    while (s->parked)
        munmap(at(unpark(s, s->parked->addr)), PAGES_BYTES);
}

/* ---- laying: shadow pages replace the program's ---------------------------------------------- */

static void hold_signals(sigset_t *before) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, before);
}

static void let_signals(const sigset_t *before) {
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* Everything that code on the separate stack may read: the caller's stack, or the heap with the
 * shadow, may be among the pages that are held. */
struct exchange {
    uint64_t addr, bytes; /* pages of the program */
    uint64_t window;      /* address of the pages in the window */
    uint64_t own;         /* address that stores the program's own pages; 0: not stored */
    char *since;          /* the bytes of shadow_how.since for these pages */
    int prot, guard;
};

static struct exchange exchange_of(const struct shadow *s, uint64_t addr, uint64_t bytes,
                                   const struct shadow_how *how) {
    return (struct exchange){.addr = addr,
                             .bytes = bytes,
                             .window = shadow_at(s, addr),
                             .since = how->since ? how->since + (addr - how->since_lo) : NULL,
                             .prot = how->prot,
                             .guard = how->guard};
}

static int map_window(const struct exchange *x, int kind) {
    uint64_t offset = x->window - state.conn.windows.host_base;
    void *p =
        mmap(at(x->addr), x->bytes, x->prot, kind | MAP_FIXED, state.conn.host, (off_t)offset);
    return p == MAP_FAILED ? -errno : 0;
}

/* Copies without memcpy, because a sanitizer of the program would report unused parts of its stack.
 */
static void copy_bytes(uint64_t to, uint64_t from, uint64_t bytes) {
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

static __attribute__((no_sanitize("address"))) void copy_in(const struct exchange *x,
                                                            uint64_t from) {
    const char *is = at(from);
    char *to = at(x->window);
    if (!x->since) {
        copy_bytes(x->window, from, x->bytes);
        return;
    }
    for (uint64_t i = 0; i < x->bytes; i++)
        if (is[i] != x->since[i]) to[i] = is[i];
}

/* Moves the pages away; the mapping itself stays there, without pages. */
static int put_away(const struct exchange *x) {
    if (!x->own) return 0;
    void *p = mremap(at(x->addr), x->bytes, x->bytes,
                     MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, at(x->own));
    return p == MAP_FAILED ? -errno : 0;
}

static int bring_back(const struct exchange *x) {
    void *p = mremap(at(x->own), x->bytes, x->bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at(x->addr));
    return p == MAP_FAILED ? -errno : 0;
}

/* Restores the pages after a failure. Kernels before 6.12 may have removed the old mapping when
 * they fail. */
static void restore(const struct exchange *x) {
    if (x->own) {
        (void)bring_back(x);
        return;
    }
    void *p = mmap(at(x->addr), x->bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (p != at(x->addr)) return; /* the pages are still there */
    copy_bytes(x->addr, x->window, x->bytes);
    mprotect(p, x->bytes, x->prot);
}

/* Replaces the pages. Nothing may be written between the copy and the mapping, not even a variable
 * of this library, which could lie in these pages. */
static int lay_alone(const struct exchange *x) {
    copy_in(x, x->addr);
    int err = put_away(x);
    if (err) return err;
    err = map_window(x, MAP_SHARED);
    if (err) restore(x);
    return err;
}

static int lay_held(const struct exchange *x) {
    uint64_t moved;
    int err = page_block_away(x->guard, x->addr, x->bytes, &moved);
    if (err) return err;
    copy_in(x, moved);
    err = put_away(x);
    if (!err) err = map_window(x, MAP_SHARED);
    if (err) {
        page_block_undo(x->guard, x->addr, x->bytes, moved);
        return err;
    }
    page_block_end(x->guard, x->addr, x->bytes);
    munmap(at(moved), x->bytes);
    return 0;
}

/* True when other threads must be blocked: read-only pages cannot change. */
static bool needs_holder(int guard, int prot) {
    return guard >= 0 && prot & PROT_WRITE;
}

static int lay_aside(const void *arg) {
    const struct exchange x = *(const struct exchange *)arg;
    return needs_holder(x.guard, x.prot) ? lay_held(&x) : lay_alone(&x);
}

static int exchange(int (*aside)(const void *arg), const struct exchange *x) {
    sigset_t before;
    hold_signals(&before);
    int err = own_stack_call(aside, x);
    let_signals(&before);
    return err;
}

/* Replaces one piece. A page that is stored already was lifted next to running threads. */
static int lay_piece(struct shadow *s, uint64_t addr, uint64_t bytes,
                     const struct shadow_how *how) {
    struct exchange x = exchange_of(s, addr, bytes, how);
    bool keeps = how->stack && !*find_parked(s, addr);
    if (keeps && !(x.own = park(s, addr))) return -ENOMEM;
    int err = exchange(lay_aside, &x);
    if (err && keeps) munmap(at(unpark(s, addr)), bytes);
    /* registered.c gives a forked child pages of its own. */
    if (!err) madvise(at(addr), bytes, MADV_DONTFORK);
    return err;
}

static uint64_t piece_of(uint64_t lo, uint64_t hi, const struct shadow_how *how) {
    uint64_t most = how->stack ? PAGES_BYTES : PIECE_BYTES;
    return hi - lo < most ? hi - lo : most;
}

/* Replaces one piece, after waiting for direct input from a file, which ends soon. Nothing is held
 * during the wait. */
static int lay_when_idle(struct shadow *s, uint64_t addr, uint64_t bytes,
                         const struct shadow_how *how) {
    const struct timespec pause = {.tv_nsec = 1000000};
    int err = lay_piece(s, addr, bytes, how);
    for (int tries = 0; err == -EBUSY && tries < BUSY_TRIES; tries++) {
        nanosleep(&pause, NULL);
        err = lay_piece(s, addr, bytes, how);
    }
    return err;
}

/* Replaces the next piece. userfaultfd moves pages of one mapping only: the piece is halved until
 * it is in one. `*bytes`: bytes replaced. */
static int lay_next(struct shadow *s, uint64_t lo, uint64_t hi, const struct shadow_how *how,
                    uint64_t *bytes) {
    *bytes = piece_of(lo, hi, how);
    int err = lay_when_idle(s, lo, *bytes, how);
    while (err == -EINVAL && how->guard >= 0 && *bytes > PAGES_BYTES) {
        *bytes = (*bytes / PAGES_BYTES + 1) / 2 * PAGES_BYTES;
        err = lay_when_idle(s, lo, *bytes, how);
    }
    return err;
}

static int lay_gap(struct shadow *s, uint64_t lo, uint64_t hi, const struct shadow_how *how) {
    uint64_t first = lo, bytes;
    int err = 0;
    for (; !err && lo < hi; lo += bytes) {
        err = lay_next(s, lo, hi, how, &bytes);
        if (err) break;
    }
    if (err) shadow_lift(s, first, lo, how);
    return err;
}

/* Finds the next part of [lo, hi) that maps the right piece of the window. */
static bool find_laid(const struct shadow *s, uint64_t lo, uint64_t hi, struct pages_part *out) {
    for (; pages_find(lo, hi, state.conn.host_inode, out); lo = out->hi)
        if (out->offset + state.conn.windows.host_base == shadow_at(s, out->lo)) return true;
    return false;
}

int shadow_lay(struct shadow *s, uint64_t lo, uint64_t hi, const struct shadow_how *how) {
    struct pages_part laid;
    int err = conn_has_host(&state.conn) ? 0 : -EBADF;
    while (!err && lo < hi) {
        if (!find_laid(s, lo, hi, &laid)) laid.lo = laid.hi = hi;
        err = lay_gap(s, lo, laid.lo, how);
        lo = laid.hi;
    }
    return err;
}

/* ---- lifting: the program's own pages come back ---------------------------------------------- */

/* Puts a copy of the window's piece into memory of the program, over the pages. */
static int put_copy(const struct exchange *x) {
    memcpy(at(x->own), at(x->window), x->bytes);
    if (x->since) memcpy(x->since, at(x->own), x->bytes);
    mprotect(at(x->own), x->bytes, x->prot);
    return bring_back(x);
}

static int lift_aside(const void *arg) {
    const struct exchange x = *(const struct exchange *)arg;
    bool held = needs_holder(x.guard, x.prot);
    int err = held ? page_block_still(x.guard, x.addr, x.bytes) : 0;
    if (!err) err = put_copy(&x);
    if (held) page_block_end(x.guard, x.addr, x.bytes);
    return err;
}

static int replace(struct shadow *s, uint64_t addr, uint64_t bytes, const struct shadow_how *how) {
    struct exchange x = exchange_of(s, addr, bytes, how);
    x.own = unpark(s, addr);
    if (!x.own) {
        void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED) return -errno;
        x.own = (uint64_t)(uintptr_t)p;
    }
    int err = exchange(lift_aside, &x);
    if (err) munmap(at(x.own), bytes);
    return err;
}

/* Gives each page to this process alone by writing its own contents, whatever other threads write
 * meanwhile. */
static void own_pages(uint64_t addr, uint64_t bytes) {
    for (uint64_t page = addr; page < addr + bytes; page += PAGES_BYTES) {
        _Atomic uint32_t *word = at(page);
        uint32_t value = atom_load_relaxed(word);
        (void)atom_cas(word, &value, value);
    }
}

/* Maps the same file privately, so that the first write makes a page this process's own; the kernel
 * loses no write. Bytes in read-only pages are still read from the file. */
static int separate(struct shadow *s, uint64_t addr, uint64_t bytes, const struct shadow_how *how) {
    if (!conn_has_host(&state.conn)) return -EBADF;
    const struct exchange x = exchange_of(s, addr, bytes, how);
    int err = map_window(&x, MAP_PRIVATE);
    if (!err && how->prot & PROT_WRITE) own_pages(addr, bytes);
    s->worn |= !err;
    return err;
}

static int lift_piece(struct shadow *s, uint64_t addr, uint64_t bytes,
                      const struct shadow_how *how) {
    int err = how->guard != SHADOW_BESIDE ? replace(s, addr, bytes, how) : -EAGAIN;
    if (err) err = separate(s, addr, bytes, how);
    /* The piece reads as zeros afterwards, like memory that the program freed. A piece that will be
     * used again keeps pages that a device has pinned: otherwise the device would go on to access
     * the old pages, and the program new ones. */
    if (!err && !how->since && (s->worn ? how->prot & PROT_WRITE : !mem_host_is_pinned()))
        madvise(at(shadow_at(s, addr)), bytes, MADV_REMOVE);
    return err;
}

void shadow_lift(struct shadow *s, uint64_t lo, uint64_t hi, const struct shadow_how *how) {
    struct pages_part laid;
    uint64_t bytes;
    int err = 0;
    for (; !err && find_laid(s, lo, hi, &laid); lo = laid.lo + bytes) {
        bytes = piece_of(laid.lo, laid.hi, how);
        err = lift_piece(s, laid.lo, bytes, how);
    }
    s->worn |= err != 0;
}
