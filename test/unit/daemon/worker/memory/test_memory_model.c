/* SPDX-License-Identifier: Apache-2.0
 *
 * Random calls of memory.h by three clients and two lanes, compared with a model that has no
 * addresses and no device. In the model a private page is a cell, and a lane and a segment are rows
 * of cells; a page of a lane or segment refers to a cell by number. A segment of the lane is a list
 * of cells of the lane, which any number of pages may refer to.
 *
 * After every call each page must show its cell, the device must hold as many chunks as the model,
 * and memory_check must succeed. On the fake device calls also fail at random. On the software GPU
 * the process ends now and then, and another one adopts what it left.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "daemon/device/device_recovery.h"
#include "daemon/device/device_spares.h"
#include "daemon/worker/memory/memory.h"
#include "daemon/worker/memory/memory_check.h"
#include "daemon/worker/memory/memory_clear.h"
#include "daemon/worker/memory/memory_join.h"
#include "daemon/worker/memory/memory_lane.h"
#include "daemon/worker/memory/memory_recovery.h"
#include "daemon/worker/memory/memory_segment.h"
#include "daemon/worker/memory/memory_state.h"
#include "daemon/worker/memory/memory_swap.h"
#include "daemon/worker/segments/segment.h"
#include "test/lib/worker/fakedev.h"

#define MIB (1ull << 20)
#define GRAN (2 * MIB)
#define BASE 0x210000000000ull
#define STRIDE 0x10000000000ull
#define HALF 6
#define PAGES (2 * HALF)
#define CLIENTS 3
#define LANES 2
#define STEPS 1600
#define NUMBERS 3
#define SEGMENTS 64 /* most segments at a time; there are fewer pages and numbers */
#define SEGMENT_MOST 3
#define SLOTS (HALF + NUMBERS * SEGMENT_MOST)
#define OF_LANE SEGMENTS

enum where { NOWHERE, PRIVATE, LANE, SHOWN, PLACED };
enum bytes { IN_LANE, SPILLED, SPILLED_HOST };

struct model_page {
    enum where where;
    uint32_t slot;
    uint64_t cell; /* contents of a private page */
    bool away;     /* contents are in host memory; or the page maps a segment, but not now */
    int segment;   /* segment whose cell `slot` is mapped, by number or, if PLACED, without one */
    int number;    /* number by which the segment is mapped; -1: none */
};

struct model_slot {
    enum bytes bytes;
    uint64_t saved; /* contents saved elsewhere */
};

struct model_client {
    struct model_page pages[PAGES];
    struct model_slot slots[SLOTS];
    int lane;             /* -1: none */
    int numbers[NUMBERS]; /* segments; -1: none; OF_LANE: a segment of the lane with these slots: */
    bool ending[NUMBERS]; /* parts of the segment may be gone already; it is closed next */
    uint32_t lane_slots[NUMBERS][SEGMENT_MOST], lane_count[NUMBERS];
    bool swapped;
};

struct model_segment {
    uint64_t cells[SEGMENT_MOST];
    uint32_t count; /* 0: no client holds it */
    struct segment *real;
};

struct model_lane {
    uint64_t cells[SLOTS];
    uint32_t count;
    /* client whose bytes are in the lane: the last that entered or was restored; -1: none */
    int last;
};

struct model {
    struct model_client clients[CLIENTS];
    struct model_lane lanes[LANES];
    struct model_segment segments[SEGMENTS];
};

static const struct dev_ops *base; /* device operations that the watching ones call */
static struct dev_ops watching;
static struct dev_spares_ops watched_spares;
static const struct dev_ops *ops = &watching;
static struct dev *dev;
static struct dev_space *spaces[CLIENTS];
static struct memory *mem[CLIENTS];
static struct memory_lane *lanes[LANES];
static struct memory_recovery *recovery_states[CLIENTS];
static uint32_t restored, lost;
static bool leaving; /* the recovery states are those of a process that has ended */
static struct model model;
static uint64_t tokens, state;
static uint64_t memory_chunks;

static uint32_t dice(uint32_t below) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(state >> 33) % below;
}

static uint64_t page_at(int client, uint32_t page) {
    return BASE + (uint64_t)client * STRIDE + page * GRAN;
}

static volatile uint64_t *word_at(uint64_t addr) {
    return (volatile uint64_t *)(uintptr_t)addr;
}

/* ---- watching the recovery states ------------------------------------------------------------ */

static const struct memory_recovery
    *unbacking; /* recovery state whose pages are being unbacked; NULL: none */

/* True if a client's recovery state says that its bytes are in this chunk. This must be correct
 * at any time, because the process may end. */
static bool is_named(uint64_t chunk) {
    for (int i = 0; i < CLIENTS; i++) {
        const struct memory_recovery *e = recovery_states[i];
        uint64_t first = e->changing >> 32, count = (uint32_t)e->changing;
        for (uint64_t k = 0; k < PAGES && !e->loss && !leaving; k++) {
            uint64_t word = e->pages[k], kind = word & 7;
            bool counts = kind == 1 || kind == 3 || kind >= 6 || (kind == 2 && e->in_lane);
            if (!(word & 16) && counts && word >> 8 == chunk && (k < first || k - first >= count))
                return true;
        }
    }
    return false;
}

static void watch_destroy(struct dev *d, struct dev_chunk *c) {
    cr_assert(!unbacking || unbacking->changing, "pages go one by one");
    cr_assert(!c || !is_named(ops->recovery->chunk_id(d, c)),
              "a chunk is given back and still named");
    base->chunk_destroy(d, c);
}

static int watch_copy(struct dev *d, struct dev_chunk *to, const struct dev_chunk *from) {
    cr_assert_not(is_named(ops->recovery->chunk_id(d, to)), "a chunk is named before it is filled");
    return base->chunk_copy(d, to, from);
}

static int watch_load(struct dev *d, struct dev_chunk *to, const void *host) {
    cr_assert_not(is_named(ops->recovery->chunk_id(d, to)), "a chunk is named before it is loaded");
    return base->chunk_load(d, to, host);
}

static int watch_save(struct dev *d, void *host, const struct dev_chunk *from) {
    if (base->spares)
        cr_assert_not(is_named(base->spares->spare_id(d, host)),
                      "a spare is named before it is filled");
    return base->chunk_save(d, host, from);
}

static void watch_spare_free(struct dev *d, void *host) {
    cr_assert(!host || !is_named(base->spares->spare_id(d, host)),
              "a spare is given back and still named");
    base->spares->spare_free(d, host);
}

static void watch(const struct dev_ops *on) {
    base = on;
    watching = *on;
    watching.chunk_destroy = watch_destroy;
    watching.chunk_copy = watch_copy;
    watching.chunk_load = watch_load;
    watching.chunk_save = watch_save;
    if (on == &fakedev) watching.recovery = &fakedev_recovery;
    if (on->spares) {
        watched_spares = *on->spares;
        watched_spares.spare_free = watch_spare_free;
        watching.spares = &watched_spares;
    }
}

/* ---- the model ------------------------------------------------------------------------------- */

static bool model_used(const struct model_client *c, uint32_t slot) {
    bool used = false;
    for (uint32_t i = 0; i < PAGES; i++)
        used |= c->pages[i].where == LANE && c->pages[i].slot == slot;
    for (int id = 0; id < NUMBERS; id++)
        for (uint32_t k = 0; c->numbers[id] == OF_LANE && k < c->lane_count[id]; k++)
            used |= c->lane_slots[id][k] == slot;
    return used;
}

static uint32_t model_slots_end(const struct model_client *c) {
    uint32_t end = SLOTS;
    while (end && !model_used(c, end - 1))
        end--;
    return end;
}

static uint32_t model_free_slot(struct model_client *c) {
    uint32_t slot = 0;
    while (model_used(c, slot))
        slot++;
    c->slots[slot] = (struct model_slot){.bytes = IN_LANE};
    return slot;
}

static void model_reach(int lane, uint32_t count) {
    struct model_lane *l = &model.lanes[lane];
    while (l->count < count)
        l->cells[l->count++] = 0;
}

/* The contents that the client should see; NULL: nothing is mapped. */
static uint64_t *model_cell(struct model_client *c, uint32_t page) {
    struct model_page *p = &c->pages[page];
    if (p->where == NOWHERE) return NULL;
    if (p->where != LANE && p->away) return NULL;
    if (p->where == PRIVATE) return &p->cell;
    if (p->where != LANE) return &model.segments[p->segment].cells[p->slot];
    return c->lane < 0 ? NULL : &model.lanes[c->lane].cells[p->slot];
}

/* The number of times that the client holds the segment. */
static uint32_t model_holds(const struct model_client *c, int segment) {
    uint32_t n = 0;
    bool placed = false;
    for (int i = 0; i < NUMBERS; i++)
        n += c->numbers[i] == segment;
    for (uint32_t i = 0; i < PAGES; i++)
        placed |= c->pages[i].where == PLACED && c->pages[i].segment == segment;
    return n + placed;
}

static void model_forget(void) {
    for (int s = 0; s < SEGMENTS; s++) {
        uint32_t held = 0;
        for (int i = 0; i < CLIENTS; i++)
            held += model_holds(&model.clients[i], s);
        if (!held) model.segments[s].count = 0;
    }
}

static int model_free_segment(void) {
    int s = 0;
    while (model.segments[s].count)
        s++;
    return s;
}

/* True if the client uses the segment. */
static bool model_uses(int i, int segment) {
    const struct model_client *c = &model.clients[i];
    bool uses = false;
    for (int id = 0; id < NUMBERS; id++)
        uses |= c->numbers[id] == segment && !c->ending[id] &&
                memory_segment_whole(mem[i], (uint32_t)id);
    for (uint32_t k = 0; k < PAGES; k++)
        uses |= c->pages[k].where == PLACED && c->pages[k].segment == segment;
    return uses && !c->swapped;
}

static uint32_t model_there(void) {
    uint32_t n = 0;
    for (int s = 0; s < SEGMENTS; s++)
        n += model.segments[s].count ? model.segments[s].real->there : 0;
    return n;
}

/* A segment in use is completely on the device; one whose holders are all swapped out is not at
 * all. */
static uint64_t model_segment_chunks(void) {
    for (int s = 0; s < SEGMENTS; s++) {
        bool used = false, out = base == &dev_soft;
        if (!model.segments[s].count) continue;
        for (int i = 0; i < CLIENTS; i++) {
            used |= model_uses(i, s);
            out &= memory_out(mem[i]) || !model_holds(&model.clients[i], s);
        }
        if (used) cr_assert_eq(model.segments[s].real->there, model.segments[s].count);
        if (out) cr_assert_eq(model.segments[s].real->there, 0);
    }
    return model_there();
}

static uint64_t model_chunks(void) {
    uint64_t n = model_segment_chunks();
    for (int i = 0; i < LANES; i++)
        n += model.lanes[i].count;
    for (int i = 0; i < CLIENTS; i++)
        for (uint32_t page = 0; page < PAGES; page++) {
            const struct model_page *p = &model.clients[i].pages[page];
            n += p->where == PRIVATE && !p->away;
        }
    for (int i = 0; i < CLIENTS; i++)
        for (uint32_t slot = 0; slot < SLOTS; slot++)
            n += model_used(&model.clients[i], slot) &&
                 model.clients[i].slots[slot].bytes == SPILLED;
    return n;
}

static int expect(int err, int want) {
    cr_assert_eq(err, want, "%d instead of %d", err, want);
    return 0;
}

/* A random part, or all at once. */
static uint32_t some(void) {
    return dice(2) ? 1 + dice(3) : MEMORY_ALL;
}

/* ---- calls on both: implementation and model ------------------------------------------------- */

static int do_back(int i, struct model_client *c) {
    uint32_t first = dice(PAGES), count = 1 + dice(3);
    bool odd = first + count > PAGES || (first < HALF && first + count > HALF), taken = false;
    int err = memory_back(mem[i], page_at(i, first), count * GRAN);
    if (odd) return expect(err, -EINVAL);
    for (uint32_t k = first; k < first + count; k++)
        taken |= c->pages[k].where != NOWHERE;
    if (taken) return expect(err, -EEXIST);
    if (first >= HALF && c->lane < 0) return expect(err, ERR_NO_MEMORY);
    for (uint32_t k = first; !err && k < first + count; k++) {
        struct model_page *p = &c->pages[k];
        *p = (struct model_page){.where = first < HALF ? PRIVATE : NOWHERE, .number = -1};
        p->away = first < HALF && c->swapped;
        if (first < HALF) continue;
        p->slot = model_free_slot(c);
        p->where = LANE;
        model_reach(c->lane, p->slot + 1);
    }
    return err;
}

static int do_unback(int i, struct model_client *c) {
    uint32_t first = dice(PAGES), count = 1 + dice(3);
    bool odd = first + count > PAGES || (first < HALF && first + count > HALF), missing = false;
    unbacking = recovery_states[i];
    int err = memory_unback(mem[i], page_at(i, first), count * GRAN);
    unbacking = NULL;
    if (odd) return expect(err, -EINVAL);
    for (uint32_t k = first; k < first + count; k++)
        missing |= c->pages[k].where == NOWHERE;
    if (missing) return expect(err, -ENOENT);
    for (uint32_t k = first; !err && k < first + count; k++)
        c->pages[k] = (struct model_page){.where = NOWHERE};
    model_forget();
    return err;
}

static int do_keep(int i, struct model_client *c) {
    uint64_t from = dice(PAGES * 4) * GRAN / 4, bytes = dice(12) * GRAN / 4 + 1, copied;
    if (from + bytes > PAGES * GRAN) bytes = PAGES * GRAN - from;
    uint32_t n = 0;
    for (uint64_t k = from / GRAN; k <= (from + bytes - 1) / GRAN; k++)
        n += c->pages[k].where == LANE;
    cr_assert_eq(memory_keep_need(mem[i], page_at(i, 0) + from, bytes), n * GRAN);
    uint32_t most = some();
    int err = memory_keep(mem[i], page_at(i, 0) + from, bytes, most, &copied);
    if (n && c->swapped) return expect(err, -EBUSY);
    if (n > most) n = most;
    cr_assert_eq(copied, err ? 0 : n * GRAN);
    for (uint64_t k = from / GRAN; !err && n && k <= (from + bytes - 1) / GRAN; k++) {
        struct model_page *p = &c->pages[k];
        const uint64_t *cell = model_cell(c, (uint32_t)k);
        if (p->where != LANE) continue;
        n--;
        const struct model_slot *slot = &c->slots[p->slot];
        p->cell = slot->bytes != IN_LANE ? slot->saved : cell ? *cell : 0;
        p->where = PRIVATE;
    }
    return err;
}

/* Moves to a number that is free, or that is its own. */
static void model_move(struct model_client *c, uint32_t from, uint32_t to) {
    for (uint32_t k = 0; k < PAGES; k++)
        if (c->pages[k].where == LANE && c->pages[k].slot == from) c->pages[k].slot = to;
    for (int id = 0; id < NUMBERS; id++)
        for (uint32_t k = 0; k < c->lane_count[id]; k++)
            if (c->lane_slots[id][k] == from) c->lane_slots[id][k] = to;
    c->slots[to] = c->slots[from];
}

/* Repeats until it succeeds or cannot; a join that fails in the client's own lane is completed. */
static int join(int i, struct memory_lane *lane) {
    int err = 0;
    bool before = mem[i]->lane == lane;
    do
        err = memory_join(mem[i], lane, some());
    while (!err && !(memory_joined(mem[i], lane) && (!lane || memory_packed(mem[i]))));
    if (!err || (mem[i]->lane != lane && !before)) return err;
    if (base == &fakedev) fakedev_fail(dev, 0, false);
    return memory_join(mem[i], lane, MEMORY_ALL);
}

static int do_join(int i, struct model_client *c) {
    int lane = (int)dice(LANES + 1) - 1;
    int err = join(i, lane < 0 ? NULL : lanes[lane]);
    if (err && lane >= 0) /* memory that was not needed was freed */
        model.lanes[lane].count = (uint32_t)(memory_lane_bytes(lanes[lane]) / GRAN);
    if (err) return err;
    uint32_t end = model_slots_end(c), n = 0;
    for (uint32_t slot = 0; slot < end; slot++)
        if (model_used(c, slot)) model_move(c, slot, n++);
    if (c->lane >= 0 && c->lane != lane && model.lanes[c->lane].last == i)
        model.lanes[c->lane].last = -1;
    c->lane = lane;
    if (lane >= 0) model_reach(lane, n);
    return 0;
}

static int do_enter(int i, struct model_client *c) {
    memory_enter(mem[i], 0);
    if (c->lane >= 0) model.lanes[c->lane].last = i;
    return 0;
}

static int do_spill(int i, struct model_client *c) {
    bool to_host = dice(2);
    uint32_t most = some();
    uint64_t moved, n = 0, left = 0;
    int err = memory_spill(mem[i], to_host, most, &moved);
    for (uint32_t slot = 0; !err && c->lane >= 0 && slot < SLOTS; slot++) {
        struct model_slot *at = &c->slots[slot];
        if (!model_used(c, slot) || at->bytes != IN_LANE) continue;
        left += n == most;
        if (n == most) continue;
        at->saved = model.lanes[c->lane].cells[slot];
        at->bytes = to_host ? SPILLED_HOST : SPILLED;
        n++;
    }
    if (!err) cr_assert_eq(memory_spilling(mem[i]), left > 0);
    cr_assert_eq(moved, n * GRAN);
    return err;
}

static int do_restore(int i, struct model_client *c) {
    uint32_t most = some();
    uint64_t moved, n = 0, elsewhere = 0;
    int err = memory_restore(mem[i], most, &moved);
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        struct model_slot *at = &c->slots[slot];
        if (!model_used(c, slot) || at->bytes == IN_LANE) continue;
        elsewhere++;
        if (n == moved / GRAN) continue;
        model.lanes[c->lane].cells[slot] = at->saved;
        at->bytes = IN_LANE;
        n++;
    }
    if (elsewhere && c->lane < 0) return expect(err, -EINVAL);
    if (elsewhere) model.lanes[c->lane].last = i;
    cr_assert(err ? n < elsewhere : n == (elsewhere < most ? elsewhere : most));
    return err;
}

/* True if the page stays: it is in the persistent window or was kept, and is not in the lane. */
static bool model_stays(const struct model_page *p) {
    return p->where != NOWHERE && p->where != LANE;
}

static uint32_t model_to_go(const struct model_client *c) {
    uint32_t n = 0;
    for (uint32_t k = 0; k < PAGES; k++)
        n += model_stays(&c->pages[k]) && !c->pages[k].away;
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        n += model_used(c, slot) && c->slots[slot].bytes == SPILLED;
    return n;
}

static void model_swap_out(struct model_client *c, uint32_t most) {
    for (uint32_t k = 0; k < PAGES; k++) {
        struct model_page *p = &c->pages[k];
        if (!model_stays(p) || p->away || !most) continue;
        p->away = true;
        most--;
    }
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        struct model_slot *at = &c->slots[slot];
        if (!model_used(c, slot) || at->bytes != SPILLED || !most) continue;
        at->bytes = SPILLED_HOST;
        most--;
    }
    c->swapped = true;
}

static void model_swap_in(struct model_client *c, uint32_t most) {
    bool left = !most;
    for (uint32_t k = 0; k < PAGES; k++) {
        struct model_page *p = &c->pages[k];
        if (!model_stays(p) || !p->away) continue;
        left |= !most;
        p->away = !most;
        most -= most > 0;
    }
    c->swapped = left;
}

/* Swaps pages out before segments; the segments may fail afterwards. */
static int swap_out(int i, struct model_client *c) {
    uint32_t most = some(), pages = model_to_go(c);
    uint64_t moved;
    if (pages > most) pages = most;
    int err = memory_swap_out(mem[i], most, &moved);
    cr_assert(memory_part(mem[i]) <= most);
    if (err && (memory_part(mem[i]) < pages || !memory_swapped(mem[i]))) return err;
    model_swap_out(c, most);
    if (memory_out(mem[i])) cr_assert_eq(model_to_go(c), 0);
    if (!err && most == MEMORY_ALL) cr_assert(memory_out(mem[i]));
    return err;
}

/* Swaps in segments first. */
static int swap_in(int i, struct model_client *c) {
    uint32_t most = some();
    uint64_t moved;
    cr_assert_eq(memory_swap_in(mem[i], 0, &moved), 0); /* turns back to swapping in */
    uint32_t before = model_there();
    int err = memory_swap_in(mem[i], most, &moved);
    if (err) return err;
    cr_assert(memory_part(mem[i]) <= most);
    model_swap_in(c, most == MEMORY_ALL ? most : most - (model_there() - before));
    return 0;
}

/* When half swapped out, continues or comes back. */
static int do_swap(int i, struct model_client *c) {
    return !c->swapped || !dice(8) ? swap_out(i, c) : swap_in(i, c);
}

/* Fetches a part of the segment, all, or nothing; it stays until the next time, or until the
 * client is swapped out and in. */
static int fetch(int i, uint32_t id) {
    int err = dice(4) ? 0 : memory_segment_fetch(mem[i], id, some());
    while (!err && dice(8) && !memory_segment_whole(mem[i], id))
        err = memory_segment_fetch(mem[i], id, some());
    return err;
}

static int do_fetch(int i, struct model_client *c) {
    uint32_t id = dice(NUMBERS);
    int err = memory_segment_fetch(mem[i], id, some());
    return c->numbers[id] < 0 ? expect(err, -ENOENT) : err;
}

static int do_make(int i, struct model_client *c) {
    uint32_t id = dice(NUMBERS), count = 1 + dice(SEGMENT_MOST);
    int err = memory_segment_make(mem[i], id, count * GRAN, 5);
    if (c->numbers[id] >= 0) return expect(err, -EEXIST);
    if (err) return err;
    int s = c->numbers[id] = model_free_segment();
    model.segments[s] =
        (struct model_segment){.count = count, .real = memory_segment_find(mem[i], id)};
    return fetch(i, id);
}

static int do_make_lane(int i, struct model_client *c) {
    uint32_t id = dice(NUMBERS), count = 1 + dice(SEGMENT_MOST);
    int err = memory_segment_make_lane(mem[i], id, count * GRAN);
    if (c->numbers[id] >= 0) return expect(err, -EEXIST);
    if (c->lane < 0) return expect(err, ERR_NO_MEMORY);
    if (err) return err;
    cr_assert_null(memory_segment_find(mem[i], id));
    c->numbers[id] = OF_LANE;
    for (c->lane_count[id] = 0; c->lane_count[id] < count; c->lane_count[id]++)
        c->lane_slots[id][c->lane_count[id]] = model_free_slot(c);
    model_reach(c->lane, model_slots_end(c));
    return 0;
}

/* Every holder closes the segment, so that it is no longer found. */
static bool model_ends(int segment) {
    bool ends = false;
    for (int i = 0; i < CLIENTS; i++)
        for (int id = 0; id < NUMBERS; id++)
            ends |= model.clients[i].numbers[id] == segment && model.clients[i].ending[id];
    return ends;
}

/* A part of closing the segment, which may never be completed. */
static int do_drop_ahead(int i, struct model_client *c) {
    uint32_t id = dice(NUMBERS);
    if (memory_segment_drop_ahead(mem[i], id, some())) c->ending[id] = true;
    if (c->ending[id]) cr_assert_null(memory_segment_find(mem[i], id));
    return 0;
}

static int do_open(int i, struct model_client *c) {
    uint32_t id = dice(NUMBERS);
    int s = (int)dice(8);
    if (!model.segments[s].count || model_ends(s)) return 0;
    int err = memory_segment_open(mem[i], id, model.segments[s].real);
    if (c->numbers[id] >= 0) return expect(err, -EEXIST);
    if (c->swapped) return expect(err, -EBUSY);
    if (err) return err;
    c->numbers[id] = s;
    return fetch(i, id);
}

static int do_close(int i, struct model_client *c) {
    uint32_t id = dice(NUMBERS);
    bool shown = false;
    for (uint32_t k = 0; k < PAGES; k++)
        shown |= (c->pages[k].where == SHOWN || c->pages[k].where == LANE) &&
                 c->pages[k].number == (int)id;
    int err = memory_segment_close(mem[i], id);
    if (c->numbers[id] < 0) return expect(err, -ENOENT);
    if (shown) return expect(err, -EBUSY);
    c->numbers[id] = -1;
    c->ending[id] = false;
    c->lane_count[id] = 0;
    model_forget();
    return err;
}

static int do_show(int i, struct model_client *c) {
    uint32_t id = dice(NUMBERS), first = dice(PAGES), count = 1 + dice(SEGMENT_MOST);
    bool of_lane = c->numbers[id] == OF_LANE, taken = false;
    bool odd = of_lane ? first < HALF || first + count > PAGES : first + count > HALF;
    uint32_t from = dice(3) ? 0 : dice(3);
    bool whole = memory_segment_whole(mem[i], id);
    int err = memory_segment_show(mem[i], id, from * GRAN, page_at(i, first), count * GRAN);
    if (c->numbers[id] < 0) return expect(err, -ENOENT);
    if (odd) return expect(err, -EINVAL);
    if (from + count > (of_lane ? c->lane_count[id] : model.segments[c->numbers[id]].count))
        return expect(err, -EINVAL);
    for (uint32_t k = first; k < first + count; k++)
        taken |= c->pages[k].where != NOWHERE;
    if (taken) return expect(err, -EEXIST);
    if (!whole || c->ending[id]) return expect(err, -EBUSY);
    for (uint32_t k = 0; !err && k < count; k++)
        c->pages[first + k] = (struct model_page){.where = of_lane ? LANE : SHOWN,
                                                  .slot = from + k,
                                                  .away = !of_lane && c->swapped,
                                                  .segment = c->numbers[id],
                                                  .number = (int)id};
    for (uint32_t k = 0; !err && of_lane && k < count; k++)
        c->pages[first + k].slot = c->lane_slots[id][from + k];
    return err;
}

/* Pages that were shared before become shared again as a whole or not at all. */
static bool shared_before(const struct model_client *c, uint32_t first, uint32_t count) {
    const struct model_page *p = &c->pages[first];
    for (uint32_t k = 0; k < count; k++)
        if (p[k].where != PLACED || p[k].segment != p->segment || p[k].slot != k) return false;
    return count == model.segments[p->segment].count;
}

static int do_share(int i, struct model_client *c) {
    uint32_t first = dice(PAGES), count = 1 + dice(SEGMENT_MOST);
    bool odd = first + count > PAGES || (first < HALF && first + count > HALF), private = true;
    struct segment *real;
    int err = memory_segment_share(mem[i], page_at(i, first), count * GRAN, 5, &real);
    if (odd) return expect(err, -EINVAL);
    if (c->swapped) return expect(err, -EBUSY);
    if (shared_before(c, first, count)) {
        cr_assert_eq(real, model.segments[c->pages[first].segment].real);
        return expect(err, 0);
    }
    for (uint32_t k = first; k < first + count; k++)
    private &= c->pages[k].where == PRIVATE;
    if (!private) return expect(err, -EINVAL);
    int s = model_free_segment();
    model.segments[s] = (struct model_segment){.count = count, .real = real};
    for (uint32_t k = 0; !err && k < count; k++) {
        struct model_page *p = &c->pages[first + k];
        model.segments[s].cells[k] = p->cell;
        *p = (struct model_page){.where = PLACED, .slot = k, .segment = s};
    }
    return err;
}

static int do_shrink(int i, struct model_client *c) {
    int lane = (int)dice(LANES);
    uint32_t count = dice(HALF + 1);
    bool busy = false;
    for (int k = 0; k < CLIENTS; k++)
        busy |= model.clients[k].lane == lane && model_slots_end(&model.clients[k]) > count;
    int err = memory_lane_shrink(lanes[lane], count * GRAN - dice(2) * !!count, MEMORY_ALL);
    cr_assert_eq(err, busy ? -EBUSY : 0);
    if (!err && model.lanes[lane].count > count) model.lanes[lane].count = count;
    return 0;
}

/* Other activity in between: the client overwrites a page. */
static int do_write(int i, struct model_client *c) {
    uint32_t page = dice(PAGES);
    uint64_t *cell = model_cell(c, page);
    if (!cell) return 0;
    *cell = ++tokens;
    for (uint64_t at = 0; at < GRAN; at += GRAN / 8 - 8)
        *word_at(page_at(i, page) + at) = tokens;
    return 0;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static bool readable(uint64_t addr) {
    static int sink = -1;
    if (sink < 0) sink = memfd_create("sink", MFD_CLOEXEC);
    return pwrite(sink, (void *)(uintptr_t)addr, 4, 0) == 4;
}

static void compare_client(int i, struct model_client *c, const char *when) {
    uint64_t persistent = 0, ephemeral = 0, spilled = 0;
    for (uint32_t k = 0; k < PAGES; k++) {
        const struct model_page *p = &c->pages[k];
        const uint64_t *cell = model_cell(c, k);
        persistent += p->where == PRIVATE || p->where == PLACED;
        if (!cell && base == &dev_soft)
            cr_assert(!readable(page_at(i, k)), "%s: client %d page %u is seen", when, i, k);
        for (uint64_t at = 0; cell && at < GRAN; at += GRAN / 8 - 8)
            cr_assert_eq(*word_at(page_at(i, k) + at), *cell, "%s: client %d page %u", when, i, k);
    }
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        bool in_use = model_used(c, slot);
        ephemeral += in_use;
        spilled += in_use && c->slots[slot].bytes != IN_LANE;
    }
    uint64_t held = 0;
    for (int k = 0; k < NUMBERS; k++)
        if (c->numbers[k] >= 0 && c->numbers[k] != OF_LANE)
            held += model.segments[c->numbers[k]].count;
    cr_assert_eq(memory_held(mem[i]), held * GRAN, "%s", when);
    cr_assert_eq(memory_persistent(mem[i]), (persistent + held) * GRAN, "%s", when);
    cr_assert_eq(memory_ephemeral(mem[i]), ephemeral * GRAN, "%s", when);
    cr_assert_eq(memory_spilled(mem[i]), spilled > 0, "%s", when);
    cr_assert_eq(memory_swapped(mem[i]), c->swapped, "%s", when);
}

static void compare(const char *when) {
    const char *what;
    for (int i = 0; i < CLIENTS; i++) {
        cr_assert_null((what = memory_check(mem[i])), "%s: client %d: %s", when, i, what);
        compare_client(i, &model.clients[i], when);
    }
    for (int i = 0; i < LANES; i++)
        cr_assert_eq(memory_lane_bytes(lanes[i]), model.lanes[i].count * GRAN, "%s", when);
    cr_assert_eq(ops->mem_used(dev), model_chunks() * GRAN, "%s", when);
    if (base == &fakedev) cr_assert_eq(fakedev_violations(dev, &what), 0, "%s: %s", when, what);
}

static int (*const calls[])(int i, struct model_client *c) = {
    do_write, do_write,   do_back,  do_back,  do_unback,     do_keep,      do_shrink,    do_join,
    do_back,  do_restore, do_swap,  do_spill, do_make,       do_open,      do_show,      do_show,
    do_swap,  do_restore, do_spill, do_close, do_share,      do_make_lane, do_make_lane, do_show,
    do_show,  do_enter,   do_fetch, do_close, do_drop_ahead,
};

/* The last remaining holder closes a segment that cannot follow the swapped-out holders: that is
 * no failure, but the segment stays on the device, unlike in the model. */
static bool may_strand(uint32_t call) {
    return calls[call] == do_close || calls[call] == do_unback;
}

static void open_world(int memory_fd) {
    static const struct dev_space_ops space_ops;
    struct dev_config config = {
        .memory_bytes = memory_chunks * GRAN, .threads = 1, .memory_fd = memory_fd};
    cr_assert_eq(ops->open(&dev, &config), 0);
    for (int i = 0; i < LANES; i++)
        cr_assert_eq(memory_lane_create(&lanes[i], ops, dev), 0);
    for (int i = 0; i < CLIENTS; i++) {
        struct dev_windows w = {page_at(i, 0), PAGES * GRAN, GRAN, 0, 0, 0};
        cr_assert_eq(ops->space_create(dev, &w, &space_ops, NULL, &spaces[i]), 0);
        cr_assert_eq(memory_create(&mem[i], ops, dev, spaces[i], &w, GRAN), 0);
    }
}

static void close_world(void) {
    for (int i = 0; i < CLIENTS; i++) {
        memory_destroy(mem[i]);
        ops->space_destroy(spaces[i]);
    }
    for (int i = 0; i < LANES; i++)
        memory_lane_destroy(lanes[i]);
    cr_expect_eq(ops->mem_used(dev), 0);
    ops->close(dev);
}

static void forget_client(int i) {
    struct model_client *c = &model.clients[i];
    *c = (struct model_client){.lane = -1};
    for (int k = 0; k < NUMBERS; k++)
        c->numbers[k] = -1;
    memset(recovery_states[i], 0, memory_recovery_bytes(PAGES));
    cr_assert_eq(memory_recovery_keep(mem[i], recovery_states[i]), 0);
}

/* ---- the process ends ------------------------------------------------------------------------ */

/* True if the client holds segments. */
static bool model_lacks(const struct model_client *c) {
    bool lacks = false;
    for (int k = 0; k < NUMBERS; k++)
        lacks |= c->numbers[k] >= 0;
    for (uint32_t k = 0; k < PAGES; k++)
        lacks |= c->pages[k].where == PLACED;
    return lacks;
}

/* The bytes of a client that were in the lane are elsewhere, and no client is in a lane. */
static void model_adopt(int i, struct model_client *c) {
    struct model_slot slots[SLOTS] = {{0}};
    uint32_t n = 0;
    bool away = false;
    for (uint32_t k = 0; k < PAGES; k++) {
        struct model_page *p = &c->pages[k];
        away |= p->where == PRIVATE && p->away;
        if (p->where != LANE) continue;
        slots[n] = c->slots[p->slot];
        if (slots[n].bytes == IN_LANE && c->lane >= 0 && model.lanes[c->lane].last == i)
            slots[n] = (struct model_slot){SPILLED, model.lanes[c->lane].cells[p->slot]};
        p->slot = n++;
    }
    memcpy(c->slots, slots, sizeof(slots));
    c->lane = -1;
    c->swapped = away; /* otherwise nothing is swapped */
}

/* A copy of the memory, as another holder of the descriptor sees it. */
static int copy_memory(void) {
    int from = ops->recovery->memory_fd(dev);
    uint64_t bytes_of_file = (uint64_t)lseek(from, 0, SEEK_END);
    int to = fdutil_memfd("copy", bytes_of_file, 0);
    void *bytes = mmap(NULL, bytes_of_file, PROT_READ, MAP_SHARED, from, 0);
    cr_assert(to >= 0 && bytes != MAP_FAILED);
    off_t at = 0;
    while ((at = lseek(from, at, SEEK_DATA)) >= 0) {
        off_t end = lseek(from, at, SEEK_HOLE);
        while (at < end) {
            ssize_t n = pwrite(to, (char *)bytes + at, (size_t)(end - at), at);
            cr_assert_gt(n, 0);
            at += n;
        }
    }
    munmap(bytes, bytes_of_file);
    return to;
}

static void die(const char *when) {
    struct memory_recovery *left[CLIENTS];
    size_t bytes = memory_recovery_bytes(PAGES);
    int fd = copy_memory();
    for (int i = 0; i < CLIENTS; i++)
        memcpy(left[i] = malloc(bytes), recovery_states[i], bytes);
    close_world();
    open_world(fd);
    close(fd);
    leaving = true;
    for (int i = 0; i < CLIENTS; i++) {
        struct model_client *c = &model.clients[i];
        bool lacks = model_lacks(c);
        memcpy(recovery_states[i], left[i], bytes);
        free(left[i]);
        cr_assert_eq(memory_recovery_lacks(recovery_states[i]) != NULL, lacks, "%s: client %d",
                     when, i);
        cr_assert_eq(memory_adopt(mem[i], recovery_states[i], -1, 0), lacks ? -EPERM : 0,
                     "%s: client %d", when, i);
        if (lacks)
            forget_client(i);
        else
            model_adopt(i, c);
        restored += !lacks;
        lost += lacks;
    }
    ops->recovery->memory_settle(dev);
    leaving = false;
    model_forget();
    for (int i = 0; i < LANES; i++)
        model.lanes[i] = (struct model_lane){.last = -1};
}

static void play(const struct dev_ops *on, uint64_t seed) {
    char when[64];
    watch(on);
    state = seed;
    memset(&model, 0, sizeof(model));
    open_world(-1);
    for (int i = 0; i < LANES; i++)
        model.lanes[i].last = -1;
    for (int i = 0; i < CLIENTS; i++) {
        recovery_states[i] = malloc(memory_recovery_bytes(PAGES));
        forget_client(i);
    }
    uint32_t failures = 0;
    for (int step = 0; step < STEPS; step++) {
        int i = (int)dice(CLIENTS);
        uint32_t call = dice(sizeof(calls) / sizeof(*calls));
        snprintf(when, sizeof(when), "seed %lu step %d call %u", seed, step, call);
        bool fails = !dice(3) && !may_strand(call);
        if (base == &fakedev) fakedev_fail(dev, fails ? 1 + dice(6) : 0, false);
        int err = calls[call](i, &model.clients[i]);
        if (base == &fakedev) fakedev_fail(dev, 0, false);
        failures += err != 0;
        cr_assert(!err || err == ERR_NO_MEMORY || err == -EIO, "%s: %d", when, err);
        compare(when);
        if (base != &dev_soft || dice(50)) continue;
        die(when);
        compare(when);
    }
    cr_expect_gt(failures, STEPS / 200, "seed %lu: hardly anything went wrong: %u", seed, failures);
    close_world();
    for (int i = 0; i < CLIENTS; i++)
        free(recovery_states[i]);
}

Test(memory_model, on_a_device_that_fails_at_random) {
    for (uint64_t seed = 1; seed <= 4; seed++)
        play(&fakedev, seed);
}

Test(memory_model, on_a_software_gpu_that_is_too_small) {
    memory_chunks = 10; /* at most 36 pages can be backed, besides the lanes */
    for (uint64_t seed = 101; seed <= 104; seed++)
        play(&dev_soft, seed);
    cr_log_info("restored %u, lost %u", restored, lost);
    cr_expect_gt(restored, 100);
    cr_expect_gt(lost, 20);
}
