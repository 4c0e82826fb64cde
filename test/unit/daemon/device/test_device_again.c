/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of the software GPU that is opened again, as by another process: chunks, variables of
 * modules, and memory that cannot be adopted.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "daemon/device/device.h"
#include "daemon/device/device_recovery.h"

#define MIB (1ull << 20)
#define GRAN (2 * MIB)
#define BASE 0x210000000000ull
#define ALLOC (64 * MIB)
#define MODULES (16 * MIB)
#define MEMORY (32 * MIB)
#define CHUNKS (MEMORY / GRAN)
#define MOST 8u

static const struct dev_space_ops no_ops;
static struct dev *dev;
static struct dev_space *space;
static uint64_t host;
static int kept = -1; /* memory of the device, as the broker keeps it */
static char why[256];

static int open_on(int fd, uint64_t bytes) {
    struct dev_config config = {.memory_bytes = bytes, .threads = 1, .memory_fd = fd};
    return dev_soft.open(&dev, &config);
}

static void open_space(void) {
    struct dev_windows w = {BASE, ALLOC, MODULES, host, 8 * MIB, 4 * MIB};
    cr_assert_eq(dev_soft.space_create(dev, &w, &no_ops, NULL, &space), 0);
}

static void setup(void) {
    host = (uint64_t)(uintptr_t)mmap(NULL, 8 * MIB, PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert_eq(open_on(-1, MEMORY), 0);
    kept = fcntl(dev_soft.recovery->memory_fd(dev), F_DUPFD_CLOEXEC, 0);
    cr_assert_geq(kept, 0);
    open_space();
}

static void teardown(void) {
    dev_soft.space_destroy(space);
    cr_expect_eq(dev_soft.mem_used(dev), 0, "memory left behind");
    dev_soft.close(dev);
    close(kept);
}

TestSuite(device_again, .init = setup, .fini = teardown);

/* The earlier device belongs to another process: none of its objects is freed here, or counts as
 * leaked. */
static void bury(void *what) {
    static void *volatile graves[64];
    static uint32_t count;
    cr_assert(count < 64 && !graves[count]);
    graves[count++] = what;
}

static void die(void) {
    bury(dev);
    bury(space);
    munmap((void *)(uintptr_t)BASE, ALLOC + MODULES);
    cr_assert_eq(open_on(kept, MEMORY), 0);
    open_space();
}

static volatile uint64_t *words(uint64_t addr) {
    return (volatile uint64_t *)(uintptr_t)addr;
}

static uint64_t show(struct dev_chunk *chunk, uint64_t at) {
    cr_assert_eq(dev_soft.chunk_map(space, BASE + at * GRAN, &chunk, 1), 0);
    return BASE + at * GRAN;
}

static void hide(struct dev_chunk *chunk, uint64_t at) {
    cr_assert_eq(dev_soft.chunk_unmap(space, BASE + at * GRAN, 1), 0);
    dev_soft.chunk_destroy(dev, chunk);
}

static bool is_zero(uint64_t addr) {
    for (uint64_t i = 0; i < GRAN / 8; i++)
        if (words(addr)[i]) return false;
    return true;
}

static uint64_t blocks_of_file(void) {
    struct stat st;
    cr_assert_eq(fstat(kept, &st), 0);
    return (uint64_t)st.st_blocks * 512;
}

/* ---- chunks ---------------------------------------------------------------------------------- */

Test(device_again, what_is_adopted_is_as_it_was) {
    struct dev_chunk *chunks[4], *again, *fresh;
    for (uint64_t i = 0; i < 4; i++) {
        cr_assert_eq(dev_soft.chunk_create(dev, &chunks[i]), 0);
        memset((void *)(uintptr_t)show(chunks[i], i), (int)(0x10 + i), GRAN);
    }
    uint64_t id = dev_soft.recovery->chunk_id(dev, chunks[2]);
    die();
    cr_expect_eq(dev_soft.mem_used(dev), 0);
    cr_expect_eq(dev_soft.chunk_create(dev, &fresh), -EBUSY, "it might be somebody's");
    cr_assert_eq(dev_soft.recovery->chunk_adopt(dev, id, &again), 0);
    cr_expect_eq(dev_soft.recovery->chunk_id(dev, again), id);
    cr_expect_eq(dev_soft.recovery->chunk_adopt(dev, id, &fresh), -EEXIST);
    cr_expect_eq(dev_soft.recovery->chunk_adopt(dev, CHUNKS, &fresh), -EINVAL);
    cr_expect_eq(dev_soft.recovery->chunk_adopt(dev, UINT64_MAX, &fresh), -EINVAL);
    cr_expect_eq(dev_soft.mem_used(dev), GRAN);
    cr_expect_eq(blocks_of_file(), 4 * GRAN);
    dev_soft.recovery->memory_settle(dev);
    cr_expect_eq(blocks_of_file(), GRAN, "what nobody has costs nothing");
    cr_expect_eq(dev_soft.recovery->chunk_adopt(dev, 0, &fresh), -ENOENT);
    for (uint64_t i = 0, at = show(again, 0); i < GRAN / 8; i++)
        cr_assert_eq(words(at)[i], 0x1212121212121212ull);
    for (uint64_t i = 1; i < CHUNKS; i++) {
        cr_assert_eq(dev_soft.chunk_create(dev, &fresh), 0);
        cr_assert_neq(dev_soft.recovery->chunk_id(dev, fresh), id);
        cr_expect(is_zero(show(fresh, i)), "chunk %lu", i);
    }
    cr_expect_eq(dev_soft.chunk_create(dev, &fresh), ERR_NO_MEMORY);
    die();
    dev_soft.recovery->memory_settle(dev);
}

/* Two jobs' records name the chunk, one of them wrongly: the other job may still adopt it. */
Test(device_again, what_is_given_back_before_all_are_there_stays_as_it_was) {
    struct dev_chunk *chunk;
    cr_assert_eq(dev_soft.chunk_create(dev, &chunk), 0);
    *words(show(chunk, 0)) = 42;
    uint64_t id = dev_soft.recovery->chunk_id(dev, chunk);
    die();
    cr_assert_eq(dev_soft.recovery->chunk_adopt(dev, id, &chunk), 0);
    dev_soft.chunk_destroy(dev, chunk);
    cr_assert_eq(dev_soft.recovery->chunk_adopt(dev, id, &chunk), 0);
    cr_expect_eq(*words(show(chunk, 0)), 42);
    dev_soft.recovery->memory_settle(dev);
    hide(chunk, 0);
    cr_expect_eq(blocks_of_file(), 0);
}

Test(device_again, memory_of_another_size_is_refused) {
    struct dev *mine = dev;
    int grows = memfd_create("grows", MFD_CLOEXEC), file = open("/dev/null", O_RDWR | O_CLOEXEC);
    cr_assert_eq(ftruncate(grows, MEMORY), 0);
    cr_expect_eq(open_on(kept, MEMORY / 2), -EINVAL);
    cr_expect_eq(open_on(kept, MEMORY * 2), -EINVAL);
    cr_expect_eq(open_on(grows, MEMORY), -EINVAL, "it could shrink");
    cr_expect_eq(open_on(file, MEMORY), -EINVAL);
    close(file);
    cr_expect_lt(open_on(file, MEMORY), 0);
    cr_assert_eq(open_on(kept, 0), 0, "its size is known");
    struct dev_info info;
    dev_soft.info(dev, &info);
    cr_expect_eq(info.memory_bytes, MEMORY);
    dev_soft.close(dev);
    close(grows);
    dev = mine;
}

Test(device_again, settling_twice_does_nothing) {
    struct dev_chunk *chunk;
    cr_assert_eq(dev_soft.chunk_create(dev, &chunk), 0);
    *words(show(chunk, 0)) = 42;
    dev_soft.recovery->memory_settle(dev);
    cr_expect_eq(*words(BASE), 42);
    hide(chunk, 0);
}

/* ---- modules --------------------------------------------------------------------------------- */

static const char two_vars[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                               ".visible .global .align 8 .u64 first = 7;\n"
                               ".visible .global .align 8 .u64 second = first;\n"
                               ".visible .global .align 4 .b8 large[3000000];\n";
static const char managed_var[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .global .attribute(.managed) .align 8 .u64 shared = 9;\n";
static const char no_vars[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                              ".visible .entry nothing() { ret; }\n";
static const char heap_user[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .global .align 8 .u64 third = 3;\n"
    ".extern .func (.param .b64 r) malloc (.param .b64 n);\n"
    ".visible .entry grow() {\n.reg .b64 %rd<3>;\nmov.u64 %rd1, 64;\n{\n.param .b64 n;\n"
    "st.param.b64 [n], %rd1;\n.param .b64 r;\ncall.uni (r), malloc, (n);\n"
    "ld.param.b64 %rd2, [r];\n}\nret;\n}\n";

static struct dev_module *read_text(const char *text) {
    struct dev_module *m;
    cr_assert_eq(dev_soft.module_read(space, 0, text, strlen(text) + 1, &m, why, sizeof(why)), 0,
                 "%s", why);
    bury(m);
    return m;
}

static struct dev_module *place(const char *text) {
    struct dev_module *m = read_text(text);
    cr_assert_eq(dev_soft.module_place(m, why, sizeof(why)), 0, "%s", why);
    return m;
}

static void drop(struct dev_module *m) {
    dev_soft.module_remove(m);
    dev_soft.module_free(m);
}

static uint64_t var(struct dev_module *m, const char *name) {
    uint64_t addr, bytes;
    cr_assert_eq(dev_soft.global_get(m, name, &addr, &bytes), 0, "%s", name);
    return addr;
}

/* A placement that must fail leaves nothing behind, so that a correct one is still possible. */
static void expect_refused(struct dev_module *m, const struct dev_granule *where, uint32_t count,
                           int err) {
    uint64_t used = dev_soft.mem_used(dev);
    why[0] = '\0';
    cr_expect_eq(dev_soft.recovery->module_place_at(m, where, count, why, sizeof(why)), err);
    cr_expect_neq(why[0], '\0');
    cr_expect_eq(dev_soft.mem_used(dev), used);
}

Test(device_again, variables_are_where_they_were_with_what_was_in_them) {
    struct dev_granule where[MOST];
    struct dev_module *first = place(no_vars), *m = place(two_vars);
    uint64_t at = var(m, "first"), large = var(m, "large");
    cr_expect_eq(dev_soft.recovery->module_where(first, where, MOST), 0);
    cr_assert_eq(dev_soft.recovery->module_where(m, NULL, 0), 2);
    cr_assert_eq(dev_soft.recovery->module_where(m, where, MOST), 2);
    cr_assert_eq(*words(at), 7);
    cr_assert_eq(*words(var(m, "second")), at);
    *words(at) = 70;
    *words(var(m, "second")) = 71;
    memset((void *)(uintptr_t)large, 0x5a, 3000000);
    die();
    m = read_text(two_vars);
    cr_assert_eq(dev_soft.recovery->module_place_at(m, where, 2, why, sizeof(why)), 0, "%s", why);
    cr_expect_eq(dev_soft.mem_used(dev), 2 * GRAN);
    dev_soft.recovery->memory_settle(dev);
    cr_expect_eq(var(m, "first"), at);
    cr_expect_eq(var(m, "large"), large);
    cr_expect_eq(*words(at), 70);
    cr_expect_eq(*words(var(m, "second")), 71);
    for (uint32_t i = 0; i < 3000000 / 8; i++)
        cr_assert_eq(words(large)[i], 0x5a5a5a5a5a5a5a5aull);
    struct dev_module *another = place(two_vars);
    cr_expect_eq(*words(var(another, "first")), 7);
    cr_expect_neq(var(another, "first"), at);
    drop(another);
    drop(m);
    cr_expect_eq(blocks_of_file(), 0);
}

Test(device_again, managed_variables_are_not_set_again) {
    struct dev_granule where[MOST];
    struct dev_module *m = place(managed_var);
    uint64_t at = var(m, "shared");
    cr_assert_eq(dev_soft.recovery->module_where(m, where, MOST), 1);
    cr_expect_eq(where[0].chunk, DEV_NO_CHUNK);
    cr_expect_eq(*words(at), 9);
    *words(at) = 90;
    die();
    m = read_text(managed_var);
    cr_assert_eq(dev_soft.recovery->module_place_at(m, where, 1, why, sizeof(why)), 0, "%s", why);
    cr_expect_eq(var(m, "shared"), at);
    cr_expect_eq(*words(at), 90);
    struct dev_module *twice = read_text(managed_var);
    expect_refused(twice, where, 1, -EINVAL);
    dev_soft.module_free(twice);
    drop(m);
    dev_soft.recovery->memory_settle(dev);
}

Test(device_again, places_that_cannot_be_are_refused) {
    struct dev_granule where[MOST], bad[MOST];
    struct dev_module *m = place(two_vars);
    cr_assert_eq(dev_soft.recovery->module_where(m, where, MOST), 2);
    *words(var(m, "first")) = 70;
    die();
    m = read_text(two_vars);
    struct dev_module *empty = read_text(no_vars), *managed = read_text(managed_var);
    where[2] = (struct dev_granule){where[1].addr + GRAN, CHUNKS - 1};
    expect_refused(m, where, 0, -EINVAL);
    expect_refused(m, where, 1, -EINVAL);
    expect_refused(m, where, 3, -EINVAL);
    expect_refused(empty, where, 2, -EINVAL);
    expect_refused(managed, where, 1, -EINVAL);
    static const struct {
        uint32_t at;
        uint64_t addr, chunk;
        int err;
    } wrong[] = {
        {0, 8, 0, -EINVAL},      {1, GRAN, 0, -EINVAL},
        {1, -GRAN, 0, -EINVAL},  {1, 0, DEV_NO_CHUNK, -EINVAL},
        {1, 0, CHUNKS, -EINVAL}, {0, 0, 1ull << 62, -EINVAL},
    };
    for (uint32_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        memcpy(bad, where, sizeof(bad));
        bad[wrong[i].at].addr += wrong[i].addr;
        if (wrong[i].chunk) bad[wrong[i].at].chunk = wrong[i].chunk;
        expect_refused(m, bad, 2, wrong[i].err);
    }
    memcpy(bad, where, sizeof(bad));
    bad[1].chunk = bad[0].chunk;
    expect_refused(m, bad, 2, -EEXIST);
    static const uint64_t outside[] = {BASE, BASE + ALLOC - GRAN, BASE + ALLOC + MODULES - GRAN, 0,
                                       -2 * GRAN};
    for (uint32_t i = 0; i < sizeof(outside) / sizeof(*outside); i++) {
        bad[0] = (struct dev_granule){outside[i], where[0].chunk};
        bad[1] = (struct dev_granule){outside[i] + GRAN, where[1].chunk};
        expect_refused(m, bad, 2, -EINVAL);
    }
    bad[0] = (struct dev_granule){host + 4 * MIB, DEV_NO_CHUNK};
    bad[1] = (struct dev_granule){host + 6 * MIB, DEV_NO_CHUNK};
    expect_refused(m, bad, 2, -EINVAL);
    cr_assert_eq(dev_soft.recovery->module_place_at(m, where, 2, why, sizeof(why)), 0, "%s", why);
    cr_expect_eq(*words(var(m, "first")), 70);
    drop(m);
    dev_soft.module_free(empty);
    dev_soft.module_free(managed);
    dev_soft.recovery->memory_settle(dev);
}

/* A heap without allocations is created anew, and never where variables were. */
Test(device_again, a_heap_is_not_in_the_way_of_variables) {
    struct dev_granule where[MOST], later[MOST];
    struct dev_module *b = place(two_vars), *a = place(heap_user);
    cr_assert_eq(dev_soft.recovery->module_where(a, where, MOST), 1);
    cr_assert_eq(dev_soft.recovery->module_where(b, later, MOST), 2);
    *words(var(b, "first")) = 70;
    cr_expect_null(dev_soft.recovery->space_unrestorable(space));
    uint64_t used = dev_soft.mem_used(dev);
    die();
    a = read_text(heap_user);
    b = read_text(two_vars);
    cr_assert_eq(dev_soft.recovery->module_place_at(a, where, 1, why, sizeof(why)), 0, "%s", why);
    cr_assert_eq(dev_soft.recovery->module_place_at(b, later, 2, why, sizeof(why)), 0, "%s", why);
    cr_expect_eq(*words(var(b, "first")), 70);
    cr_expect_eq(dev_soft.mem_used(dev), used);
    dev_soft.recovery->memory_settle(dev);
    drop(a);
    drop(b);
}

static void run(struct dev_func *func) {
    struct dev_launch launch = {.func = func, .grid = {1, 1, 1}, .block = {1, 1, 1}, .params = ""};
    struct dev_queue *queue;
    struct dev_op op;
    cr_assert_eq(dev_soft.queue_create(space, 0, &queue), 0);
    cr_assert_eq(dev_soft.launch(queue, &launch, &op), 0);
    while (!dev_soft.poll(dev))
        usleep(100);
    cr_expect_eq(op.result, 0, "%s", op.fault_text);
    dev_soft.queue_destroy(queue);
}

Test(device_again, memory_that_kernels_took_is_named) {
    struct dev_module *m = place(heap_user);
    struct dev_func *func;
    struct dev_func_info info;
    cr_assert_eq(dev_soft.func_get(m, "grow", &func, &info, why, sizeof(why)), 0, "%s", why);
    cr_expect_null(dev_soft.recovery->space_unrestorable(space));
    run(func);
    cr_assert_not_null(dev_soft.recovery->space_unrestorable(space));
    cr_expect_not_null(strstr(dev_soft.recovery->space_unrestorable(space), "malloc"));
    drop(m);
}
