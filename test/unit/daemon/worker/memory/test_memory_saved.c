/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's memory goes back to its savepoint in a process that uses the device after another one:
 * whatever state its pages were in, and however often processes end. The test also tracks the
 * owners of spare chunks: none is freed twice, and none leaks.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/device/device_recovery.h"
#include "daemon/device/device_spares.h"
#include "daemon/worker/memory/memory.h"
#include "daemon/worker/memory/memory_check.h"
#include "daemon/worker/memory/memory_clear.h"
#include "daemon/worker/memory/memory_join.h"
#include "daemon/worker/memory/memory_lane.h"
#include "daemon/worker/memory/memory_recovery.h"
#include "daemon/worker/memory/memory_saved.h"
#include "daemon/worker/memory/memory_state.h"
#include "daemon/worker/memory/memory_swap.h"
#include "test/lib/worker/fakedev.h"

#define GRAN (2ull << 20)
#define BASE 0x210000000000ull
#define STRIDE 0x10000000000ull
#define HALF 4u
#define PAGES (2 * HALF)
#define CLIENTS 2
#define CHUNKS 16u
#define SPARES 48u /* spare chunk numbers; they are used cyclically */
#define ALL UINT32_MAX

static struct dev_ops ops; /* the software GPU's operations, with spare chunks tracked */
static struct dev_spares_ops watched_spares;
static void *spares[4 * SPARES];
static struct dev *dev;
static struct dev_space *spaces[CLIENTS];
static struct memory *mem[CLIENTS];
static struct memory_lane *lane;
static struct memory_recovery *recovery_states[CLIENTS];
static uint64_t state = 1;

static uint32_t dice(uint32_t below) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(state >> 33) % below;
}

static uint64_t page_at(int c, uint32_t page) {
    return BASE + (uint64_t)c * STRIDE + page * GRAN;
}

static volatile uint64_t *word_at(uint64_t addr) {
    return (volatile uint64_t *)(uintptr_t)addr;
}

/* ---- owners of spare chunks ------------------------------------------------------------------ */

static void **find_spare(const void *host) {
    uint32_t i = 0;
    while (i < sizeof(spares) / sizeof(*spares) && spares[i] != host)
        i++;
    return i < sizeof(spares) / sizeof(*spares) ? &spares[i] : NULL;
}

static uint32_t count_spares(void) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < sizeof(spares) / sizeof(*spares); i++)
        n += spares[i] != NULL;
    return n;
}

static void *watch_make(struct dev *d) {
    void *host = dev_soft.spares->spare_make(d);
    if (host) *find_spare(NULL) = host;
    return host;
}

static void watch_free(struct dev *d, void *host) {
    void **at = host ? find_spare(host) : NULL;
    cr_assert(!host || at, "a spare is given back that nobody has");
    if (at) *at = NULL;
    dev_soft.spares->spare_free(d, host);
}

static int watch_adopt(struct dev *d, uint64_t id, void **out) {
    int err = dev_soft.spares->spare_adopt(d, id, out);
    if (!err) *find_spare(NULL) = *out;
    return err;
}

/* ---- one process after the other ------------------------------------------------------------- */

static void make_client(int c) {
    struct dev_windows w = {page_at(c, 0), PAGES * GRAN, GRAN, 0, 0, 0};
    cr_assert_eq(memory_create(&mem[c], &ops, dev, spaces[c], &w, GRAN), 0);
    memory_set_owner(mem[c], (uint64_t)c + 1);
}

static void open_world(int memory_fd) {
    static const struct dev_space_ops space_ops;
    struct dev_config config = {
        .memory_bytes = CHUNKS * GRAN, .threads = 1, .memory_fd = memory_fd};
    cr_assert_eq(ops.open(&dev, &config), 0);
    cr_assert_eq(memory_lane_create(&lane, &ops, dev), 0);
    for (int c = 0; c < CLIENTS; c++) {
        struct dev_windows w = {page_at(c, 0), PAGES * GRAN, GRAN, 0, 0, 0};
        cr_assert_eq(ops.space_create(dev, &w, &space_ops, NULL, &spaces[c]), 0);
        make_client(c);
    }
}

static void close_world(void) {
    for (int c = 0; c < CLIENTS; c++) {
        memory_destroy(mem[c]);
        ops.space_destroy(spaces[c]);
    }
    memory_lane_destroy(lane);
    cr_expect_eq(ops.mem_used(dev), 0);
    cr_expect_eq(count_spares(), 0, "spares are left");
    ops.close(dev);
}

static void setup(void) {
    ops = dev_soft;
    watched_spares = *dev_soft.spares;
    watched_spares.spare_make = watch_make;
    watched_spares.spare_free = watch_free;
    watched_spares.spare_adopt = watch_adopt;
    ops.spares = &watched_spares;
    open_world(-1);
    for (int c = 0; c < CLIENTS; c++) {
        recovery_states[c] = calloc(1, memory_recovery_bytes(PAGES));
        cr_assert_eq(memory_recovery_keep(mem[c], recovery_states[c]), 0);
        cr_assert_eq(memory_join(mem[c], lane, MEMORY_ALL), 0);
    }
}

static void teardown(void) {
    close_world();
    for (int c = 0; c < CLIENTS; c++)
        free(recovery_states[c]);
}

TestSuite(memory_saved, .init = setup, .fini = teardown);

/* Ends the process; another one opens the memory that it left. */
static void die(void) {
    size_t room = (CHUNKS + SPARES) * GRAN, words = memory_recovery_bytes(PAGES);
    int from = dup(ops.recovery->memory_fd(dev));
    unsigned char *bytes = malloc(room), *left = malloc(CLIENTS * words);
    for (int c = 0; c < CLIENTS; c++)
        memcpy(left + (size_t)c * words, recovery_states[c], words);
    cr_assert_eq(pread(from, bytes, room, 0), (ssize_t)room);
    close_world();
    cr_assert_eq(pwrite(from, bytes, room, 0), (ssize_t)room);
    for (int c = 0; c < CLIENTS; c++)
        memcpy(recovery_states[c], left + (size_t)c * words, words);
    free(bytes);
    free(left);
    open_world(from);
    close(from);
}

static void expect_sound(void) {
    const char *what;
    for (int c = 0; c < CLIENTS; c++)
        cr_expect_null((what = memory_check(mem[c])), "client %d: %s", c, what);
}

static void go_back(void) {
    cr_assert_eq(memory_saved_adopt(mem[0], recovery_states[0]), 0);
    cr_assert_eq(memory_return(mem[0], recovery_states[0], -1, 0), 0);
    cr_assert_eq(memory_adopt(mem[1], recovery_states[1], -1, 0), 0);
    ops.recovery->memory_settle(dev);
    expect_sound();
}

static void turn(int c) {
    memory_enter(mem[c], 0);
    while (memory_unclear(mem[c]))
        cr_assert_eq(memory_clear(mem[c], 8), 0);
}

/* Brings all of the client's memory to the device, and gives it its lane. */
static void come_in(int c) {
    uint64_t n;
    if (!mem[c]->lane) cr_assert_eq(memory_join(mem[c], lane, MEMORY_ALL), 0);
    cr_assert_eq(memory_swap_in(mem[c], MEMORY_ALL, &n), 0);
    cr_assert_eq(memory_restore(mem[c], MEMORY_ALL, &n), 0);
    turn(c);
    expect_sound();
}

static void save(uint32_t most) {
    uint32_t page = 0;
    while (!memory_save_over(mem[0], page))
        cr_assert_eq(memory_save(mem[0], &page, most), 0);
}

/* ---- the client's memory --------------------------------------------------------------------- */

#define OWN 2u    /* private pages, from the first on */
#define SHARED 3u /* pages in the lane */

static bool is_backed(uint32_t page) {
    return page < OWN || (page >= HALF && page < HALF + SHARED);
}

static void back_all(void) {
    cr_assert_eq(memory_back(mem[0], page_at(0, 0), OWN * GRAN), 0);
    cr_assert_eq(memory_back(mem[0], page_at(0, HALF), SHARED * GRAN), 0);
    turn(0);
}

/* Writes both ends of each page. */
static void write_all(uint64_t version) {
    for (uint32_t page = 0; page < PAGES; page++)
        if (is_backed(page))
            *word_at(page_at(0, page)) = *word_at(page_at(0, page + 1) - 8) = version + page;
}

static void expect_all(uint64_t version) {
    for (uint32_t page = 0; page < PAGES; page++) {
        if (!is_backed(page)) continue;
        cr_expect_eq(*word_at(page_at(0, page)), version + page, "page %u", page);
        cr_expect_eq(*word_at(page_at(0, page + 1) - 8), version + page, "page %u", page);
    }
}

enum where { HERE, SPILLED, HOSTED, SWAPPED, ALL_HOST };

static void take_out(enum where where) {
    uint64_t n;
    bool swapped = where == SWAPPED || where == ALL_HOST;
    bool hosted = where == HOSTED || where == ALL_HOST;
    if (where != HERE) cr_assert_eq(memory_spill(mem[0], hosted, MEMORY_ALL, &n), 0);
    if (swapped) cr_assert_eq(memory_swap_out(mem[0], MEMORY_ALL, &n), 0);
}

/* ---- saved, and restored --------------------------------------------------------------------- */

/* Memory is saved in one state, and found in another when the process ended. */
static void story(enum where saved, enum where left, uint32_t most) {
    back_all();
    write_all(100);
    take_out(saved);
    save(most);
    cr_expect_eq(memory_saved_bytes(mem[0]), (OWN + SHARED) * GRAN);
    come_in(0);
    expect_all(100);
    write_all(900);
    take_out(left);
    expect_sound();
    die();
    go_back();
    cr_expect(memory_swapped(mem[0]) && memory_spilled(mem[0]));
    cr_expect_eq(ops.mem_used(dev), 0, "it is in spares");
    cr_expect_eq(memory_persistent(mem[0]), OWN * GRAN);
    cr_expect_eq(memory_ephemeral(mem[0]), SHARED * GRAN);
    come_in(0);
    expect_all(100);
    write_all(700);
    take_out(left);
    die(); /* before the client has caught up */
    go_back();
    die(); /* and before any of the memory is restored */
    go_back();
    come_in(0);
    expect_all(100);
}

Test(memory_saved, on_the_device) {
    story(HERE, HERE, ALL);
}

Test(memory_saved, in_other_chunks) {
    story(SPILLED, HERE, 1);
}

Test(memory_saved, in_host_memory) {
    story(HOSTED, SPILLED, 2);
}

Test(memory_saved, swapped) {
    story(SWAPPED, HOSTED, 1);
}

Test(memory_saved, nothing_of_it_on_the_device) {
    story(ALL_HOST, ALL_HOST, 3);
}

Test(memory_saved, found_swapped) {
    story(HERE, SWAPPED, 1);
}

/* Pages without bytes have none in the savepoint: the lane's contents belong to another client. */
Test(memory_saved, what_is_anothers_is_not_saved) {
    for (int same = 0; same < 2; same++) {
        memory_set_owner(mem[1], same ? 1 : 2);
        back_all();
        write_all(100);
        cr_assert_eq(memory_back(mem[1], page_at(1, HALF), SHARED * GRAN), 0);
        turn(1);
        for (uint32_t i = 0; i < SHARED; i++)
            *word_at(page_at(1, HALF + i)) = 42;
        save(ALL);
        cr_expect_eq(memory_saved_bytes(mem[0]), OWN * GRAN, "same owner %d", same);
        die();
        memory_set_owner(mem[1], same ? 1 : 2);
        go_back();
        cr_expect_eq(count_spares(), OWN);
        cr_expect_not(memory_spilled(mem[0]));
        cr_expect_eq(memory_ephemeral(mem[0]), SHARED * GRAN);
        come_in(0);
        for (uint32_t page = 0; page < OWN; page++)
            cr_expect_eq(*word_at(page_at(0, page)), 100 + page);
        for (uint32_t i = 0; i < SHARED; i++)
            cr_expect_neq(*word_at(page_at(0, HALF + i)), 42);
        cr_assert_eq(memory_unback(mem[0], page_at(0, 0), OWN * GRAN), 0);
        cr_assert_eq(memory_unback(mem[0], page_at(0, HALF), SHARED * GRAN), 0);
        cr_assert_eq(memory_unback(mem[1], page_at(1, HALF), SHARED * GRAN), 0);
        cr_assert_eq(memory_join(mem[1], lane, MEMORY_ALL), 0);
        memory_saved_finish(mem[0]);
    }
}

/* Backed after memory was saved, which voids the savepoint; otherwise there would be zeros. */
Test(memory_saved, what_had_no_bytes_is_zeros) {
    back_all();
    write_all(100);
    save(ALL);
    cr_assert_eq(memory_back(mem[0], page_at(0, HALF - 1), GRAN), 0);
    *word_at(page_at(0, HALF - 1)) = 42;
    die();
    go_back();
    come_in(0);
    cr_expect_eq(*word_at(page_at(0, HALF - 1)), 0);
    expect_all(100);
}

/* ---- spares ---------------------------------------------------------------------------------- */

Test(memory_saved, the_next_uses_the_same_ones) {
    back_all();
    write_all(100);
    save(ALL);
    cr_expect_eq(count_spares(), OWN + SHARED);
    write_all(200);
    save(ALL);
    cr_expect_eq(count_spares(), OWN + SHARED);
    die();
    go_back();
    cr_expect_eq(count_spares(), OWN + SHARED);
    save(2); /* a savepoint of the spares' contents */
    cr_expect_eq(count_spares(), OWN + SHARED);
    die();
    go_back();
    come_in(0);
    expect_all(200);
    write_all(300);
    save(ALL);
    cr_expect_eq(count_spares(), OWN + SHARED);
    die();
    go_back();
    come_in(0);
    expect_all(300);
}

/* Spares that are lent hold the client's memory meanwhile, and are also what it goes back to the
 * next time. */
Test(memory_saved, those_that_are_lent_stay) {
    uint64_t n;
    back_all();
    write_all(100);
    save(ALL);
    die();
    go_back();
    come_in(0);
    cr_expect_eq(count_spares(), OWN + SHARED, "nothing was given back");
    take_out(ALL_HOST);
    cr_expect_eq(count_spares(), 2 * (OWN + SHARED), "it has some of its own now");
    cr_assert_eq(memory_swap_in(mem[0], MEMORY_ALL, &n), 0);
    cr_assert_eq(memory_restore(mem[0], MEMORY_ALL, &n), 0);
    cr_expect_eq(count_spares(), OWN + SHARED);
    die();
    go_back();
    /* unbacked while the spare is lent */
    cr_assert_eq(memory_unback(mem[0], page_at(0, 0), OWN * GRAN), 0);
    cr_assert_eq(memory_unback(mem[0], page_at(0, HALF), GRAN), 0);
    expect_sound();
    cr_expect_eq(count_spares(), OWN + SHARED);
}

/* An incomplete savepoint is not adopted, and no word of it may count for the next one. */
Test(memory_saved, words_of_an_earlier_one_go) {
    back_all();
    write_all(100);
    save(ALL);
    cr_assert_eq(memory_unback(mem[0], page_at(0, 0), GRAN), 0);
    die();
    cr_assert_eq(memory_adopt(mem[0], recovery_states[0], -1, 0), 0);
    cr_assert_eq(memory_adopt(mem[1], recovery_states[1], -1, 0), 0);
    ops.recovery->memory_settle(dev);
    cr_assert_eq(memory_join(mem[1], lane, MEMORY_ALL), 0);
    turn(1); /* the first client's data in the lane has no owner now */
    save(ALL);
    uint32_t count = count_spares();
    die();
    cr_assert_eq(memory_saved_adopt(mem[0], recovery_states[0]), 0);
    cr_expect_eq(count_spares(), count);
    memory_saved_finish(mem[0]);
}

Test(memory_saved, without_spares_there_is_none) {
    struct dev_ops without = dev_soft;
    struct memory *m;
    struct dev_windows w = {page_at(0, 0), PAGES * GRAN, GRAN, 0, 0, 0};
    uint32_t page = 0;
    without.spares = NULL;
    cr_assert_eq(memory_create(&m, &without, dev, spaces[0], &w, GRAN), 0);
    struct memory_recovery *e = calloc(1, memory_recovery_bytes(PAGES));
    cr_expect_eq(memory_save(m, &page, ALL), -ENOTSUP, "no recovery state, either");
    cr_assert_eq(memory_recovery_keep(m, e), 0);
    cr_expect_eq(memory_save(m, &page, ALL), -ENOTSUP);
    cr_expect_eq(memory_saved_adopt(m, e), -ENOTSUP);
    cr_expect_eq(memory_return(m, e, -1, 0), -EINVAL, "nothing is saved");
    memory_destroy(m);
    free(e);
}

static void *make_none(struct dev *d) {
    (void)d;
    return NULL;
}

Test(memory_saved, there_may_be_no_room) {
    uint32_t page = 0;
    back_all();
    watched_spares.spare_make = make_none;
    cr_expect_eq(memory_save(mem[0], &page, ALL), -ENOMEM);
    watched_spares.spare_make = watch_make;
    write_all(100);
    save(1);
    die();
    go_back();
    come_in(0);
    expect_all(100);
}

/* ---- in parts -------------------------------------------------------------------------------- */

static void do_other_things(void) {
    uint64_t n;
    uint32_t some = dice(2) ? 1 + dice(2) : MEMORY_ALL;
    switch (dice(7)) {
    case 0: memory_spill(mem[0], true, some, &n); break;
    case 1: memory_spill(mem[0], false, some, &n); break;
    case 2: memory_swap_out(mem[0], some, &n); break;
    case 3: memory_swap_in(mem[0], some, &n); break;
    case 4: memory_restore(mem[0], some, &n); break;
    case 5: come_in(0); break;
    default: /* another client has the lane for a while */
        if (memory_spill(mem[0], dice(2), MEMORY_ALL, &n)) break;
        turn(1);
        *word_at(page_at(1, HALF)) = 42;
    }
    expect_sound();
}

Test(memory_saved, in_parts_while_it_comes_and_goes) {
    cr_assert_eq(memory_back(mem[1], page_at(1, HALF), SHARED * GRAN), 0);
    back_all();
    for (uint32_t i = 0; i < 40; i++) {
        if (!i || dice(2)) { /* otherwise the restored memory is saved again */
            come_in(0);
            write_all(1000 * i);
        }
        /* the client is in the lane, or the last step left it outside */
        uint64_t version = *word_at(page_at(0, 0));
        for (uint32_t page = 0; !memory_save_over(mem[0], page);) {
            do_other_things();
            cr_assert_eq(memory_save(mem[0], &page, 1 + dice(2)), 0);
        }
        come_in(0);
        expect_all(version);
        write_all(7);
        for (uint32_t n = dice(4); n; n--)
            do_other_things();
        die();
        go_back();
        cr_assert_eq(memory_join(mem[1], lane, MEMORY_ALL), 0);
        come_in(0);
        expect_all(version);
    }
}

/* ---- invalid states -------------------------------------------------------------------------- */

static void expect_nothing(void) {
    cr_assert_eq(ops.mem_used(dev), 0);
    for (uint32_t page = 0; page < PAGES; page++)
        cr_assert(mem[0]->pages[page].state == PAGE_NONE && !mem[0]->pages[page].mapped);
    cr_assert_eq(memory_persistent(mem[0]) + memory_ephemeral(mem[0]), 0);
    cr_assert_null(mem[0]->recovery_state);
    cr_assert_null(memory_check(mem[0]));
}

/* Changes words, mostly to nearly valid values. */
static void spoil(struct memory_recovery *e) {
    uint64_t *words = (uint64_t *)(void *)e;
    uint32_t count = (uint32_t)(memory_recovery_bytes(PAGES) / 8), n = 1 + dice(4);
    while (n--) {
        uint64_t *word = &words[dice(4) ? count - 1 - dice(2 * PAGES) : dice(count)];
        switch (dice(5)) {
        case 0: *word ^= 1ull << dice(64); break;
        case 1: *word = 1 | (uint64_t)(CHUNKS - 2 + dice(12)) << 1; break;
        case 2: *word = words[dice(count)]; break;
        case 3: *word = dice(8) | (uint64_t)dice(CHUNKS + 8) << 8; break;
        default: *word += dice(5) - 2u; break;
        }
    }
}

Test(memory_saved, any_other_words_are_refused_as_a_whole, .timeout = 120) {
    uint32_t unadopted = 0, refused = 0, taken = 0;
    size_t bytes = memory_recovery_bytes(PAGES);
    back_all();
    write_all(100);
    save(ALL);
    take_out(SPILLED);
    die();
    struct memory_recovery *e = malloc(bytes);
    for (int i = 0; i < 20000; i++) {
        memcpy(e, recovery_states[0], bytes);
        if (i) spoil(e);
        int adopted = memory_saved_adopt(mem[0], e);
        cr_assert(!adopted || count_spares() == 0, "%d: some of it was taken", i);
        cr_assert(!adopted || !mem[0]->saved);
        int err = adopted ? adopted : memory_return(mem[0], e, -1, 0);
        cr_assert(i || !err, "as it was left: %d", err);
        unadopted += adopted != 0;
        refused += !adopted && err;
        taken += !err;
        if (err) expect_nothing();
        cr_assert(err || !memory_check(mem[0]), "%d: %s", i, memory_check(mem[0]));
        memory_destroy(mem[0]);
        make_client(0);
        cr_assert_eq(count_spares(), 0);
    }
    cr_log_info("taken %u, refused %u, not even adopted %u", taken, refused, unadopted);
    cr_expect_gt(taken, 1000);
    cr_expect_gt(refused, 1000);
    cr_expect_gt(unadopted, 1000);
    ops.recovery->memory_settle(dev);
    free(e);
}

Test(memory_saved, each_wrong_word_is_refused) {
    static const struct {
        uint64_t word;
        int err;
    } wrong[] = {
        {2, -EINVAL},                               /* a page that is not backed */
        {1, -EINVAL},                               /* a word that is a chunk */
        {1 | (CHUNKS - 1) << 1, -EINVAL},           /* also a chunk */
        {UINT64_MAX, -EINVAL},                      /* there are fewer */
        {1 | 16ull * CHUNKS << 1, -EINVAL},         /* one more than there are */
        {1 | (uint64_t)(CHUNKS + 1) << 1, -EEXIST}, /* the chunk that page 1 has */
    };
    for (uint32_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        die();
        memset(recovery_states[0], 0, memory_recovery_bytes(PAGES));
        recovery_states[0]->granule = GRAN;
        recovery_states[0]->page_count = PAGES;
        recovery_states[0]->pages[PAGES + 1] = 1 | (uint64_t)(CHUNKS + 1) << 1;
        recovery_states[0]->pages[PAGES + 2] = wrong[i].word;
        cr_expect_eq(memory_saved_adopt(mem[0], recovery_states[0]), wrong[i].err, "%u", i);
        cr_expect_eq(count_spares(), 0);
        cr_expect_eq(memory_saved_bytes(mem[0]), 0);
    }
    ops.recovery->memory_settle(dev);
}
