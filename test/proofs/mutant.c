/* SPDX-License-Identifier: Apache-2.0
 *
 * The ring with one fault, which -DMUTANT=<number> selects, to be linked in place of
 * proto/wire/ring.c. The proofs of this folder must fail with it: one that passes with a mutant
 * proves nothing. The first three weaken one memory order, selected by the access's name in ring.c;
 * if that is renamed there, the mutant becomes a correct ring and check-ring fails.
 */
#define MUTANT_WORD_STORE 1 /* a record is published without release */
#define MUTANT_WORD_LOAD 2  /* a record is read without acquire */
#define MUTANT_CREDIT 3     /* slots are returned without release */
#define MUTANT_EARLY 4      /* a record is published before its body is written */
#define MUTANT_GENEROUS 5   /* slots are returned before they are read */
#define MUTANT_MUTE 6       /* the doorbell never wakes the worker */
#define MUTANT_LOUD 7       /* the doorbell always wakes the worker, asleep or not */

/* Macros rename the original of a function that a mutant replaces. */
#if MUTANT == MUTANT_EARLY
#define ring_push honest_push
#elif MUTANT == MUTANT_GENEROUS
#define ring_pop honest_pop
#elif MUTANT == MUTANT_MUTE || MUTANT == MUTANT_LOUD
#define doorbell_ring honest_ring
#endif

#include <stdbool.h>
#include <string.h>

#include "common/atomics.h"
#include "proto/wire/ring.h"

#define is_credit(expression) (strstr(#expression, "credit") != NULL)

#if MUTANT == MUTANT_WORD_STORE || MUTANT == MUTANT_CREDIT
static inline void store(_Atomic uint64_t *p, uint64_t value, bool credit) {
    if (credit == (MUTANT == MUTANT_CREDIT))
        atom_store_relaxed(p, value);
    else
        atom_store_release(p, value);
}
#undef atom_store_release
#define atom_store_release(p, v) store((p), (v), is_credit(p))
#endif

#if MUTANT == MUTANT_WORD_LOAD
static inline uint64_t load(const _Atomic uint64_t *p, bool credit) {
    return credit ? atom_load_acquire(p) : atom_load_relaxed(p);
}
#undef atom_load_acquire
#define atom_load_acquire(p) load((p), is_credit(p))
#endif

#include "proto/wire/ring.c"

#if MUTANT == MUTANT_EARLY
#undef ring_push
int ring_push(struct ring_tx *tx, const void *head, uint32_t head_bytes, const void *tail,
              uint32_t tail_bytes);
int ring_push(struct ring_tx *tx, const void *head, uint32_t head_bytes, const void *tail,
              uint32_t tail_bytes) {
    uint32_t bytes = head_bytes + tail_bytes, slots = slots_for(bytes);
    if (!has_room(tx, slots)) return -EAGAIN;
    for (uint32_t i = slots; i-- > 0;)
        atom_store_release(&slot_at(tx->mem, tx->next + i)->word,
                           word_of(tx->next + i, i ? 0 : bytes));
    return honest_push(tx, head, head_bytes, tail, tail_bytes);
}
#endif

#if MUTANT == MUTANT_GENEROUS
#undef ring_pop
int ring_pop(struct ring_rx *rx, void *buf, uint32_t cap);
int ring_pop(struct ring_rx *rx, void *buf, uint32_t cap) {
    if (!ring_ready(rx)) return 0;
    rx->published = rx->next + QUARTER;
    atom_store_release(rx->credit, rx->published);
    return honest_pop(rx, buf, cap);
}
#endif

#if MUTANT == MUTANT_MUTE || MUTANT == MUTANT_LOUD
#undef doorbell_ring
bool doorbell_ring(_Atomic uint32_t *sleeping, const struct doorbell_ops *ops, void *arg);
bool doorbell_ring(_Atomic uint32_t *sleeping, const struct doorbell_ops *ops, void *arg) {
    if (MUTANT == MUTANT_LOUD) ops->wake(arg);
    atom_store_relaxed(sleeping, 0);
    return MUTANT == MUTANT_LOUD;
}
#endif
