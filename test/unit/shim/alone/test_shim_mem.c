/* SPDX-License-Identifier: Apache-2.0
 *
 * Device memory as the worker sees it: the records that are sent, their order, and which of them
 * wait for an answer. The test replaces the ring, the streams and the pools.
 */
#include "shim/memory/mem.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "proto/gen/prototypes.h"
#include "proto/wire/wire.h"
#include "shim/capture/capture.h"
#include "shim/connection/refuse.h"
#include "shim/connection/reply.h"
#include "shim/connection/submit.h"
#include "shim/context/ctx.h"
#include "shim/context/stream.h"
#include "shim/graph/graph_memory.h"
#include "shim/host_memory/registered.h"
#include "shim/ipc/opened.h"
#include "shim/memory/pool.h"

#define BASE 0x300000000000ull
#define HOST 0x310000000000ull
#define GRANULE (2ull << 20)
#define HALF (64 * GRANULE)
#define SENT_MAX 4096

struct sent {
    uint16_t op;
    uint64_t addr, bytes;
    bool asked;
};

static struct sent sent[SENT_MAX];
static int sent_count, asked;
static uint64_t answered_up_to; /* granules that the worker grants in all */
static uint64_t backed;
static struct wire_completion *completion;

/* ---- other parts of the library, replaced ---------------------------------------------------- */

struct state state;

CUresult state_say(uint32_t fault) {
    return (CUresult)fault;
}

__thread struct ctx_thread *ctx_self __attribute__((tls_model("initial-exec")));

static void log_record(const void *head, bool waits) {
    const struct wire_mem *m = head;
    cr_assert_lt(sent_count, SENT_MAX);
    sent[sent_count++] = (struct sent){m->rec.op, m->addr, m->bytes, waits};
    if (m->rec.op == WIRE_MEM_BACK) backed += m->bytes / GRANULE;
    if (m->rec.op == WIRE_MEM_UNBACK) backed -= m->bytes / GRANULE;
}

static bool full; /* the ring */

bool submit_try(void *record, uint32_t bytes, uint64_t *credit) {
    if (full) return false;
    log_record(record, false);
    return true;
}

static int waits;
/* runs on another thread while one waits for space in the ring */
static void *(*meanwhile)(void *arg);

/* A thread waits for space only with the ring full and no lock held. */
CUresult submit_wait(uint64_t credit) {
    struct mem_block b;
    pthread_t thread;
    waits++;
    cr_assert(full);
    mem_find(BASE, &b);
    if (meanwhile) {
        void *(*call)(void *arg) = meanwhile;
        meanwhile = NULL;
        cr_assert_eq(pthread_create(&thread, NULL, call, NULL), 0);
        pthread_join(thread, NULL);
    }
    full = false;
    return CUDA_SUCCESS;
}

void state_lose(int err) {
    cr_assert_fail("nobody is lost here");
}

static uint64_t admits; /* granules that the job can get once it is admitted; 0: it is admitted */
static const char *refusal = ""; /* the worker's reason */
static char refused[64];

void refuse_addresses(uint64_t bytes, uint64_t window_bytes) {}

void refuse_more(enum refuse_thing what, uint64_t most) {}

void refuse_memory(size_t bytes, const char *reason, size_t reason_bytes) {
    snprintf(refused, sizeof(refused), "%zu %.*s", bytes, (int)reason_bytes, reason);
}

CUresult reply_call(void *head, uint32_t head_bytes, const void *tail, uint32_t tail_bytes,
                    struct reply *out) {
    const struct wire_mem *m = head;
    asked++;
    if (m->rec.op == WIRE_PING) {
        if (admits) atom_store_relaxed(&completion->obtainable.persistent, admits);
        return CUDA_SUCCESS;
    }
    if (backed + m->bytes / GRANULE > answered_up_to) {
        out->bytes = (uint32_t)strlen(refusal);
        memcpy(out->data, refusal, out->bytes);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    log_record(head, true);
    return CUDA_SUCCESS;
}

CUresult stream_drain(void) {
    return CUDA_SUCCESS;
}

CUresult pool_give(const struct mem_block *b, uint32_t stream, uint64_t seq) {
    mem_keep(b);
    return CUDA_SUCCESS;
}

_Atomic uint32_t capture_careful;
CUresult capture_forbid(void) {
    return CUDA_SUCCESS;
}
CUresult graph_memory_free(uint64_t addr, uint32_t stream, uint64_t seq) {
    return CUDA_ERROR_INVALID_VALUE;
}
static uint64_t reclaimable; /* granules that pools keep in reserve */

bool pool_reclaim_all(void) {
    bool any = reclaimable > 0;
    answered_up_to += reclaimable;
    reclaimable = 0;
    return any;
}
uint64_t registered_device(uint64_t addr, uint64_t bytes) {
    return 0;
}
bool registered_find_device(uint64_t device, struct registered_range *out) {
    return false;
}

bool opened_give(uint64_t addr, bool pooled) {
    return false;
}

/* ---- setup and helpers ----------------------------------------------------------------------- */

static struct ctx_thread self;
static struct context context, *stack[] = {&context};
static _Atomic uint32_t alive = 1;

static void begin(void) {
    completion = calloc(1, sizeof(*completion));
    state.conn.completion = completion;
    state.conn.windows = (struct wire_windows){BASE, 2 * HALF, GRANULE, HOST, 64 * GRANULE};
    state.conn.device.granularity_bytes = GRANULE;
    state.conn.device.memory_bytes = HALF;
    atom_store_release(&state.alive, &alive);
    atom_store_relaxed(&context.live, 1);
    self.stack = stack;
    self.depth = 1;
    ctx_self = &self;
    sent_count = asked = 0;
    backed = 0;
    answered_up_to = UINT64_MAX;
    cr_assert_eq(mem_init(), 0);
}

static void set_credit(uint64_t persistent, uint64_t ephemeral) {
    atom_store_relaxed(&completion->persistent_credit, persistent);
    atom_store_relaxed(&completion->ephemeral_credit, ephemeral);
}

static void boundary(uint64_t count, uint64_t uses) {
    atom_store_relaxed(&completion->boundary_uses, uses);
    atom_store_relaxed(&completion->boundary_filled, uses);
    atom_store_release(&completion->boundaries, count);
}

TestSuite(shim_mem, .init = begin);

static CUdeviceptr take_plain(uint64_t bytes) {
    CUdeviceptr addr = 0;
    cr_assert_eq(cuMemAlloc_v2(&addr, bytes), CUDA_SUCCESS);
    return addr;
}

static uint64_t take_pooled(uint64_t bytes) {
    struct mem_place place = mem_place(bytes, STREAM_LEGACY);
    uint64_t addr = 0;
    cr_assert_eq(mem_take_device(&place, MEM_POOLED, 0, 0, bytes, &addr), CUDA_SUCCESS);
    return addr;
}

/* Returns the records since the last call, one letter each: B back, U unback, u use, d drop, `!`
 * another; `?` marks a request. */
static const char *records(void) {
    static char text[2 * SENT_MAX + 1];
    int n = 0;
    for (int i = 0; i < sent_count; i++) {
        text[n++] = sent[i].op == WIRE_MEM_BACK     ? 'B'
                    : sent[i].op == WIRE_MEM_UNBACK ? 'U'
                    : sent[i].op == WIRE_MEM_USE    ? 'u'
                    : sent[i].op == WIRE_MEM_DROP   ? 'd'
                                                    : '!';
        if (sent[i].asked) text[n++] = '?';
    }
    text[n] = '\0';
    sent_count = 0;
    return text;
}

Test(shim_mem, each_call_has_its_window) {
    uint64_t plain = take_plain(1000), pooled = take_pooled(1000);
    cr_assert(plain >= BASE && plain < BASE + HALF);
    cr_assert(pooled >= BASE + HALF && pooled < BASE + 2 * HALF);
    struct mem_block b;
    cr_assert(mem_find(plain + 999, &b));
    cr_assert(b.addr == plain && b.bytes == 1000 && b.device && b.window == MEM_PERSISTENT);
    cr_assert(mem_find(pooled + 999, &b));
    cr_assert(b.addr == pooled && b.kind == MEM_POOLED && b.window == MEM_EPHEMERAL);
    cr_assert_not(mem_find(pooled + 1000, &b));
    size_t free_bytes, total;
    cr_assert_eq(cuMemGetInfo_v2(&free_bytes, &total), CUDA_SUCCESS);
    cr_assert_eq(total, HALF);
    cr_assert_eq(total - free_bytes, 2 * GRANULE, "one granule in each window");
}

/* ---- memory reported as free ----------------------------------------------------------------- */

static uint64_t free_granules(void) {
    size_t free_bytes, total;
    cr_assert_eq(cuMemGetInfo_v2(&free_bytes, &total), CUDA_SUCCESS);
    cr_assert_eq(total, HALF);
    return free_bytes / GRANULE;
}

/* Makes the worker report that the persistent window can get this many granules. */
static void can_have(uint64_t granules) {
    state.conn.minor = 9;
    atom_store_relaxed(&completion->obtainable.persistent, granules);
}

Test(shim_mem, what_is_free_can_be_had) {
    can_have(20);
    set_credit(20, 20);
    cr_expect_eq(free_granules(), 20);
    uint64_t all = take_plain(18 * GRANULE);
    cr_expect_eq(free_granules(), 2);
    uint64_t pooled = take_pooled(GRANULE); /* in the other window, which the job had reserved */
    cr_expect_eq(free_granules(), 1, "what the program allocates is not free");
    mem_give(pooled);
    cr_expect_eq(free_granules(), 2);
    mem_give(all);
    cr_expect_eq(free_granules(), 20);
}

Test(shim_mem, who_waits_for_admission_is_told_when_it_is_over) {
    can_have(0);
    admits = 5;
    cr_expect_eq(free_granules(), 5);
    cr_expect_eq(asked, 1, "a record that is read when the job is admitted");
}

/* vLLM fails when its second query returns more free memory than the first. */
Test(shim_mem, what_neighbours_give_back_does_not_show) {
    can_have(20);
    set_credit(20, 20);
    uint64_t held = take_plain(2 * GRANULE);
    cr_expect_eq(free_granules(), 18);
    can_have(30);
    cr_expect_eq(free_granules(), 18);
    can_have(10);
    cr_expect_eq(free_granules(), 8, "what they take does");
    can_have(30);
    cr_expect_eq(free_granules(), 8);
    mem_give(held);
    cr_expect_eq(free_granules(), 30, "who holds nothing measures the device");
}

Test(shim_mem, who_was_refused_looks_again) {
    can_have(20);
    set_credit(20, 20);
    take_plain(2 * GRANULE);
    cr_expect_eq(free_granules(), 18);
    answered_up_to = 20;
    uint64_t at;
    struct mem_place place = mem_place(30 * GRANULE, LEARN_NO_STREAM);
    cr_assert_neq(mem_take_device(&place, MEM_PLAIN, 0, 0, 30 * GRANULE, &at), CUDA_SUCCESS);
    can_have(25);
    cr_expect_eq(free_granules(), 23);
    can_have(26);
    cr_expect_eq(free_granules(), 23, "once");
    set_credit(26, 20);
    take_plain(24 * GRANULE); /* the program has more memory than was reported to it */
    can_have(40);
    cr_expect_eq(free_granules(), 14);
}

/* The user's limit may have been raised since the program read it as the total at its start. */
Test(shim_mem, more_than_the_total_is_for_the_worker_to_refuse) {
    CUdeviceptr addr = 0;
    state.conn.device.memory_bytes = 20 * GRANULE;
    answered_up_to = 20;
    refusal = "user_device_memory";
    cr_expect_eq(cuMemAlloc_v2(&addr, 30 * GRANULE), CUDA_ERROR_OUT_OF_MEMORY);
    cr_expect_str_eq(refused, "62914560 user_device_memory", "the program is told why");
    answered_up_to = 64;
    cr_expect_eq(cuMemAlloc_v2(&addr, 30 * GRANULE), CUDA_SUCCESS);
    asked = 0;
    cr_expect_eq(cuMemAlloc_v2(&addr, 3 * HALF), CUDA_ERROR_OUT_OF_MEMORY);
    cr_expect_eq(asked, 0, "no window has addresses for it");
}

Test(shim_mem, ephemeral_blocks_are_announced) {
    set_credit(8, 8);
    uint64_t plain = take_plain(1000), first = take_pooled(1000), second = take_pooled(3 * GRANULE);
    cr_assert_str_eq(records(), "BBuBu");
    mem_give(plain);
    cr_assert_str_eq(records(), "");
    mem_give(second + GRANULE);
    cr_assert_str_eq(records(), "", "nothing begins there");
    mem_give(second);
    cr_assert_eq(sent[0].addr, second);
    cr_assert_eq(sent[0].bytes, 3 * GRANULE, "as given out");
    cr_assert_str_eq(records(), "d");
    mem_give(first);
    mem_give(first);
    cr_assert_str_eq(records(), "d", "a block dies once");
}

Test(shim_mem, a_drop_comes_before_the_memory_leaves) {
    set_credit(64, 64);
    uint64_t large = take_pooled(40 * GRANULE); /* more than the window keeps backed */
    records();
    mem_give(large);
    cr_assert_str_eq(records(), "dU");
}

Test(shim_mem, what_a_pool_keeps_is_not_alive) {
    set_credit(8, 8);
    struct mem_place place = mem_place(1000, STREAM_LEGACY);
    uint64_t addr = take_pooled(1000);
    struct mem_block b;
    cr_assert(mem_find(addr, &b));
    mem_keep(&b);
    cr_assert_str_eq(records(), "Bud");
    cr_assert(mem_find(addr, &b));
    cr_assert_eq(b.kind, MEM_POOL_FREE);
    mem_reuse(addr, &place, 0, 0, 900);
    cr_assert_eq(sent[0].bytes, 900);
    cr_assert_str_eq(records(), "u");
    cr_assert(mem_find(addr, &b));
    mem_keep(&b);
    mem_give(addr);
    cr_assert_str_eq(records(), "d", "once, though it is freed twice: from the pool and for good");
}

Test(shim_mem, the_end_of_a_context_drops_what_lives) {
    set_credit(8, 8);
    take_plain(1000);
    uint64_t kept = take_pooled(1000);
    take_pooled(2000);
    struct mem_block b;
    cr_assert(mem_find(kept, &b));
    mem_keep(&b);
    records();
    mem_release(0);
    cr_assert_str_eq(records(), "d", "the one that lives");
    cr_assert_not(mem_find(kept, &b));
}

Test(shim_mem, a_full_ring_keeps_the_order) {
    set_credit(64, 64);
    uint64_t first = take_pooled(1000);
    records();
    full = true;
    uint64_t large = take_pooled(40 * GRANULE);
    cr_assert_not(full, "who took it waited until it was told");
    cr_assert_str_eq(records(), "Bu");
    full = true;
    mem_give(large);
    mem_give(first);
    cr_assert_str_eq(records(), "dUd");
    struct mem_block b;
    cr_assert(mem_find(take_pooled(1000), &b));
    records();
    full = true;
    mem_keep(&b);
    cr_assert(full, "a pool's lock is held: it does not wait");
    full = false;
    mem_reuse(b.addr, &(struct mem_place){.window = MEM_EPHEMERAL}, 0, 0, 1000);
    cr_assert_str_eq(records(), "", "not ahead of what is kept back");
    mem_tell();
    cr_assert_str_eq(records(), "du");
}

static void *take_beside(void *arg) {
    struct mem_place place = {.window = MEM_PERSISTENT};
    uint64_t addr;
    cr_assert_eq(mem_take_device(&place, MEM_PLAIN, 0, 0, 900, &addr), CUDA_SUCCESS);
    return NULL;
}

static void *look(void *arg) {
    struct mem_block b;
    cr_assert_not(mem_find(BASE + HALF, &b));
    mem_tell();
    return NULL;
}

Test(shim_mem, nobody_builds_on_what_is_not_told) {
    set_credit(64, 64);
    full = true;
    meanwhile = take_beside;
    take_plain(1000);
    cr_assert_eq(waits, 2, "the second, from the first one's granule, waits as well");
    full = true;
    waits = 0;
    meanwhile = look;
    take_plain(2 * GRANULE);
    cr_assert_eq(waits, 1, "who takes nothing does not");
    cr_assert_str_eq(records(), "BB");
}

/* ---- round trips ----------------------------------------------------------------------------- */

Test(shim_mem, none_in_a_steady_state_within_the_credit) {
    set_credit(100, 100);
    for (int round = 0; round < 50; round++) {
        CUdeviceptr a = take_plain(40 * GRANULE);
        uint64_t b =
            /* both exceed what the window keeps backed, so they are backed each round */
            take_pooled(50 * GRANULE);
        mem_give(b);
        cr_assert_eq(cuMemFree_v2(a), CUDA_SUCCESS);
        cr_assert_str_eq(records(), "BBudUU");
    }
    cr_assert_eq(asked, 0);
}

Test(shim_mem, one_for_what_is_beyond_the_credit) {
    set_credit(4, 2);
    for (int i = 0; i < 4; i++)
        take_plain(GRANULE);
    take_pooled(2 * GRANULE);
    cr_assert_eq(asked, 0);
    records();
    take_plain(GRANULE);
    take_pooled(GRANULE);
    cr_assert_str_eq(records(), "B?B?u");
    set_credit(6, 4);
    take_plain(GRANULE);
    take_pooled(GRANULE);
    cr_assert_str_eq(records(), "BBu", "the credit grew with the grant");
}

Test(shim_mem, a_refusal_is_out_of_memory) {
    CUdeviceptr addr;
    answered_up_to = 4;
    take_plain(3 * GRANULE);
    cr_assert_eq(cuMemAlloc_v2(&addr, 2 * GRANULE), CUDA_ERROR_OUT_OF_MEMORY);
    cr_assert_eq(cuMemAlloc_v2(&addr, GRANULE), CUDA_SUCCESS, "the job goes on");
    records();
}

/* Pools of this process hold memory that counts against the limit. */
Test(shim_mem, what_is_granted_in_the_end_was_not_refused) {
    CUdeviceptr addr;
    answered_up_to = 1;
    reclaimable = 1;
    refusal = "a limit";
    cr_assert_eq(cuMemAlloc_v2(&addr, 2 * GRANULE), CUDA_SUCCESS);
    cr_assert_str_empty(refused);
    cr_assert_eq(cuMemAlloc_v2(&addr, 2 * GRANULE), CUDA_ERROR_OUT_OF_MEMORY);
    cr_assert(strstr(refused, " a limit"), "%s", refused);
    records();
}

Test(shim_mem, what_a_limit_refuses_is_said_with_its_words) {
    CUdeviceptr addr;
    answered_up_to = 1;
    cr_assert_eq(cuMemAlloc_v2(&addr, 2 * GRANULE), CUDA_ERROR_OUT_OF_MEMORY);
    cr_assert_str_empty(refused); /* a full device is not a limit */
    refusal = "a limit";
    cr_assert_eq(cuMemAlloc_v2(&addr, 2 * GRANULE), CUDA_ERROR_OUT_OF_MEMORY);
    cr_assert(strstr(refused, " a limit"), "%s", refused);
    records();
}

Test(shim_mem, a_refusal_after_the_cache_was_given_up) {
    answered_up_to = 6;
    CUdeviceptr a = take_plain(3 * GRANULE);
    take_plain(2 * GRANULE);
    cr_assert_eq(cuMemFree_v2(a), CUDA_SUCCESS);
    records();
    take_plain(4 * GRANULE);
    cr_assert_str_eq(records(), "UB?", "three empty granules stood in the way");
}

/* ---- learning -------------------------------------------------------------------------------- */

static bool is_ephemeral(uint64_t addr) {
    return addr >= BASE + HALF;
}

/* Sets the position in the program before an allocation, so that keys repeat. */
static void at(uint32_t launch) {
    mem_self.latest.func = launch;
    mem_self.previous_bytes = 0;
}

Test(shim_mem, a_pooled_block_that_outlived_an_iteration_moves) {
    boundary(1, 0);
    at(1);
    uint64_t stays = take_pooled(4096);
    at(2);
    uint64_t goes = take_pooled(4096);
    mem_give(goes);
    boundary(2, 2);
    at(1);
    cr_assert_not(is_ephemeral(take_pooled(4096)));
    at(2);
    cr_assert(is_ephemeral(take_pooled(4096)));
    cr_assert(is_ephemeral(stays), "where it is, it stays");
}

Test(shim_mem, a_pooled_block_that_holds_nothing_yet_stays) {
    boundary(1, 0);
    at(1);
    uint64_t fresh = take_pooled(4096);
    at(2);
    struct mem_block b;
    cr_assert(mem_find(take_pooled(4096), &b));
    mem_written(&b);
    boundary(2, 2);
    atom_store_relaxed(&completion->boundary_filled, 0);
    at(1);
    cr_assert(is_ephemeral(take_pooled(4096)));
    at(2);
    cr_assert_not(is_ephemeral(take_pooled(4096)), "it was copied ahead");
    mem_give(fresh);
}

Test(shim_mem, a_plain_block_that_never_outlives_one_moves) {
    boundary(1, 0);
    for (uint64_t i = 0; i < 2; i++) {
        at(1);
        CUdeviceptr addr = take_plain(4096);
        cr_assert_not(is_ephemeral(addr));
        cr_assert_eq(cuMemFree_v2(addr), CUDA_SUCCESS);
        boundary(2 + i, 0);
    }
    at(1);
    cr_assert(is_ephemeral(take_plain(4096)));
    boundary(4, 1); /* alive: a counterexample */
    at(1);
    cr_assert_not(is_ephemeral(take_plain(4096)));
}

Test(shim_mem, without_boundaries_nothing_moves) {
    for (int i = 0; i < 100; i++) {
        at(1);
        CUdeviceptr a = take_plain(4096);
        uint64_t b = take_pooled(4096);
        cr_assert(!is_ephemeral(a) && is_ephemeral(b));
        cr_assert_eq(cuMemFree_v2(a), CUDA_SUCCESS);
        sent_count = 0;
    }
}

/* ---- random, against a model of the worker --------------------------------------------------- */

#define LIVE 200

static int find(const uint64_t *list, int count, uint64_t addr) {
    for (int i = 0; i < count; i++) {
        if (list[i] == addr) return i;
    }
    return -1;
}

/* Checks that no granule is backed twice, that each announcement is of a block in backed memory,
 * and that no block is announced twice without a drop between. */
static void check_records(void) {
    static bool has_memory[2 * HALF / GRANULE];
    static uint64_t alive_list[LIVE];
    static int alive_count;
    for (int i = 0; i < sent_count; i++) {
        const struct sent *s = &sent[i];
        uint64_t first = (s->addr - BASE) / GRANULE,
                 last = (s->addr + s->bytes - 1 - BASE) / GRANULE;
        int known = find(alive_list, alive_count, s->addr);
        for (uint64_t g = first; g <= last; g++) {
            cr_assert_eq(has_memory[g], s->op != WIRE_MEM_BACK, "record %d", i);
            has_memory[g] = s->op != WIRE_MEM_UNBACK;
        }
        if (s->op == WIRE_MEM_USE) {
            cr_assert(known < 0 && is_ephemeral(s->addr));
            alive_list[alive_count++] = s->addr;
        } else if (s->op == WIRE_MEM_DROP) {
            cr_assert_geq(known, 0);
            alive_list[known] = alive_list[--alive_count];
        }
    }
    sent_count = 0;
}

Test(shim_mem, random_walk) {
    uint64_t blocks[LIVE];
    int count = 0;
    uint64_t uses = 0, boundaries = 0;
    srand(1);
    for (int i = 0; i < 20000; i++) {
        set_credit((uint64_t)rand() % 40, (uint64_t)rand() % 40);
        at((uint32_t)rand() % 4);
        uint64_t bytes = 1 + (uint64_t)rand() % (rand() % 4 ? 8192 : 2 * GRANULE);
        if (count < LIVE && rand() % 2) {
            blocks[count++] = rand() % 2 ? take_plain(bytes) : take_pooled(bytes);
        } else if (count) {
            int at_index = rand() % count;
            mem_give(blocks[at_index]);
            blocks[at_index] = blocks[--count];
        }
        for (int k = 0; k < sent_count; k++)
            uses += sent[k].op == WIRE_MEM_USE;
        if (rand() % 50 == 0) boundary(++boundaries, uses);
        check_records();
    }
}
