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

#include "common/atomics.h"
#include "shim/connection/state.h"
#include "shim/memory/mem.h"
#include "shim/memory/pages.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define PIECE_BYTES (16ull << 20)
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
static int lay_piece(const struct shadow *s, uint64_t addr, uint64_t bytes, int prot) {
    sigset_t before;
    hold_signals(&before);
    memcpy(at(shadow_at(s, addr)), at(addr), bytes);
    int err = map_window(s, addr, bytes, prot, MAP_SHARED);
    if (err) restore(s, addr, bytes, prot);
    let_signals(&before);
    /* hostmem.c gives a forked child pages of its own. */
    if (!err) madvise(at(addr), bytes, MADV_DONTFORK);
    return err;
}

static uint64_t piece_of(uint64_t lo, uint64_t hi) {
    return hi - lo < PIECE_BYTES ? hi - lo : PIECE_BYTES;
}

static int lay_gap(struct shadow *s, uint64_t lo, uint64_t hi, int prot) {
    uint64_t first = lo, bytes;
    int err = 0;
    for (; !err && lo < hi; lo += bytes) {
        bytes = piece_of(lo, hi);
        err = lay_piece(s, lo, bytes, prot);
        if (err) break;
    }
    if (err) shadow_lift(s, first, lo, prot, true);
    return err;
}

/* The next part of [lo, hi) that shows this piece where it should. */
static bool find_laid(const struct shadow *s, uint64_t lo, uint64_t hi, struct pages_part *out) {
    for (; pages_find(lo, hi, state.conn.host_inode, out); lo = out->hi)
        if (out->offset + state.conn.windows.host_base == shadow_at(s, out->lo)) return true;
    return false;
}

int shadow_lay(struct shadow *s, uint64_t lo, uint64_t hi, int prot) {
    struct pages_part laid;
    int err = conn_has_host(&state.conn) ? 0 : -EBADF;
    while (!err && lo < hi) {
        if (!find_laid(s, lo, hi, &laid)) laid.lo = laid.hi = hi;
        err = lay_gap(s, lo, laid.lo, prot);
        lo = laid.hi;
    }
    return err;
}

/* ---- lifting --------------------------------------------------------------------------------- */

static int replace(const struct shadow *s, uint64_t addr, uint64_t bytes, int prot) {
    sigset_t before;
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return -errno;
    hold_signals(&before);
    memcpy(p, at(shadow_at(s, addr)), bytes);
    mprotect(p, bytes, prot);
    void *moved = mremap(p, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at(addr));
    int err = moved == MAP_FAILED ? -errno : 0;
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

static int lift_piece(struct shadow *s, uint64_t addr, uint64_t bytes, int prot, bool alone) {
    int err = alone ? replace(s, addr, bytes, prot) : -EAGAIN;
    if (err) err = separate(s, addr, bytes, prot);
    /* Read again it is zeros, as memory of a program that gave it back. */
    if (!err && (!s->worn || prot & PROT_WRITE))
        madvise(at(shadow_at(s, addr)), bytes, MADV_REMOVE);
    return err;
}

void shadow_lift(struct shadow *s, uint64_t lo, uint64_t hi, int prot, bool alone) {
    struct pages_part laid;
    uint64_t bytes;
    int err = 0;
    for (; !err && find_laid(s, lo, hi, &laid); lo = laid.lo + bytes) {
        bytes = piece_of(laid.lo, laid.hi);
        err = lift_piece(s, laid.lo, bytes, prot, alone);
    }
    s->worn |= err != 0;
}
