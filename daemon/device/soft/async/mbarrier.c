/* SPDX-License-Identifier: Apache-2.0
 *
 * mbarrier: barriers that are words of shared memory. One thread at a time runs a cluster, so these
 * are plain accesses. This includes accesses to another block's barrier, where PTX only allows to
 * arrive and to announce bytes. A phase ends when no arrival is pending and all announced bytes
 * have come. The token of an arrival is the old value of the word; only its phase and count matter.
 * Asynchronous copies are done at once, and so arrive at once.
 */
#include "daemon/device/soft/async/mbarrier.h"

#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/memory/mem.h"

#define COUNT_BITS 20
#define COUNT_MAX ((1u << COUNT_BITS) - 1)

struct mbarrier {
    uint64_t phase : 1;
    uint64_t expected : COUNT_BITS; /* arrivals of each phase */
    uint64_t pending : COUNT_BITS;  /* arrivals still to come in this phase */
    int64_t bytes : COUNT_BITS + 1; /* announced bytes still to come */
};
_Static_assert(sizeof(struct mbarrier) == sizeof(uint64_t), "a word of shared memory");
#define PHASE_BIT 1u /* bit of the phase in the word, in a token, in a parity */

static struct mbarrier of_word(uint64_t word) {
    struct mbarrier b;
    memcpy(&b, &word, sizeof(b));
    return b;
}

static uint64_t to_word(struct mbarrier b) {
    uint64_t word;
    memcpy(&word, &b, sizeof(word));
    return word;
}

static uint64_t *word_at(uint64_t at) {
    return (uint64_t *)(uintptr_t)at; /* aligned: mem_resolve has checked */
}

/* Permitted memory: the block's shared memory, or that of the whole cluster. */
enum reach { REACH_BLOCK, REACH_CLUSTER };

static bool addresses(struct warp_ctx *x, const struct code_inst *i, uint32_t mask,
                      enum reach reach, uint64_t *at) {
    if (!mem_resolve(x, i, mask, sizeof(struct mbarrier), true, at)) return false;
    if (i->space == PTX_SHARED) return true; /* it is the block's own */
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        if (at[lane] - x->shared_base < x->shared_bytes) continue;
        if (reach == REACH_CLUSTER && mem_in_cluster(x, at[lane], sizeof(struct mbarrier)))
            continue;
        warp_fault(&x->w, i, lane, ERR_ILLEGAL_ADDRESS, at[lane],
                   "outside the block's shared memory");
        return false;
    }
    return true;
}

/* A lane's value of the operand after the address, or `absent`. */
static uint32_t count_of(const struct warp *w, const struct code_inst *i, uint32_t lane,
                         uint32_t absent) {
    return i->b == CODE_NO_SLOT ? absent : SLOT(const uint32_t, w, i->b)[lane];
}

static bool refuse(struct warp *w, const struct code_inst *i, uint32_t lane, uint64_t at,
                   const char *what) {
    warp_fault(w, i, lane, ERR_ILLEGAL_INSTRUCTION, at, what);
    return false;
}

static void settle(struct mbarrier *b) {
    if (b->pending || b->bytes) return;
    b->phase ^= 1;
    b->pending = b->expected;
}

/* The operation of one lane on the barrier. Returns false after a fault. */
typedef bool lane_fn(struct warp *w, const struct code_inst *i, uint32_t lane, uint64_t at);

/* True if the lanes name one barrier. */
static bool are_one(const uint64_t *at, uint32_t mask) {
    const uint64_t first = at[__builtin_ctz(mask)];
    uint64_t differ = 0;
    for (uint32_t lane = 0; lane < WARP_LANES; lane++)
        differ |= (at[lane] ^ first) & (0 - (uint64_t)(mask >> lane & 1));
    return !differ;
}

static void each_at(struct warp *w, const struct code_inst *i, uint32_t mask, const uint64_t *at,
                    lane_fn *fn) {
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        if (!fn(w, i, lane, at[lane])) return;
    }
}

static void each(struct warp *w, const struct code_inst *i, uint32_t mask, enum reach reach,
                 lane_fn *fn) {
    uint64_t at[WARP_LANES] __attribute__((aligned(64)));
    if (addresses((struct warp_ctx *)w, i, mask, reach, at)) each_at(w, i, mask, at, fn);
}

static bool lane_init(struct warp *w, const struct code_inst *i, uint32_t lane, uint64_t at) {
    uint32_t count = count_of(w, i, lane, 0);
    if (!count || count > COUNT_MAX)
        return refuse(w, i, lane, at, "a barrier waits for 1 to 1048575 arrivals");
    *word_at(at) = to_word((struct mbarrier){.expected = count, .pending = count});
    return true;
}

static bool lane_inval(struct warp *w, const struct code_inst *i, uint32_t lane, uint64_t at) {
    (void)w, (void)i, (void)lane;
    *word_at(at) = 0;
    return true;
}

/* Adds `more` to the announced bytes that have not come; negative: so many bytes have come. Returns
 * false after a fault. */
static bool add_bytes(struct warp *w, const struct code_inst *i, uint32_t lane, uint64_t at,
                      struct mbarrier *b, int64_t more) {
    int64_t bytes = b->bytes + more;
    if (bytes > COUNT_MAX || bytes < -(int64_t)COUNT_MAX)
        return refuse(w, i, lane, at, "a barrier counts at most 1048575 bytes");
    b->bytes = bytes;
    return true;
}

static bool lane_expect(struct warp *w, const struct code_inst *i, uint32_t lane, uint64_t at) {
    struct mbarrier b = of_word(*word_at(at));
    if (!add_bytes(w, i, lane, at, &b, count_of(w, i, lane, 0))) return false;
    *word_at(at) = to_word(b);
    return true;
}

bool mbarrier_came(struct warp *w, const struct code_inst *i, uint32_t lane, uint64_t at,
                   uint32_t bytes) {
    struct mbarrier b = of_word(*word_at(at));
    if (!add_bytes(w, i, lane, at, &b, -(int64_t)bytes)) return false;
    settle(&b);
    *word_at(at) = to_word(b);
    return true;
}

static bool lane_complete(struct warp *w, const struct code_inst *i, uint32_t lane, uint64_t at) {
    return mbarrier_came(w, i, lane, at, count_of(w, i, lane, 0));
}

/* Arrives `count` times. `drop`: later phases do not wait for these arrivals. */
static bool arrive(struct warp *w, const struct code_inst *i, uint32_t lane, uint64_t at,
                   struct mbarrier b, uint32_t count, bool drop) {
    uint64_t before = *word_at(at);
    if (!count || count > b.pending)
        return refuse(w, i, lane, at, "more arrivals than the barrier waits for");
    b.pending -= count;
    if (drop) b.expected -= count < b.expected ? count : b.expected;
    settle(&b);
    *word_at(at) = to_word(b);
    if (i->d != CODE_NO_SLOT) SLOT(uint64_t, w, i->d)[lane] = before;
    return true;
}

/* Lets all lanes arrive once each at one barrier, in order: the usual case. Returns false, with
 * nothing done, if the lanes name several barriers or a count, or if the barrier waits for fewer
 * arrivals. */
static bool arrive_together(struct warp *w, const struct code_inst *i, uint32_t mask,
                            const uint64_t *at) {
    uint64_t *word = word_at(at[__builtin_ctz(mask)]);
    struct mbarrier b = of_word(*word);
    if (i->b != CODE_NO_SLOT || !are_one(at, mask)) return false;
    if ((uint32_t)__builtin_popcount(mask) > b.pending) return false;
    uint64_t *d = i->d == CODE_NO_SLOT ? NULL : SLOT(uint64_t, w, i->d);
    for (uint32_t left = mask; left; left &= left - 1, b.pending--)
        if (d) d[__builtin_ctz(left)] = to_word(b);
    settle(&b);
    *word = to_word(b);
    return true;
}

static bool lane_arrive(struct warp *w, const struct code_inst *i, uint32_t lane, uint64_t at) {
    return arrive(w, i, lane, at, of_word(*word_at(at)), count_of(w, i, lane, 1), false);
}

static bool lane_drop(struct warp *w, const struct code_inst *i, uint32_t lane, uint64_t at) {
    return arrive(w, i, lane, at, of_word(*word_at(at)), count_of(w, i, lane, 1), true);
}

static bool announce(struct warp *w, const struct code_inst *i, uint32_t lane, uint64_t at,
                     bool drop) {
    struct mbarrier b = of_word(*word_at(at));
    return add_bytes(w, i, lane, at, &b, count_of(w, i, lane, 0)) &&
           arrive(w, i, lane, at, b, 1, drop);
}

static bool lane_arrive_expect(struct warp *w, const struct code_inst *i, uint32_t lane,
                               uint64_t at) {
    return announce(w, i, lane, at, false);
}

static bool lane_drop_expect(struct warp *w, const struct code_inst *i, uint32_t lane,
                             uint64_t at) {
    return announce(w, i, lane, at, true);
}

#define HANDLER(name, reach, fn)                                                 \
    static void name(struct warp *w, const struct code_inst *i, uint32_t mask) { \
        each(w, i, mask, reach, fn);                                             \
    }
HANDLER(run_init, REACH_BLOCK, lane_init)
HANDLER(run_inval, REACH_BLOCK, lane_inval)
HANDLER(run_expect, REACH_CLUSTER, lane_expect)
HANDLER(run_complete, REACH_CLUSTER, lane_complete)
HANDLER(run_drop, REACH_CLUSTER, lane_drop)
HANDLER(run_arrive_expect, REACH_CLUSTER, lane_arrive_expect)
HANDLER(run_drop_expect, REACH_CLUSTER, lane_drop_expect)

static void run_arrive(struct warp *w, const struct code_inst *i, uint32_t mask) {
    uint64_t at[WARP_LANES] __attribute__((aligned(64)));
    if (!addresses((struct warp_ctx *)w, i, mask, REACH_CLUSTER, at)) return;
    if (!arrive_together(w, i, mask, at)) each_at(w, i, mask, at, lane_arrive);
}

/* Tests which lanes' phase is over. A lane whose phase is not over gets false, and its program asks
 * again. */
static void run_wait(struct warp *w, const struct code_inst *i, uint32_t mask) {
    struct warp_ctx *x = (struct warp_ctx *)w;
    uint64_t at[WARP_LANES] __attribute__((aligned(64)));
    uint32_t over = 0, *d = SLOT(uint32_t, w, i->d);
    const bool parity = i->vec;
    const uint32_t *narrow = SLOT(const uint32_t, w, i->b);
    const uint64_t *wide = SLOT(const uint64_t, w, i->b);
    if (!addresses(x, i, mask, REACH_BLOCK, at)) return;
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        uint64_t phase = parity ? narrow[lane] : wide[lane];
        over |= (uint32_t)((*word_at(at[lane]) ^ phase) & PHASE_BIT) << lane;
    }
    *d = (*d & ~mask) | over;
    if (over != mask) x->waits = true;
}

static void run_pending(struct warp *w, const struct code_inst *i, uint32_t mask) {
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        SLOT(uint32_t, w, i->d)[lane] = of_word(SLOT(const uint64_t, w, i->b)[lane]).pending;
    }
}

code_handler *mbarrier_select(enum code_mbarrier what) {
    static code_handler *const handlers[] = {[CODE_MBARRIER_INIT] = run_init,
                                             [CODE_MBARRIER_INVAL] = run_inval,
                                             [CODE_MBARRIER_EXPECT] = run_expect,
                                             [CODE_MBARRIER_COMPLETE] = run_complete,
                                             [CODE_MBARRIER_ARRIVE] = run_arrive,
                                             [CODE_MBARRIER_DROP] = run_drop,
                                             [CODE_MBARRIER_ARRIVE_EXPECT] = run_arrive_expect,
                                             [CODE_MBARRIER_DROP_EXPECT] = run_drop_expect,
                                             [CODE_MBARRIER_WAIT] = run_wait,
                                             [CODE_MBARRIER_PENDING] = run_pending};
    return handlers[what];
}
