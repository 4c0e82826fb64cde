/* SPDX-License-Identifier: Apache-2.0
 *
 * Variables of modules that are saved, and restored to modules that another process places at the
 * same addresses.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/device/device_recovery.h"
#include "daemon/device/device_spares.h"
#include "daemon/worker/kernel/variables.h"

#define MIB (1ull << 20)
#define GRAN (2 * MIB)
#define BASE 0x210000000000ull
#define ALLOC (64 * MIB)
#define MODULES (16 * MIB)
#define MEMORY (32 * MIB)
#define CHUNKS (MEMORY / GRAN)
#define MOST 8u

static const char small[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                            ".visible .global .align 8 .u64 value = 7;\n";
static const char large[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                            ".visible .global .align 8 .u64 value = 8;\n"
                            ".visible .global .align 8 .b8 more[5000000];\n";
static const char none[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                           ".visible .entry nothing() { ret; }\n";
static const char managed[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                              ".visible .global .attribute(.managed) .align 8 .u64 value = 9;\n";

static const struct dev_space_ops no_ops;
static struct dev_ops ops; /* the software GPU's operations */
static struct dev_recovery_ops recovery;
static struct dev_spares_ops spares;
static struct dev *dev;
static struct dev_space *space;
static uint64_t host;
static int kept = -1;
static struct objects objects;
static struct savepoint point;
static struct savepoint_header *header;
static struct wire_savepoint shown;
static struct variables variables;
static char why[256];

static void open_on(int fd) {
    struct dev_config config = {.memory_bytes = MEMORY, .threads = 1, .memory_fd = fd};
    struct dev_windows w = {BASE, ALLOC, MODULES, host, 8 * MIB, 4 * MIB};
    cr_assert_eq(ops.open(&dev, &config), 0);
    cr_assert_eq(ops.space_create(dev, &w, &no_ops, NULL, &space), 0);
    cr_assert_eq(object_init(&objects), 0);
}

static void setup(void) {
    ops = dev_soft;
    host = (uint64_t)(uintptr_t)mmap(NULL, 8 * MIB, PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    open_on(-1);
    kept = fcntl(ops.recovery->memory_fd(dev), F_DUPFD_CLOEXEC, 0);
    header = calloc(1, sizeof(*header));
    savepoint_attach(&point, header, NULL, &shown);
}

static void drop_all(void) {
    for (struct module *m; (m = object_next(&objects, 0));) {
        ops.module_remove(m->dev);
        ops.module_free(m->dev);
        object_forget(&objects, m);
        free(m);
    }
}

static void teardown(void) {
    variables_finish(&variables, &ops, dev);
    drop_all();
    object_finish(&objects);
    ops.space_destroy(space);
    cr_expect_eq(ops.mem_used(dev), 0, "memory left behind");
    ops.close(dev);
    close(kept);
    savepoint_finish(&point);
    free(header);
}

TestSuite(variables, .init = setup, .fini = teardown);

/* The device belongs to another process: none of its objects is freed here, or counts as leaked. */
static void bury(void *what) {
    static void *volatile graves[64];
    static uint32_t count;
    cr_assert(count < 64 && !graves[count]);
    graves[count++] = what;
}

static void die(void) {
    bury(dev);
    bury(space);
    for (const struct module *m = object_next(&objects, 0); m;
         m = object_next(&objects, m->id + 1)) {
        bury((void *)(uintptr_t)m);
        bury(m->dev);
    }
    object_finish(&objects);
    munmap((void *)(uintptr_t)BASE, ALLOC + MODULES);
    memset(&variables, 0, sizeof(variables));
    open_on(kept);
}

static struct dev_module *read_text(const char *text) {
    struct dev_module *m;
    cr_assert_eq(ops.module_read(space, 0, text, strlen(text) + 1, &m, why, sizeof(why)), 0, "%s",
                 why);
    return m;
}

static struct module *add(uint32_t id, struct dev_module *m) {
    struct module loaded = {.ops = &ops, .dev = m, .id = id};
    struct module *added = object_add_module(&objects, &loaded);
    cr_assert_not_null(added);
    return added;
}

static struct module *load(uint32_t id, const char *text) {
    struct dev_module *m = read_text(text);
    cr_assert_eq(ops.module_place(m, why, sizeof(why)), 0, "%s", why);
    return add(id, m);
}

static struct module *load_at(uint32_t id, const char *text, const struct dev_granule *where,
                              uint32_t count) {
    struct dev_module *m = read_text(text);
    cr_assert_eq(ops.recovery->module_place_at(m, where, count, why, sizeof(why)), 0, "%s", why);
    return add(id, m);
}

static volatile uint64_t *var(const struct module *m, const char *name) {
    uint64_t addr, bytes;
    cr_assert_eq(ops.global_get(m->dev, name, &addr, &bytes), 0, "%s", name);
    return (volatile uint64_t *)(uintptr_t)addr;
}

static void save(uint32_t most) {
    uint32_t at = 0;
    cr_assert_eq(variables_list(&objects, &ops, &point), 0);
    for (uint32_t n = 0; at < header->granule_count; n++) {
        cr_assert_eq(variables_save(&variables, &ops, dev, &point, &at, most), 0);
        cr_assert_lt(n, 100);
    }
}

Test(variables, of_all_modules_are_brought_back) {
    struct dev_granule where[2][MOST];
    uint32_t count[2];
    struct module *first = load(3, small), *second = load(1, large);
    load(2, none);
    *var(first, "value") = 70;
    *var(second, "value") = 80;
    var(second, "more")[600000] = 81; /* in the last granule of the variable */
    for (uint32_t i = 0; i < 2; i++)
        count[i] = ops.recovery->module_where((i ? second : first)->dev, where[i], MOST);
    cr_assert(count[0] == 1 && count[1] == 3);
    save(2);
    cr_expect_eq(header->granule_count, 4);
    *var(first, "value") = *var(second, "value") = var(second, "more")[600000] = 42;
    die();
    cr_assert_eq(variables_adopt(&variables, &ops, dev, &point), 0);
    second = load_at(1, large, where[1], count[1]); /* in any order */
    first = load_at(3, small, where[0], count[0]);
    cr_assert_eq(*var(first, "value"), 42);
    ops.recovery->memory_settle(dev);
    cr_expect_eq(variables_load(&variables, &ops, dev, &point, first), 0);
    cr_expect_eq(*var(first, "value"), 70);
    cr_expect_eq(*var(second, "value"), 42, "that is the first one's");
    cr_expect_eq(variables_load(&variables, &ops, dev, &point, second), 0);
    cr_expect_eq(*var(second, "value"), 80);
    cr_expect_eq(var(second, "more")[600000], 81);
    cr_expect_eq(variables_load(&variables, &ops, dev, &point, load(4, none)), 0);
}

/* The same spare chunks, for other modules. */
Test(variables, the_next_save_counts) {
    struct dev_granule where[MOST];
    struct module *first = load(0, large), *second = load(1, small);
    *var(first, "value") = 1;
    *var(second, "value") = 2;
    save(8);
    void *spare = variables.spares[0];
    ops.module_remove(first->dev);
    ops.module_free(first->dev);
    object_forget(&objects, first);
    free(first);
    *var(second, "value") = 3;
    save(1);
    cr_expect_eq(header->granule_count, 1);
    cr_expect_eq(variables.spares[0], spare);
    uint32_t count = ops.recovery->module_where(second->dev, where, MOST);
    *var(second, "value") = 42;
    die();
    cr_assert_eq(variables_adopt(&variables, &ops, dev, &point), 0);
    second = load_at(1, small, where, count);
    ops.recovery->memory_settle(dev);
    cr_expect_eq(variables_load(&variables, &ops, dev, &point, second), 0);
    cr_expect_eq(*var(second, "value"), 3);
}

Test(variables, a_module_that_was_not_saved_is_said_to_be_none) {
    load(0, small);
    save(8);
    struct module *later = load(1, large);
    *var(later, "value") = 42;
    cr_expect_eq(variables_load(&variables, &ops, dev, &point, later), -ENOENT);
    cr_expect_eq(*var(later, "value"), 42);
}

Test(variables, managed_ones_are_the_hosts) {
    load(0, small);
    load(1, managed);
    cr_expect_eq(variables_list(&objects, &ops, &point), -EADDRNOTAVAIL);
}

static uint32_t many; /* number of variables of each module */

static uint32_t where_many(const struct dev_module *m, struct dev_granule *out, uint32_t cap) {
    (void)m;
    for (uint32_t i = 0; i < many && i < cap; i++)
        out[i] = (struct dev_granule){BASE + ALLOC + i * GRAN, i};
    return many;
}

Test(variables, there_may_be_too_many) {
    struct module *m = load(0, none);
    load(1, none);
    recovery = *dev_soft.recovery;
    recovery.module_where = where_many;
    ops.recovery = &recovery;
    many = SAVEPOINT_GRANULES / 2;
    cr_expect_eq(variables_list(&objects, &ops, &point), 0);
    cr_expect_eq(header->granule_count, SAVEPOINT_GRANULES);
    many++;
    cr_expect_eq(variables_list(&objects, &ops, &point), -ENOSPC);
    many = SAVEPOINT_GRANULES + 1;
    cr_expect_eq(variables_list(&objects, &ops, &point), -ENOSPC);
    cr_expect_eq(variables_load(&variables, &ops, dev, &point, m), -ENOENT);
}

Test(variables, where_none_can_be_written_there_is_nothing_to_do) {
    struct module *m = load(0, small);
    ops.variables = NULL;
    cr_expect_eq(variables_list(&objects, &ops, &point), 0);
    cr_expect_eq(header->granule_count, 0);
    *var(m, "value") = 42;
    cr_expect_eq(variables_load(&variables, &ops, dev, &point, m), 0);
    cr_expect_eq(*var(m, "value"), 42);
}

/* A header with arbitrary contents. */
Test(variables, what_cannot_be_adopted_is_refused_as_a_whole) {
    load(0, large);
    save(8);
    static const struct {
        uint64_t spare;
        int err;
    } wrong[] = {{0, -EINVAL}, {UINT64_MAX, -EINVAL}, {CHUNKS, -EEXIST}};
    for (uint32_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        uint64_t right = header->granules[2].spare;
        die();
        header->granules[2].spare = wrong[i].spare;
        cr_expect_eq(header->granules[0].spare, CHUNKS);
        cr_expect_eq(variables_adopt(&variables, &ops, dev, &point), wrong[i].err);
        for (uint32_t k = 0; k < SAVEPOINT_GRANULES; k++)
            cr_expect_null(variables.spares[k]);
        header->granules[2].spare = right;
        cr_expect_eq(variables_adopt(&variables, &ops, dev, &point), 0, "they are free");
    }
    variables_finish(&variables, &ops, dev);
    cr_expect_null(variables.spares[0]);
}

static uint32_t left; /* number of spare chunks left */

static void *make_few(struct dev *d) {
    return left && left-- ? dev_soft.spares->spare_make(d) : NULL;
}

/* A chunk without an owner is not read, whatever the header says. */
Test(variables, saving_may_fail) {
    uint32_t at = 0;
    load(0, large);
    cr_assert_eq(variables_list(&objects, &ops, &point), 0);
    spares = *dev_soft.spares;
    spares.spare_make = make_few;
    ops.spares = &spares;
    left = 2;
    cr_expect_eq(variables_save(&variables, &ops, dev, &point, &at, 8), -ENOMEM);
    ops.spares = dev_soft.spares;
    header->granules[1].chunk = CHUNKS - 1;
    at = 0;
    cr_expect_eq(variables_save(&variables, &ops, dev, &point, &at, 8), -EINVAL);
}
