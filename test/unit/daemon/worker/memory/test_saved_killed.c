/* SPDX-License-Identifier: Apache-2.0
 *
 * A process that saves a client's memory, and also uses it in every other way, is killed at a
 * random point. Another one adopts what it left, or goes back to the savepoint, and is killed in
 * turn. A ledger outside the processes records the contents of each page at the savepoint, and
 * whether the savepoint counts.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/atomics.h"
#include "daemon/device/device_recovery.h"
#include "daemon/worker/memory/memory.h"
#include "daemon/worker/memory/memory_check.h"
#include "daemon/worker/memory/memory_clear.h"
#include "daemon/worker/memory/memory_join.h"
#include "daemon/worker/memory/memory_lane.h"
#include "daemon/worker/memory/memory_recovery.h"
#include "daemon/worker/memory/memory_saved.h"
#include "daemon/worker/memory/memory_state.h"
#include "daemon/worker/memory/memory_swap.h"

#define GRAN (2ull << 20)
#define BASE 0x210000000000ull
#define STRIDE 0x10000000000ull
#define HALF 4u
#define PAGES (2 * HALF)
#define CLIENTS 2 /* client 0 is saved; client 1 is in its lane now and then */
#define MEMORY (32 * GRAN)
#define GENERATIONS 120
#define WORD_EVERY 4096u
#define OTHERS (1ull << 56)

struct ledger {
    _Atomic uint32_t has[PAGES];   /* the page is backed */
    _Atomic uint32_t now[PAGES];   /* version of the page's contents */
    _Atomic uint32_t saved[PAGES]; /* version at the savepoint */
    _Atomic uint32_t whole, returning;
    _Atomic uint64_t steps, versions, taken, returned, again, resumed;
    char wrong[256];
};

static struct ledger *ledger;
static struct memory_recovery *recovery_states[CLIENTS];
static struct dev *dev;
static struct dev_space *spaces[CLIENTS];
static struct memory *mem[CLIENTS];
static struct memory_lane *lane;
static uint32_t next_page; /* next page to be saved */
static bool saving, out;   /* out: the other client has the lane, or this one is swapped out */
static uint64_t state;

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

static void must(int err, const char *what) {
    if (err) wrong("%s: %d", what, err);
}

static uint64_t page_at(int c, uint32_t page) {
    return BASE + (uint64_t)c * STRIDE + page * GRAN;
}

static volatile uint64_t *word_at(uint64_t addr) {
    return (volatile uint64_t *)(uintptr_t)addr;
}

/* ---- checks of the savepoint ----------------------------------------------------------------- */

static void check_words(uint32_t page, const volatile uint64_t *words) {
    for (uint32_t i = 0; i < GRAN / 8; i += WORD_EVERY / 8)
        if (words[i] != ledger->saved[page])
            wrong("page %u word %u is %lx, not %x", page, i, words[i], ledger->saved[page]);
}

/* Checks the place of a page's saved contents, before any memory is restored. */
static void check_page(uint32_t page) {
    const struct page *p = &mem[0]->pages[page];
    if (ledger->has[page] != (p->state != PAGE_NONE))
        wrong("page %u is in state %u", page, p->state);
    if (p->state == PAGE_NONE) return;
    if (p->state == PAGE_SWAPPED && p->host)
        check_words(page, p->host);
    else if (p->state == PAGE_LANE && mem[0]->slots[p->slot].state == SLOT_SPILLED_HOST)
        check_words(page, mem[0]->slots[p->slot].host);
    else
        wrong("page %u has no bytes of what was saved: %u", page, p->state);
}

static void turn(int c) {
    memory_enter(mem[c], 0);
    while (memory_unclear(mem[c]))
        must(memory_clear(mem[c], 1), "clear");
}

/* A random part, or all at once. */
static uint32_t some(void) {
    return dice(2) ? 1 + dice(2) : MEMORY_ALL;
}

static void come_in(void) {
    uint64_t n;
    while (memory_swapped(mem[0]))
        must(memory_swap_in(mem[0], some(), &n), "swap in");
    while (memory_spilled(mem[0]))
        must(memory_restore(mem[0], some(), &n), "restore");
    turn(0);
    out = false;
}

/* ---- operations ------------------------------------------------------------------------------ */

static void write_page(uint32_t page) {
    uint32_t version = (uint32_t)++ledger->versions;
    for (uint32_t i = 0; i < GRAN; i += WORD_EVERY)
        *word_at(page_at(0, page) + i) = version;
    ledger->now[page] = version;
}

static void do_write(void) {
    uint32_t page = dice(PAGES);
    if (!saving && !out && ledger->has[page]) write_page(page);
}

/* Does the steps of savepoint.c and savepoint_writer.c in sequence. */
static void do_save(void) {
    if (!saving && ledger->whole && dice(12)) return;
    if (!saving) {
        atom_store_release(&ledger->returning, 0);
        atom_store_release(&ledger->whole, 0);
        next_page = 0;
        saving = true;
    }
    must(memory_save(mem[0], &next_page, 1 + dice(3)), "save");
    if (!memory_save_over(mem[0], next_page)) return;
    for (uint32_t page = 0; page < PAGES; page++)
        ledger->saved[page] = ledger->now[page];
    atom_store_release(&ledger->whole, 1);
    ledger->taken++;
    saving = false;
}

static void do_out(void) {
    uint64_t n;
    bool to_host = dice(2);
    do
        must(memory_spill(mem[0], to_host, some(), &n), "spill");
    while (memory_spilling(mem[0]));
    out = true;
    for (uint32_t parts = dice(4); parts; parts--)
        must(memory_swap_out(mem[0], some(), &n), "swap out");
    turn(1);
    for (uint32_t page = HALF; page < PAGES; page++)
        *word_at(page_at(1, page)) = OTHERS;
}

static void do_in(void) {
    come_in();
}

static void do_change(void) {
    uint32_t page = dice(PAGES);
    if (dice(8)) return;
    come_in();
    atom_store_release(&ledger->whole, 0);
    saving = false;
    ledger->returning = 0; /* a client reads no new records before it has caught up */
    if (ledger->has[page]) {
        must(memory_unback(mem[0], page_at(0, page), GRAN), "unback");
        ledger->has[page] = ledger->now[page] = 0;
    } else {
        must(memory_back(mem[0], page_at(0, page), GRAN), "back");
        ledger->has[page] = 1;
        turn(0);
        write_page(page);
    }
}

static void (*const calls[])(void) = {do_write, do_write, do_save, do_save,  do_save,
                                      do_out,   do_in,    do_save, do_change};

/* ---- one process after the other ------------------------------------------------------------- */

static void open_all(int memory_fd) {
    static const struct dev_space_ops space_ops;
    struct dev_config config = {.memory_bytes = MEMORY, .threads = 1, .memory_fd = memory_fd};
    must(dev_soft.open(&dev, &config), "open");
    must(memory_lane_create(&lane, &dev_soft, dev), "lane");
    for (int c = 0; c < CLIENTS; c++) {
        struct dev_windows w = {page_at(c, 0), PAGES * GRAN, GRAN, 0, 0, 0};
        must(dev_soft.space_create(dev, &w, &space_ops, NULL, &spaces[c]), "space");
        must(memory_create(&mem[c], &dev_soft, dev, spaces[c], &w, GRAN), "memory");
        memory_set_owner(mem[c], (uint64_t)c + 1);
    }
}

static bool go_back(void) {
    if (ledger->whole) must(memory_saved_adopt(mem[0], recovery_states[0]), "saved");
    if (!ledger->whole || (!ledger->returning && !dice(3))) return false;
    ledger->again += ledger->returning;
    atom_store_release(&ledger->returning, 1);
    must(memory_return(mem[0], recovery_states[0], -1, 0), "return");
    for (uint32_t page = 0; page < PAGES; page++)
        check_page(page);
    return true;
}

/* The client had continued after the savepoint: test_memory_killed checks its memory. */
static void resume(void) {
    must(memory_adopt(mem[0], recovery_states[0], -1, 0), "adopt");
    for (uint32_t page = 0; page < PAGES; page++)
        ledger->has[page] = mem[0]->pages[page].state != PAGE_NONE;
}

static void take_over(void) {
    bool back = go_back();
    if (!back) resume();
    must(memory_adopt(mem[1], recovery_states[1], -1, 0), "adopt the other one");
    dev_soft.recovery->memory_settle(dev);
    for (int c = 0; c < CLIENTS; c++)
        must(memory_join(mem[c], lane, MEMORY_ALL), "join");
    if (mem[1]->pages[HALF].state == PAGE_NONE)
        must(memory_back(mem[1], page_at(1, HALF), HALF * GRAN), "back the other one");
    come_in();
    for (uint32_t page = 0; page < PAGES; page++) {
        if (!ledger->has[page]) ledger->now[page] = 0;
        if (!ledger->has[page]) continue;
        if (back) check_words(page, word_at(page_at(0, page)));
        write_page(page);
    }
    ledger->returned += back;
    ledger->resumed += !back;
}

_Noreturn static void live(int memory_fd) {
    const char *what;
    open_all(memory_fd);
    take_over();
    for (;;) {
        calls[dice(sizeof(calls) / sizeof(*calls))]();
        if ((what = memory_check(mem[0]))) wrong("%s", what);
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
    uint64_t steps = dice(4) ? 1 + dice(80) : 0;
    siginfo_t info = {.si_pid = 0};
    while (ledger->steps < from + steps && !info.si_pid) {
        usleep(50);
        cr_assert_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT), 0);
    }
    usleep(dice(3) ? dice(500) : dice(6000));
}

/* Makes the memory of an unused device. */
static int make_memory(void) {
    struct dev_config config = {.memory_bytes = MEMORY, .threads = 1};
    cr_assert_eq(dev_soft.open(&dev, &config), 0);
    int fd = dup(dev_soft.recovery->memory_fd(dev));
    dev_soft.close(dev);
    return fd;
}

Test(saved_killed, anywhere, .timeout = 120) {
    int fd = make_memory();
    ledger = shared(sizeof(*ledger));
    for (int c = 0; c < CLIENTS; c++)
        recovery_states[c] = shared(memory_recovery_bytes(PAGES));
    for (uint32_t i = 0; i < GENERATIONS; i++) {
        int status;
        state = 1000 + i;
        uint64_t from = ledger->steps;
        pid_t pid = fork();
        cr_assert_geq(pid, 0);
        if (!pid) live(fd);
        let_live(pid, from);
        kill(pid, SIGKILL);
        cr_assert_eq(waitpid(pid, &status, 0), pid);
        cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "generation %u: %s", i,
                  ledger->wrong[0] ? ledger->wrong : "it ended");
    }
    cr_log_info("steps %lu, taken %lu, returned %lu (again %lu), resumed %lu", ledger->steps,
                ledger->taken, ledger->returned, ledger->again, ledger->resumed);
    cr_expect_gt(ledger->taken, 50);
    cr_expect_gt(ledger->returned, 20);
    cr_expect_gt(ledger->resumed, 20);
    cr_expect_gt(ledger->again, 5);
    close(fd);
}
