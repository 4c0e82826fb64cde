/* SPDX-License-Identifier: Apache-2.0
 *
 * P and E of a client.
 */
#include "daemon/worker/residency/credit.h"

#include "common/atomics.h"
#include "daemon/worker/memory/memory.h"
#include "daemon/worker/memory/memory_segment.h"

static uint64_t most_of(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static uint64_t round_up(const struct credit *k, uint64_t bytes) {
    return (bytes + k->granule - 1) / k->granule * k->granule;
}

uint64_t credit_p(const struct credit *k, const struct memory *m) {
    return memory_persistent(m) + k->modules;
}

uint64_t credit_e(const struct memory *m) {
    return memory_ephemeral(m);
}

void credit_grant(struct credit *k, uint64_t p, uint64_t e) {
    k->reserved_p = round_up(k, p);
    k->reserved_e = round_up(k, e);
    k->granted = true;
}

void credit_admit(struct credit *k) {
    credit_grant(k, k->reserved_p, k->reserved_e);
}

bool credit_lacks(const struct credit *k, uint64_t *p, uint64_t *e) {
    uint64_t granted_p = credit_granted_p(k), granted_e = credit_granted_e(k);
    *p = most_of(round_up(k, *p), granted_p);
    *e = most_of(*e, granted_e);
    return *p != granted_p || *e != granted_e;
}

void credit_used(struct credit *k, const struct memory *m, struct wire_completion *page) {
    struct wire_stats *s = &page->stats;
    uint64_t p = credit_p(k, m), e = credit_e(m);
    k->peak_p = most_of(k->peak_p, p);
    k->peak_e = most_of(k->peak_e, e);
    if (p > atom_load_relaxed(&s->persistent_peak_bytes))
        atom_store_relaxed(&s->persistent_peak_bytes, p);
    if (e > atom_load_relaxed(&s->ephemeral_peak_bytes))
        atom_store_relaxed(&s->ephemeral_peak_bytes, e);
    atom_store_relaxed(&s->memory_bytes, memory_persistent(m) + memory_ephemeral(m));
    credit_show(k, m, page);
}

static void show_obtainable(const struct credit *k, const struct memory *m,
                            struct wire_obtainable *o) {
    uint64_t p = credit_p(k, m), e = credit_e(m);
    uint64_t free_p = k->most_p > p ? k->most_p - p : 0;
    uint64_t free_e = k->most_e > e ? k->most_e - e : 0;
    if (!k->most_p && !k->most_e) return;
    atom_store_relaxed(&o->persistent, (memory_backed_p(m) + memory_held(m) + free_p) / k->granule);
    atom_store_relaxed(&o->ephemeral, (memory_backed_e(m) + free_e) / k->granule);
    atom_store_relaxed(&o->free_bytes, most_of(free_p, free_e));
}

/* Publishes for each window the granules that are backed, or granted and free. */
void credit_show(const struct credit *k, const struct memory *m, struct wire_completion *page) {
    uint64_t p = credit_p(k, m), e = credit_e(m);
    uint64_t granted_p = credit_granted_p(k), granted_e = credit_granted_e(k);
    uint64_t room_p = granted_p > p ? granted_p - p : 0;
    uint64_t room_e = granted_e > e ? granted_e - e : 0;
    atom_store_relaxed(&page->persistent_credit, (memory_backed_p(m) + room_p) / k->granule);
    atom_store_relaxed(&page->ephemeral_credit, (memory_backed_e(m) + room_e) / k->granule);
    show_obtainable(k, m, &page->obtainable);
}

void credit_iteration(struct credit *k, const struct memory *m) {
    k->last_p = k->peak_p;
    k->last_e = k->peak_e;
    k->peak_p = credit_p(k, m);
    k->peak_e = credit_e(m);
}

void credit_measure(struct credit *k) {
    credit_grant(k, most_of(k->last_p, k->peak_p), most_of(k->last_e, k->peak_e));
    k->known = true;
}
