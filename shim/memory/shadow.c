/* SPDX-License-Identifier: Apache-2.0
 *
 * Pages are moved in pieces, so that no more than one is there twice. A mapping that is replaced is
 * replaced by one system call: whoever reads it sees one or the other.
 */
#include "shim/memory/shadow.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "common/atomics.h"
#include "shim/connection/state.h"
#include "shim/memory/hold.h"
#include "shim/memory/mem.h"
#include "shim/memory/pages.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
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

void shadow_give(struct shadow *s) {
    struct shadow **at = &shadows;
    if (--s->users > 0) return;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    if (!s->worn) mem_give_kept(s->block);
    free(s);
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

static int map_window(const struct shadow *s, uint64_t addr, uint64_t bytes, int prot, int kind) {
    uint64_t offset = shadow_at(s, addr) - state.conn.windows.host_base;
    void *p = mmap(at(addr), bytes, prot, kind | MAP_FIXED, state.conn.host, (off_t)offset);
    return p == MAP_FAILED ? -errno : 0;
}

/* Kernels before 6.12 may have taken the old pages away when they fail. */
static void restore(const struct shadow *s, uint64_t addr, uint64_t bytes, int prot) {
    void *p = mmap(at(addr), bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (p != at(addr)) return; /* they are there */
    memcpy(p, at(shadow_at(s, addr)), bytes);
    mprotect(p, bytes, prot);
}

/* Between the copy and the mapping nothing may be written: not a variable of this library either,
 * which could lie in these pages. */
static int lay_alone(const struct shadow *s, uint64_t addr, uint64_t bytes, int prot) {
    memcpy(at(shadow_at(s, addr)), at(addr), bytes);
    int err = map_window(s, addr, bytes, prot, MAP_SHARED);
    if (err) restore(s, addr, bytes, prot);
    return err;
}

/* The pages of the heap, where the shadow is noted, may be among those that are held. */
static int lay_held(const struct shadow *s, uint64_t addr, uint64_t bytes, int prot, int holder) {
    const struct shadow copy = *s;
    uint64_t moved;
    int err = hold_away(holder, addr, bytes, &moved);
    if (err) return err;
    memcpy(at(shadow_at(&copy, addr)), at(moved), bytes);
    err = map_window(&copy, addr, bytes, prot, MAP_SHARED);
    if (err) {
        hold_undo(holder, addr, bytes, moved);
        return err;
    }
    hold_end(holder, addr, bytes);
    munmap(at(moved), bytes);
    return 0;
}

/* Nobody writes to what is read-only. */
static bool needs_holder(int guard, int prot) {
    return guard >= 0 && prot & PROT_WRITE;
}

static int lay_piece(const struct shadow *s, uint64_t addr, uint64_t bytes, int prot, int guard) {
    sigset_t before;
    hold_signals(&before);
    int err = needs_holder(guard, prot) ? lay_held(s, addr, bytes, prot, guard)
                                        : lay_alone(s, addr, bytes, prot);
    let_signals(&before);
    /* hostmem.c gives a forked child pages of its own. */
    if (!err) madvise(at(addr), bytes, MADV_DONTFORK);
    return err;
}

static uint64_t piece_of(uint64_t lo, uint64_t hi) {
    return hi - lo < PIECE_BYTES ? hi - lo : PIECE_BYTES;
}

/* Direct input of a file ends soon; it is waited for with nothing held. */
static int lay_when_idle(const struct shadow *s, uint64_t addr, uint64_t bytes, int prot,
                         int guard) {
    const struct timespec pause = {.tv_nsec = 1000000};
    int err = lay_piece(s, addr, bytes, prot, guard);
    for (int tries = 0; err == -EBUSY && tries < BUSY_TRIES; tries++) {
        nanosleep(&pause, NULL);
        err = lay_piece(s, addr, bytes, prot, guard);
    }
    return err;
}

/* A holder moves no more than is of one mapping: pieces are halved until they are. `*bytes`: of
 * what was laid. */
static int lay_next(const struct shadow *s, uint64_t lo, uint64_t hi, int prot, int guard,
                    uint64_t *bytes) {
    *bytes = piece_of(lo, hi);
    int err = lay_when_idle(s, lo, *bytes, prot, guard);
    while (err == -EINVAL && guard >= 0 && *bytes > PAGES_BYTES) {
        *bytes = (*bytes / PAGES_BYTES + 1) / 2 * PAGES_BYTES;
        err = lay_when_idle(s, lo, *bytes, prot, guard);
    }
    return err;
}

static int lay_gap(struct shadow *s, uint64_t lo, uint64_t hi, int prot, int guard) {
    uint64_t first = lo, bytes;
    int err = 0;
    for (; !err && lo < hi; lo += bytes) {
        err = lay_next(s, lo, hi, prot, guard, &bytes);
        if (err) break;
    }
    if (err) shadow_lift(s, first, lo, prot, guard);
    return err;
}

/* The next part of [lo, hi) that shows this piece where it should. */
static bool find_laid(const struct shadow *s, uint64_t lo, uint64_t hi, struct pages_part *out) {
    for (; pages_find(lo, hi, state.conn.host_inode, out); lo = out->hi)
        if (out->offset + state.conn.windows.host_base == shadow_at(s, out->lo)) return true;
    return false;
}

int shadow_lay(struct shadow *s, uint64_t lo, uint64_t hi, int prot, int guard) {
    struct pages_part laid;
    int err = conn_has_host(&state.conn) ? 0 : -EBADF;
    while (!err && lo < hi) {
        if (!find_laid(s, lo, hi, &laid)) laid.lo = laid.hi = hi;
        err = lay_gap(s, lo, laid.lo, prot, guard);
        lo = laid.hi;
    }
    return err;
}

/* ---- lifting --------------------------------------------------------------------------------- */

/* Memory of the program's own with what the piece has, put over the pages. */
static int put_copy(uint64_t addr, uint64_t bytes, int prot, uint64_t from, void *p) {
    memcpy(p, at(from), bytes);
    mprotect(p, bytes, prot);
    void *moved = mremap(p, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at(addr));
    return moved == MAP_FAILED ? -errno : 0;
}

static int replace(const struct shadow *s, uint64_t addr, uint64_t bytes, int prot, int guard) {
    sigset_t before;
    uint64_t from = shadow_at(s, addr);
    int holder = needs_holder(guard, prot) ? guard : SHADOW_ALONE, err = 0;
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return -errno;
    hold_signals(&before);
    if (holder >= 0) err = hold_still(holder, addr, bytes);
    if (!err) err = put_copy(addr, bytes, prot, from, p);
    if (holder >= 0) hold_end(holder, addr, bytes);
    let_signals(&before);
    if (err) munmap(p, bytes);
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
static int separate(struct shadow *s, uint64_t addr, uint64_t bytes, int prot) {
    if (!conn_has_host(&state.conn)) return -EBADF;
    int err = map_window(s, addr, bytes, prot, MAP_PRIVATE);
    if (!err && prot & PROT_WRITE) own_pages(addr, bytes);
    s->worn |= !err;
    return err;
}

static int lift_piece(struct shadow *s, uint64_t addr, uint64_t bytes, int prot, int guard) {
    int err = guard != SHADOW_BESIDE ? replace(s, addr, bytes, prot, guard) : -EAGAIN;
    if (err) err = separate(s, addr, bytes, prot);
    /* Read again it is zeros, as memory of a program that gave it back. */
    if (!err && (!s->worn || prot & PROT_WRITE))
        madvise(at(shadow_at(s, addr)), bytes, MADV_REMOVE);
    return err;
}

void shadow_lift(struct shadow *s, uint64_t lo, uint64_t hi, int prot, int guard) {
    struct pages_part laid;
    uint64_t bytes;
    int err = 0;
    for (; !err && find_laid(s, lo, hi, &laid); lo = laid.lo + bytes) {
        bytes = piece_of(laid.lo, laid.hi);
        err = lift_piece(s, laid.lo, bytes, prot, guard);
    }
    s->worn |= err != 0;
}
