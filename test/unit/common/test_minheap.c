/* SPDX-License-Identifier: Apache-2.0
 *
 * The heap compared with a model that searches all numbers: both have the same first number after
 * every step, and the stored position of every number is right.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/minheap.h"

#define NUMBERS 64u
#define STEPS 200000u

struct world {
    struct minheap heap;
    uint32_t items[NUMBERS], place[NUMBERS], keys[NUMBERS];
    bool in[NUMBERS];
    uint32_t state;
};

static uint32_t draw(struct world *w, uint32_t below) {
    w->state = w->state * 1664525u + 1013904223u;
    return (w->state >> 8) % below;
}

/* Orders equal keys by number. */
static bool before(const void *keys, uint32_t a, uint32_t b) {
    const uint32_t *k = keys;
    return k[a] < k[b] || (k[a] == k[b] && a < b);
}

static uint32_t first_of(const struct world *w) {
    uint32_t first = MINHEAP_NONE;
    for (uint32_t n = 0; n < NUMBERS; n++)
        if (w->in[n] && (first == MINHEAP_NONE || before(w->keys, n, first))) first = n;
    return first;
}

static void expect_same(const struct world *w) {
    uint32_t count = 0;
    for (uint32_t n = 0; n < NUMBERS; n++) {
        count += w->in[n];
        if (!w->heap.place) continue;
        cr_assert_eq(w->heap.place[n] != MINHEAP_NONE, w->in[n]);
        if (w->in[n]) cr_assert_eq(w->heap.items[w->heap.place[n]], n);
    }
    cr_assert_eq(w->heap.count, count);
    if (count) cr_assert_eq(w->heap.items[0], first_of(w));
}

static void step(struct world *w) {
    uint32_t n = draw(w, NUMBERS), what = draw(w, 4);
    if (!w->in[n]) {
        w->keys[n] = draw(w, 40);
        w->in[n] = true;
        minheap_add(&w->heap, n, before, w->keys);
    } else if (what == 0 && w->heap.place) {
        w->in[n] = false;
        minheap_remove(&w->heap, w->heap.place[n], before, w->keys);
    } else if (what == 1 && w->heap.place) {
        w->keys[n] = draw(w, 40);
        minheap_settle(&w->heap, w->heap.place[n], before, w->keys);
    } else if (w->heap.count) {
        uint32_t first = first_of(w);
        cr_assert_eq(minheap_take(&w->heap, before, w->keys), first);
        w->in[first] = false;
    }
}

static void run(bool places) {
    struct world w = {.state = 1};
    memset(w.place, 0xff, sizeof(w.place));
    w.heap = (struct minheap){.items = w.items, .place = places ? w.place : NULL};
    for (uint32_t i = 0; i < STEPS; i++) {
        step(&w);
        expect_same(&w);
    }
}

Test(minheap, the_same_comes_first_as_in_a_model) {
    run(false);
}

Test(minheap, numbers_leave_from_the_middle_and_change_their_keys) {
    run(true);
}
