/* SPDX-License-Identifier: Apache-2.0
 *
 * The program's clock may count anything, such as cycles: its speed is found by two moments.
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
static struct moment first;
static pthread_mutex_t clock_lock = PTHREAD_MUTEX_INITIALIZER; /* of `first` */

static uint64_t realtime(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t clock_now(void) {
    cupti_clock theirs = atom_load_acquire(&chosen);
    return theirs ? theirs() : realtime();
}

/* Their clock is read between two looks at ours, and belongs to the middle. */
static struct moment look(void) {
    uint64_t before = fdutil_now_ns(), theirs = clock_now(), after = fdutil_now_ns();
    return (struct moment){before + (after - before) / 2, theirs};
}

void clock_mark(void) {
    struct moment now = look();
    lock_enter(&clock_lock);
    first = now;
    lock_leave(&clock_lock);
}

void clock_choose(cupti_clock clock) {
    atom_store_release(&chosen, clock);
    clock_mark();
}

struct clock_line clock_line(void) {
    struct moment now = look();
    lock_enter(&clock_lock);
    struct moment then = first;
    lock_leave(&clock_lock);
    return (struct clock_line){{then.mono, now.mono}, {then.theirs, now.theirs}};
}

uint64_t clock_convert(const struct clock_line *line, uint64_t mono_ns) {
    double span = (double)(int64_t)(line->mono[1] - line->mono[0]);
    double theirs = (double)(int64_t)(line->theirs[1] - line->theirs[0]);
    double at = (double)(int64_t)(mono_ns - line->mono[0]);
    if (span <= 0) return line->theirs[1];
    return line->theirs[0] + (uint64_t)(int64_t)(at * (theirs / span));
}
