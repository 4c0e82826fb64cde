/* SPDX-License-Identifier: Apache-2.0
 *
 * Pages are moved in pieces, so that no more than one is there twice. A mapping that is replaced is
 * replaced by one system call: whoever reads it sees one or the other.
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
#include "shim/host_memory/aside.h"
#include "shim/host_memory/hold.h"
#include "shim/host_memory/pages.h"
#include "shim/memory/mem.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

#define PIECE_BYTES (16ull << 20)
#define BUSY_TRIES 50 /* a millisecond apart */
/* About what is asked for, for what is registered next may share its last page. Addresses only. */
#define MARGIN_BYTES (256ull << 10)

static struct shadow *shadows;

static void *at(uint64_t addr) {
    return (void *)(uintptr_t)addr;
}

/* ---- pieces of the window -------------------------------------------------------------------- */

/* As far as no other reaches. */
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
        *why = "it shares a page with what was registered before";
        return NULL;
    }
    if (!s) s = make(lo, hi);
    *why = "there is no room in the window of pinned memory";
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

/* ---- pages that are kept ---------------------------------------------------------------------
 *
 * A page of the main thread's stack comes back as the mapping that it was: what is mapped there
 * anew parts the stack for good, and who asks how large it is would be told of the upper part. */

struct parked {
    uint64_t addr, at; /* whose it was, and where it is */
    struct parked *next;
};

static struct parked **find_parked(struct shadow *s, uint64_t addr) {
    struct parked **p = &s->parked;
    while (*p && (*p)->addr != addr)
        p = &(*p)->next;
    return p;
}

/* A place for it; 0: no memory. */
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

/* Where it is, which is the caller's now; 0: nowhere. */
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

/* ---- laying ---------------------------------------------------------------------------------- */

static void hold_signals(sigset_t *before) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, before);
}

static void let_signals(const sigset_t *before) {
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* What is done on a stack of its own, all that is known there: the caller's, or the heap with the
 * shadow, may be among the pages that are held. */
struct exchange {
    uint64_t addr, bytes; /* pages of the program */
    uint64_t window;      /* where they are in the window */
    uint64_t own;         /* where its own wait; 0: they are not kept */
    char *since;          /* as in shadow_how, for these pages */
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

/* Not memcpy: a sanitizer of the program's would find that pages of its stack are not all in use.
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

/* The mapping is still there afterwards, without its pages. */
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

/* Kernels before 6.12 may have taken the old pages away when they fail. */
static void restore(const struct exchange *x) {
    if (x->own) {
        (void)bring_back(x);
        return;
    }
    void *p = mmap(at(x->addr), x->bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (p != at(x->addr)) return; /* they are there */
    copy_bytes(x->addr, x->window, x->bytes);
    mprotect(p, x->bytes, x->prot);
}

/* Between the copy and the mapping nothing may be written: not a variable of this library either,
 * which could lie in these pages. */
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
    int err = hold_away(x->guard, x->addr, x->bytes, &moved);
    if (err) return err;
    copy_in(x, moved);
    err = put_away(x);
    if (!err) err = map_window(x, MAP_SHARED);
    if (err) {
        hold_undo(x->guard, x->addr, x->bytes, moved);
        return err;
    }
    hold_end(x->guard, x->addr, x->bytes);
    munmap(at(moved), x->bytes);
    return 0;
}

/* Nobody writes to what is read-only. */
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
    int err = aside_call(aside, x);
    let_signals(&before);
    return err;
}

/* One that is kept already was lifted beside others. */
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

/* Direct input of a file ends soon; it is waited for with nothing held. */
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

/* A holder moves no more than is of one mapping: pieces are halved until they are. `*bytes`: of
 * what was laid. */
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

/* The next part of [lo, hi) that shows this piece where it should. */
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

/* ---- lifting --------------------------------------------------------------------------------- */

/* Memory of the program's own with what the piece has, put over the pages. */
static int put_copy(const struct exchange *x) {
    memcpy(at(x->own), at(x->window), x->bytes);
    if (x->since) memcpy(x->since, at(x->own), x->bytes);
    mprotect(at(x->own), x->bytes, x->prot);
    return bring_back(x);
}

static int lift_aside(const void *arg) {
    const struct exchange x = *(const struct exchange *)arg;
    bool held = needs_holder(x.guard, x.prot);
    int err = held ? hold_still(x.guard, x.addr, x.bytes) : 0;
    if (!err) err = put_copy(&x);
    if (held) hold_end(x.guard, x.addr, x.bytes);
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

/* A write of what is there gives the page to this process alone, whatever others write meanwhile.
 */
static void own_pages(uint64_t addr, uint64_t bytes) {
    for (uint64_t page = addr; page < addr + bytes; page += PAGES_BYTES) {
        _Atomic uint32_t *word = at(page);
        uint32_t value = atom_load_relaxed(word);
        (void)atom_cas(word, &value, value);
    }
}

/* Of the same file, so that a page is this process's own from its first write on, and the kernel
 * sees to it that none is lost. Bytes that nobody may write are still read from the file. */
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
    /* Read again it is zeros, as memory of a program that gave it back. A place that is used again
     * keeps pages that a device has pinned: it would go on to see those, and the program others. */
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
