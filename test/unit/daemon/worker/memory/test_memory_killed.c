/* SPDX-License-Identifier: Apache-2.0
 *
 * A process with the memory of three clients is killed at a random point, and another one adopts
 * what it left, and is killed in turn. A ledger outside the processes records the contents of each
 * page: every word as the process wrote it, or was about to. A client without its lane's turn need
 * not find its bytes there, but it never finds another owner's.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/atomics.h"
#include "common/err.h"
#include "common/fdutil.h"
#include "daemon/device/device_recovery.h"
#include "daemon/worker/memory/memory.h"
#include "daemon/worker/memory/memory_check.h"
#include "daemon/worker/memory/memory_clear.h"
#include "daemon/worker/memory/memory_join.h"
#include "daemon/worker/memory/memory_lane.h"
#include "daemon/worker/memory/memory_recovery.h"
#include "daemon/worker/memory/memory_segment.h"
#include "daemon/worker/memory/memory_state.h"
#include "daemon/worker/memory/memory_swap.h"
#include "test/lib/patience.h"

#define MIB (1ull << 20)
#define GRAN (2 * MIB)
#define BASE 0x210000000000ull
#define STRIDE 0x10000000000ull
#define HALF 4u
#define PAGES (2 * HALF)
#define CLIENTS 3
#define LANES 2
#define MEMORY (40 * GRAN)
#define GENERATIONS 160
#define WORD_EVERY 512u
#define NOBODY (-1)

struct line {
    _Atomic uint32_t has;   /* the page is backed */
    _Atomic uint32_t known; /* the page's words are of version `before` or `after` */
    _Atomic uint32_t before, after;
};

/* The operation during which the process was killed. */
enum at { AT_NOTHING, AT_BACK, AT_UNBACK };

struct ledger {
    struct line pages[CLIENTS][PAGES];
    _Atomic uint32_t elsewhere[CLIENTS]; /* the client may hold segments */
    _Atomic uint32_t at, at_client, at_first, at_count;
    _Atomic uint64_t steps, adopted, lost, changed;
    char wrong[256];
};

static struct ledger *ledger;
static struct memory_recovery *recovery_states[CLIENTS];
static struct dev *dev;
static struct dev_space *spaces[CLIENTS];
static struct memory *mem[CLIENTS];
static struct memory_lane *lanes[LANES];
static int lane_of[CLIENTS], turn[LANES];
static uint64_t state;
static uint64_t buffer[GRAN / 8], zeros[GRAN / 8];

static uint32_t dice(uint32_t below) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(state >> 33) % below;
}

/* Reports the error and ends the process. */
__attribute__((format(printf, 1, 2))) static void wrong(const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(ledger->wrong, sizeof(ledger->wrong), format, args);
    va_end(args);
    _exit(1);
}

static uint64_t page_at(int c, uint32_t page) {
    return BASE + (uint64_t)c * STRIDE + page * GRAN;
}

static volatile uint64_t *word_at(uint64_t addr) {
    return (volatile uint64_t *)(uintptr_t)addr;
}

/* Any word identifies its owner; version 0 is zeros. */
static uint64_t word_of(int c, uint32_t page, uint32_t version) {
    return version ? (uint64_t)(c + 1) << 56 | (uint64_t)page << 40 | version : 0;
}

/* ---- checks of what was left ----------------------------------------------------------------- */

static void check_words(int c, uint32_t page, const volatile uint64_t *words) {
    struct line *l = &ledger->pages[c][page];
    uint64_t before = word_of(c, page, l->before), after = word_of(c, page, l->after);
    for (uint32_t i = 0; i < GRAN / 8; i += WORD_EVERY / 8) {
        if (words[i] >> 56 && words[i] >> 56 != (uint64_t)(c + 1))
            wrong("client %d page %u shows another owner's %lx", c, page, words[i]);
        if (l->known && words[i] != before && words[i] != after)
            wrong("client %d page %u word %u is %lx, not %lx or %lx", c, page, i, words[i], before,
                  after);
    }
}

static bool is_changing(int c, uint32_t page) {
    return ledger->at != AT_NOTHING && ledger->at_client == (uint32_t)c &&
           page >= ledger->at_first && page - ledger->at_first < ledger->at_count;
}

static void check_page(int c, uint32_t page) {
    const struct page *p = &mem[c]->pages[page];
    const struct line *l = &ledger->pages[c][page];
    if (p->state == PAGE_NONE) {
        if (l->has && !is_changing(c, page)) wrong("client %d page %u is gone", c, page);
    } else if (!l->has && !is_changing(c, page)) {
        wrong("client %d page %u was never backed", c, page);
    } else if (p->state == PAGE_PRIVATE) {
        check_words(c, page, word_at(page_at(c, page)));
    } else if (p->state == PAGE_SWAPPED) {
        check_words(c, page, p->host ? p->host : zeros);
    } else if (p->state != PAGE_LANE) {
        wrong("client %d page %u is in state %u", c, page, p->state);
    } else if (mem[c]->slots[p->slot].state == SLOT_SPILLED_HOST) {
        check_words(c, page, mem[c]->slots[p->slot].host);
    } else if (mem[c]->slots[p->slot].state == SLOT_SPILLED) {
        dev_soft.chunk_save(dev, buffer, mem[c]->slots[p->slot].chunk);
        check_words(c, page, buffer);
    } else if (l->known) {
        wrong("client %d page %u has lost its bytes", c, page);
    }
}

/* A change was made completely or not at all. */
static void settle_change(void) {
    if (ledger->at == AT_NOTHING) return;
    uint32_t c = ledger->at_client, there = 0;
    for (uint32_t i = 0; i < ledger->at_count; i++)
        there += mem[c]->pages[ledger->at_first + i].state != PAGE_NONE;
    if (there && there != ledger->at_count)
        wrong("%u of %u pages were changed", there, ledger->at_count);
    for (uint32_t i = 0; i < ledger->at_count; i++)
        ledger->pages[c][ledger->at_first + i].has = there != 0;
    ledger->changed++;
    ledger->at = AT_NOTHING;
}

/* A page being written has words of two versions, or of three if it is written again. */
static void settle_words(struct line *l) {
    if (l->before == l->after) return;
    atom_store_release(&l->known, 0);
    atom_store_release(&l->before, l->after);
}

static void forget_client(int c) {
    for (uint32_t page = 0; page < PAGES; page++)
        ledger->pages[c][page] = (struct line){.has = 0};
    if (ledger->at_client == (uint32_t)c) ledger->at = AT_NOTHING;
    ledger->elsewhere[c] = 0;
}

/* Creates a new client with this number. `loss` is cleared last. */
static void empty_recovery_state(int c) {
    struct memory_recovery *e = recovery_states[c];
    for (uint32_t page = 0; page < PAGES; page++)
        e->pages[page] = 0;
    e->in_lane = 0;
    e->changing = 0;
    atom_store_release(&e->loss, MEMORY_WHOLE);
}

static bool has_nothing(int c) {
    bool nothing = true;
    for (uint32_t page = 0; page < PAGES; page++)
        nothing &= mem[c]->pages[page].state == PAGE_NONE;
    return nothing;
}

static void adopt_client(int c) {
    int err = memory_adopt(mem[c], recovery_states[c], -1, 0);
    if (err == -EPERM && ledger->elsewhere[c]) {
        ledger->lost++;
        empty_recovery_state(c);
        err = memory_adopt(mem[c], recovery_states[c], -1, 0);
    }
    if (err) wrong("client %d cannot be adopted: %d", c, err);
    if (ledger->elsewhere[c] && has_nothing(c)) forget_client(c);
    ledger->elsewhere[c] = 0;
}

static void adopt_all(int memory_fd) {
    static const struct dev_space_ops space_ops;
    struct dev_config config = {.memory_bytes = MEMORY, .threads = 1, .memory_fd = memory_fd};
    if (dev_soft.open(&dev, &config)) wrong("the device cannot be opened");
    for (int i = 0; i < LANES; i++) {
        if (memory_lane_create(&lanes[i], &dev_soft, dev)) wrong("no lane");
        turn[i] = NOBODY;
    }
    for (int c = 0; c < CLIENTS; c++) {
        struct dev_windows w = {page_at(c, 0), PAGES * GRAN, GRAN, 0, 0, 0};
        lane_of[c] = NOBODY;
        if (dev_soft.space_create(dev, &w, &space_ops, NULL, &spaces[c])) wrong("no space");
        if (memory_create(&mem[c], &dev_soft, dev, spaces[c], &w, GRAN)) wrong("no memory");
        memory_set_owner(mem[c], (uint64_t)c + 1);
        adopt_client(c);
    }
    for (int c = 0; c < CLIENTS; c++)
        for (uint32_t page = 0; page < PAGES; page++)
            check_page(c, page);
    for (int c = 0; c < CLIENTS; c++)
        for (uint32_t page = 0; page < PAGES; page++)
            settle_words(&ledger->pages[c][page]);
    settle_change();
    dev_soft.recovery->memory_settle(dev);
    ledger->adopted++;
}

/* ---- operations ------------------------------------------------------------------------------ */

static void must(int err, const char *what) {
    if (err && err != ERR_NO_MEMORY) wrong("%s: %d", what, err);
}

static bool in_lane(int c, uint32_t page) {
    const struct page *p = &mem[c]->pages[page];
    return p->state == PAGE_LANE && mem[c]->slots[p->slot].state == SLOT_LANE;
}

/* Ends the client's turn: the lane's contents belong to no client. */
static void end_turn(int c) {
    for (uint32_t page = 0; page < PAGES; page++)
        if (in_lane(c, page)) ledger->pages[c][page].known = 0;
    if (lane_of[c] != NOBODY && turn[lane_of[c]] == c) turn[lane_of[c]] = NOBODY;
}

static bool has_turn(int c) {
    return lane_of[c] != NOBODY && turn[lane_of[c]] == c;
}

static void do_back(int c) {
    uint32_t half = dice(2), first = dice(HALF), count = 1 + dice(HALF - first);
    first += half * HALF;
    for (uint32_t i = first; i < first + count; i++)
        if (mem[c]->pages[i].state != PAGE_NONE) return;
    ledger->at_client = (uint32_t)c;
    ledger->at_first = first;
    ledger->at_count = count;
    for (uint32_t i = first; i < first + count; i++) /* zeros, or the lane's contents */
        ledger->pages[c][i] = (struct line){.known = !half};
    atom_store_release(&ledger->at, AT_BACK);
    int err = memory_back(mem[c], page_at(c, first), count * GRAN);
    must(err, "back");
    for (uint32_t i = first; !err && i < first + count; i++)
        ledger->pages[c][i].has = 1;
    atom_store_release(&ledger->at, AT_NOTHING);
}

static void do_unback(int c) {
    uint32_t first = dice(PAGES), count = 1;
    if (first % HALF + 1 < HALF) count += dice(2);
    for (uint32_t i = first; i < first + count; i++)
        if (mem[c]->pages[i].state == PAGE_NONE) return;
    ledger->at_client = (uint32_t)c;
    ledger->at_first = first;
    ledger->at_count = count;
    atom_store_release(&ledger->at, AT_UNBACK);
    must(memory_unback(mem[c], page_at(c, first), count * GRAN), "unback");
    for (uint32_t i = first; i < first + count; i++)
        ledger->pages[c][i].has = 0;
    atom_store_release(&ledger->at, AT_NOTHING);
}

static void do_write(int c) {
    static uint32_t versions;
    uint32_t page = dice(PAGES);
    struct line *l = &ledger->pages[c][page];
    if (!mem[c]->pages[page].mapped || memory_spilled(mem[c]) || memory_swapped(mem[c])) return;
    if (in_lane(c, page) && !has_turn(c)) return;
    if (++versions <= l->after) versions = l->after + 1;
    atom_store_release(&l->after, versions);
    for (uint32_t i = 0; i < GRAN; i += WORD_EVERY)
        *word_at(page_at(c, page) + i) = word_of(c, page, versions);
    atom_store_release(&l->before, versions);
    atom_store_release(&l->known, 1);
}

/* A random part, or all at once. Between two parts of a swap, any client may get any request. */
static uint32_t some(void) {
    return dice(2) ? 1 + dice(2) : MEMORY_ALL;
}

static int spill(int c) {
    uint64_t moved;
    bool to_host = dice(2);
    int err = 0;
    do
        err = memory_spill(mem[c], to_host, some(), &moved);
    while (!err && memory_spilling(mem[c]));
    return err;
}

static void do_turn(int c) {
    uint64_t moved;
    int lane = lane_of[c];
    if (lane == NOBODY || turn[lane] == c || memory_swapped(mem[c])) return;
    int other = turn[lane];
    if (other != NOBODY && dice(2)) {
        if (spill(other)) return;
        turn[lane] = NOBODY;
    } else if (other != NOBODY) {
        end_turn(other);
    }
    do
        must(memory_restore(mem[c], some(), &moved), "restore");
    while (memory_spilled(mem[c]));
    if (!memory_recovery_lacks(recovery_states[c])) atom_store_release(&ledger->elsewhere[c], 0);
    memory_enter(mem[c], dice(HALF) * GRAN);
    while (memory_unclear(mem[c]))
        must(memory_clear(mem[c], 1), "clear");
    turn[lane] = c;
}

static void do_join(int c) {
    int lane = (int)dice(LANES + 1) - 1;
    end_turn(c);
    struct memory_lane *to = lane < 0 ? NULL : lanes[lane];
    int err = 0;
    do
        err = memory_join(mem[c], to, some());
    while (!err && !memory_joined(mem[c], to));
    must(err, "join");
    if (!err) lane_of[c] = lane;
}

static void do_keep(int c) {
    uint32_t first = HALF + dice(HALF), count = 1 + dice(PAGES - first);
    uint64_t copied;
    if (memory_swapped(mem[c])) return;
    must(memory_keep(mem[c], page_at(c, first), count * GRAN, some(), &copied), "keep");
}

static void do_swap(int c) {
    uint64_t moved;
    if (dice(4) && !memory_swapped(mem[c])) return;
    must(memory_swap_out(mem[c], some(), &moved), "swap out");
}

static void do_return(int c) {
    uint64_t moved;
    must(memory_swap_in(mem[c], some(), &moved), "swap in");
}

static void do_segment(int c) {
    struct segment *s;
    uint64_t at = page_at(c, dice(HALF));
    if (dice(8)) return;
    atom_store_release(&ledger->elsewhere[c], 1);
    if (!memory_segment_make(mem[c], 1, GRAN, 5)) must(memory_segment_close(mem[c], 1), "close");
    (void)memory_segment_share(mem[c], at, GRAN, 5, &s);
}

static void do_shrink(int c) {
    int err = memory_lane_shrink(lanes[dice(LANES)], dice(HALF) * GRAN, some());
    if (err != -EBUSY) must(err, "shrink");
}

static void (*const calls[])(int c) = {
    do_back,  do_back, do_back, do_unback, do_write, do_write,  do_turn,  do_turn,   do_turn,
    do_write, do_join, do_keep, do_keep,   do_swap,  do_return, do_write, do_shrink, do_segment};

_Noreturn static void live(int memory_fd) {
    const char *what;
    adopt_all(memory_fd);
    for (;;) {
        int c = (int)dice(CLIENTS);
        uint32_t call = dice(sizeof(calls) / sizeof(*calls));
        calls[call](c);
        for (c = 0; c < CLIENTS; c++)
            if ((what = memory_check(mem[c]))) wrong("client %d after call %u: %s", c, call, what);
        ledger->steps++;
    }
}

/* ---- the killer ------------------------------------------------------------------------------ */

static void *shared(size_t bytes) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(p, MAP_FAILED);
    return p;
}

/* Lets the process run to a random point; sometimes kills it while it still adopts. */
static void let_live(pid_t pid, uint64_t from) {
    uint64_t steps = dice(4) ? 1 + dice(60) : 0;
    siginfo_t info = {.si_pid = 0};
    while (ledger->steps < from + steps && !info.si_pid) {
        usleep(50);
        cr_assert_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT), 0);
    }
    usleep(dice(3) ? dice(500) : dice(12000));
}

/* Makes the memory of an unused device. */
static int make_memory(void) {
    struct dev_config config = {.memory_bytes = MEMORY, .threads = 1};
    cr_assert_eq(dev_soft.open(&dev, &config), 0);
    int fd = dup(dev_soft.recovery->memory_fd(dev));
    dev_soft.close(dev);
    return fd;
}

static void play(uint64_t seed) {
    int fd = make_memory();
    ledger = shared(sizeof(*ledger));
    for (int c = 0; c < CLIENTS; c++)
        recovery_states[c] = shared(memory_recovery_bytes(PAGES));
    for (uint32_t i = 0; i < GENERATIONS; i++) {
        int status;
        state = seed * 1000 + i;
        uint64_t from = ledger->steps;
        pid_t pid = fork();
        cr_assert_geq(pid, 0);
        if (!pid) live(fd);
        let_live(pid, from);
        kill(pid, SIGKILL);
        cr_assert_eq(waitpid(pid, &status, 0), pid);
        cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "seed %lu generation %u: %s",
                  seed, i, ledger->wrong[0] ? ledger->wrong : "it ended");
    }
    cr_log_info("steps %lu, adopted %lu, lost %lu, within a change %lu", ledger->steps,
                ledger->adopted, ledger->lost, ledger->changed);
    cr_expect_gt(ledger->adopted, GENERATIONS / 2);
    cr_expect_gt(ledger->lost, 0);
    close(fd);
}

Test(memory_killed, anywhere) {
    play(1);
}
