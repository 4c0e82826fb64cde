/* SPDX-License-Identifier: Apache-2.0
 *
 * The search for a period in a job's launches. Part of the detector (iteration.h); pure, no
 * allocation.
 *
 * The last PERIOD_HISTORY launches are stored, each as 16 bits of its fingerprint and the least
 * live memory before it (between the previous launch and this one). A table gives the last
 * occurrence of the latest PERIOD_CONTEXT fingerprints in this order: the distance to it is a
 * candidate. A candidate lives as long as every launch equals the one at that distance before it,
 * and thus counts how long the repetition is. Four candidates suffice: a wrong one dies at its
 * first difference, and the right one is found again at each place of the sequence that occurs once
 * per period.
 *
 * A candidate is accepted after PERIOD_REPEATS exact repetitions, when memory agrees:
 *
 *   - An iteration ends where its temporaries are freed. So some launch of the period must come at
 *     the floor, the least live memory of the recent past (24 periods, 512 launches at least).
 *     Micro-batches that accumulate gradients, layers of a network and kernels of an optimizer
 *     repeat too, but above the floor. Or they all lie on the floor, which is no trough either. Or
 *     memory falls from one to the next, and each is the floor only until the next.
 *   - Where live memory did not change within the whole history, only the sequence decides. It must
 *     be longer (PERIOD_FLAT_RUN launches), and more than one repeated kernel.
 *
 * The beginning of the iterations is the first of these that applies: the caller's sure place, at
 * the floor; the beginning of the repetition (the first iteration of a loop), if known and at the
 * floor; the caller's guess; the last launch of the longest stretch at the floor, because the next
 * one already has temporaries before it. Where memory does not change, every place is at the floor.
 *
 * Owner: the iteration. Errors: none.
 */
#ifndef DAEMON_WORKER_ITERATION_PERIOD_H
#define DAEMON_WORKER_ITERATION_PERIOD_H

#include <stdbool.h>
#include <stdint.h>

#define PERIOD_HISTORY 8192u /* launches; a power of two. Longest period: PERIOD_CONTEXT less */
#define PERIOD_MASK (PERIOD_HISTORY - 1)
#define PERIOD_CONTEXT 8u
#define PERIOD_TABLE 4096u
#define PERIOD_SLOTS 4u
#define PERIOD_DISTRUSTED 4u
/* Repetitions beyond the first occurrence. Fewer than 9 inner repetitions (micro-batches whose
 * gradients are no temporaries) are never taken for iterations. */
#define PERIOD_REPEATS 8u
#define PERIOD_MIN_RUN 32u /* for short periods: excludes chance matches among random kernels */
#define PERIOD_FLAT_RUN 256u

#define PERIOD_LOW_UNIT_BITS 8      /* bytes are counted in units of 256 */
#define PERIOD_LOW_MANTISSA_BITS 11 /* mantissa of a 16-bit floating-point number */

struct period_slot {
    uint32_t period; /* launches */
    uint64_t run;    /* launches up to the latest that equalled the one a period earlier */
    uint64_t begin;  /* number of the first launch of the repeating stretch */
    uint64_t next_try;
    bool whole; /* the launch before `begin` does not belong to the stretch; otherwise that is
                   unknown */
};

struct period {
    uint64_t count;      /* launches so far; the latest has number count - 1 */
    uint64_t changed;    /* the latest launch whose live memory differs from the previous one's */
    uint64_t context[2]; /* the latest eight fingerprints */
    uint32_t budget;     /* steps back that new candidates may look */
    uint32_t live;       /* bit i: slots[i] is a candidate */
    struct period_slot slots[PERIOD_SLOTS];
    struct {
        uint32_t period, repeats;
    } distrusted[PERIOD_DISTRUSTED]; /* accepted once, and given up */
    uint32_t next_distrusted;
    uint16_t fingerprint[PERIOD_HISTORY], low[PERIOD_HISTORY]; /* by number modulo PERIOD_HISTORY */
    uint16_t table[PERIOD_TABLE]; /* 16 bits of the launch's number, by context */
};

/* The search's result: the period, and the place where iterations begin. */
struct period_found {
    uint32_t period;
    uint64_t begin; /* number of the launch that began the latest iteration */
    bool flat;
    uint16_t floor; /* the highest period_low() of a trough */
    uint16_t deep;  /* no launch had less live memory */
};

/* Fingerprint and bytes in their stored form. Equal values stay equal, and bytes keep their order.
 * 16 bits tell others apart mostly (bytes: to one part in 2048). */
static inline uint16_t period_fingerprint(uint64_t fingerprint) {
    return (uint16_t)((fingerprint ^ fingerprint >> 32) * 0xff51afd7ed558ccdull >> 48);
}

/* Rounds up, so that no memory at all is less than any. */
static inline uint16_t period_low(uint64_t bytes) {
    const uint64_t one = 1u << PERIOD_LOW_MANTISSA_BITS;
    uint64_t units =
        (bytes >> PERIOD_LOW_UNIT_BITS) + ((bytes & ((1u << PERIOD_LOW_UNIT_BITS) - 1)) != 0);
    uint64_t shift = 0, code;
    if (units >= one) shift = 63 - (uint64_t)__builtin_clzll(units) - PERIOD_LOW_MANTISSA_BITS;
    code = shift * one + (units >> shift);
    return code > UINT16_MAX ? UINT16_MAX : (uint16_t)code;
}

/* Records a launch. */
static inline void period_push(struct period *p, uint16_t fingerprint, uint16_t low) {
    if (p->count && p->low[(p->count - 1) & PERIOD_MASK] != low) p->changed = p->count;
    p->fingerprint[p->count & PERIOD_MASK] = fingerprint;
    p->low[p->count & PERIOD_MASK] = low;
    p->context[1] = p->context[1] << 16 | p->context[0] >> 48;
    p->context[0] = p->context[0] << 16 | fingerprint;
    p->count++;
}
/* Examines the latest launch. True: a period is accepted. Called after each push until then; call
 * period_restart before the first call after a pause. `hint`: number of a launch that probably
 * began an iteration, or UINT64_MAX. `sure`: the hint is preferred to the beginning of the
 * repetition. */
bool period_search(struct period *p, uint64_t hint, bool sure, struct period_found *out);
void period_restart(struct period *p);
/* Rejects the latest result for now; it may be found again later. */
void period_refuse(struct period *p, uint32_t period);
/* The accepted period was wrong, or no longer holds: next time it needs twice as many repetitions.
 */
void period_distrust(struct period *p, uint32_t period);

/* True when `low` lies at the floor of the history. */
bool period_at_floor(const struct period *p, uint16_t low);

#endif
