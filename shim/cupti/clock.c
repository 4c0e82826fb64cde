/* SPDX-License-Identifier: Apache-2.0
 *
 * The program's clock may count anything, such as cycles. Two moments give its speed: the mark, and
 * one no earlier than the time that is converted.
 */
#include "shim/cupti/clock.h"

#include <pthread.h>
#include <time.h>

#include "common/atomics.h"
#include "common/fdutil.h"
#include "shim/lock.h"

struct moment {
    uint64_t mono, theirs;
};

static _Atomic(cupti_clock) chosen;
static struct clock_line line;
static pthread_mutex_t clock_lock = PTHREAD_MUTEX_INITIALIZER; /* protects `line` */

static uint64_t realtime(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t clock_now(void) {
    cupti_clock theirs = atom_load_acquire(&chosen);
    return theirs ? theirs() : realtime();
}

/* Reads the program's clock between two readings of ours, and relates it to the middle. */
static struct moment look(void) {
    uint64_t before = fdutil_now_ns(), theirs = clock_now(), after = fdutil_now_ns();
    return (struct moment){before + (after - before) / 2, theirs};
}

void clock_mark(void) {
    struct moment now = look();
    lock_enter(&clock_lock);
    line = (struct clock_line){{now.mono, now.mono}, {now.theirs, now.theirs}};
    lock_leave(&clock_lock);
}

void clock_choose(cupti_clock clock) {
    atom_store_release(&chosen, clock);
    clock_mark();
}

/* Returns the line as it is or, if it ends before that time, extended to now. */
static struct clock_line line_to(uint64_t mono_ns) {
    lock_enter(&clock_lock);
    struct clock_line l = line;
    lock_leave(&clock_lock);
    if (mono_ns <= l.mono[1]) return l;
    struct moment now = look();
    l.mono[1] = now.mono;
    l.theirs[1] = now.theirs;
    lock_enter(&clock_lock);
    if (line.mono[0] == l.mono[0] && line.mono[1] < l.mono[1]) line = l;
    lock_leave(&clock_lock);
    return l;
}

uint64_t clock_on_line(const struct clock_line *l, uint64_t mono_ns) {
    double span = (double)(int64_t)(l->mono[1] - l->mono[0]);
    double theirs = (double)(int64_t)(l->theirs[1] - l->theirs[0]);
    double at = (double)(int64_t)(mono_ns - l->mono[0]);
    if (span <= 0) return l->theirs[1];
    return l->theirs[0] + (uint64_t)(int64_t)(at * (theirs / span));
}

uint64_t clock_convert(uint64_t mono_ns) {
    if (!atom_load_acquire(&chosen)) {
        lock_enter(&clock_lock);
        uint64_t ahead = line.theirs[0] - line.mono[0];
        lock_leave(&clock_lock);
        return mono_ns + ahead;
    }
    struct clock_line l = line_to(mono_ns);
    return clock_on_line(&l, mono_ns);
}
