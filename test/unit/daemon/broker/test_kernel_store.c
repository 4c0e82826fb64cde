/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernel profiles outlive the daemon; they are stored for the device on which they were measured.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/broker/store/kernel_store.h"
#include "daemon/kernels/kernel_text.h"

static uv_loop_t loop;
static struct kernel_store k;
static char dir[] = "/tmp/salus-kernels-XXXXXX", path[64], why[KERNEL_PROFILE_WHY_BYTES];

static void open_store(void) {
    uv_loop_init(&loop);
    kernel_store_init(&k, &loop, path);
}

static void close_store(void) {
    kernel_store_stop(&k);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_assert_eq(uv_loop_close(&loop), 0);
    kernel_store_finish(&k);
}

static void restart(void) {
    close_store();
    open_store();
}

static void setup(void) {
    cr_assert_not_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/kernels", dir);
    open_store();
}

static void teardown(void) {
    char command[96];

    close_store();
    snprintf(command, sizeof(command), "rm -r %s", dir);
    cr_assert_eq(system(command), 0);
}

TestSuite(kernel_store, .init = setup, .fini = teardown);

static struct kernel_profile profile_of(uint64_t func, uint32_t uid) {
    struct kernel_profile p = {.key = {func, {4, 1, 1}, {32, 1, 1}, 0, uid}, .name = "k", .sms = 4};

    kernel_dist_add(&p.durations, 5000);
    return p;
}

static int learn(uint64_t func) {
    struct kernel_profile p = profile_of(func, 0);

    return kernel_store_learn(&k, &p, why);
}

static bool known(uint64_t func, uint32_t uid) {
    struct kernel_profile p = profile_of(func, uid);
    const struct kernel_profile *found = kernel_set_find(&k.set, &p.key);

    if (found) cr_assert_eq(memcmp(found, &p, sizeof(p)), 0);
    return found != NULL;
}

static bool exists(const char *suffix) {
    char name[128];

    snprintf(name, sizeof(name), "%s%s", path, suffix);
    return access(name, F_OK) == 0;
}

static void write_file(const char *text) {
    FILE *f = fopen(path, "w");

    fputs(text, f);
    fclose(f);
}

Test(kernel_store, before_the_device_is_known_nothing_is) {
    write_file("salus-kernels 1 0 0\ndevice sms=8 name=GPU\n");
    cr_assert_eq(learn(1), -ENODEV);
    restart();
    cr_assert(exists(""));
}

Test(kernel_store, what_was_learned_outlives_the_daemon) {
    struct kernel_profile_hint h = {.name = "k", .duration_ns = 7};

    cr_assert(kernel_store_device(&k, "GPU", 8));
    cr_assert_eq(learn(1), 0);
    cr_assert_eq(learn(2), 0);
    cr_assert_eq(kernel_set_add_hints(&k.set, &h, 1), 0);
    restart();
    cr_assert_not(known(1, 0));
    cr_assert(kernel_store_device(&k, "GPU", 8));
    cr_assert(known(1, 0));
    cr_assert(known(2, 0));
    cr_assert_eq(k.set.hint_count, 1);
    cr_assert_not(kernel_store_device(&k, "GPU", 8), "the next worker has the same");
    cr_assert(known(1, 0));
}

Test(kernel_store, it_is_written_while_the_daemon_runs) {
    k.file.delay_ms = 1;
    kernel_store_device(&k, "GPU", 8);
    cr_assert_eq(learn(1), 0);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_assert(exists(""));
}

Test(kernel_store, a_damaged_file_is_set_aside) {
    write_file("salus-kernels 1 1 0\ndevice sms=8 name=GPU\nkernel func=1\n");
    cr_assert(kernel_store_device(&k, "GPU", 8));
    cr_assert_eq(k.set.count, 0);
    cr_assert(exists(".corrupt"));
    cr_assert_not(exists(""));
    cr_assert_str_eq(k.set.device.name, "GPU");
    cr_assert_eq(learn(1), 0);
    restart();
    kernel_store_device(&k, "GPU", 8);
    cr_assert(known(1, 0));
}

Test(kernel_store, each_device_has_its_own) {
    kernel_store_device(&k, "GPU", 8);
    learn(1);
    restart();
    cr_assert(kernel_store_device(&k, "GPU", 16));
    cr_assert_not(known(1, 0), "as many SMs make another device");
    cr_assert(exists(".GPU-8"));
    cr_assert_not(exists(""));
    learn(2);
    restart();
    cr_assert(kernel_store_device(&k, "GPU", 8));
    cr_assert(known(1, 0));
    cr_assert_not(known(2, 0));
    cr_assert(exists(".GPU-16"));
    cr_assert_not(exists(".GPU-8"), "it is the one in use");
    cr_assert(exists(""));
}

/* With several GPUs, each model has a file of its own name, which starts with the profiles of a
 * single GPU's file; nothing is lost on the way back. */
Test(kernel_store, with_others_its_file_has_its_name_from_the_first) {
    kernel_store_device(&k, "GPU", 8);
    learn(1);
    restart();
    k.apart = true;
    kernel_store_device(&k, "GPU", 16);
    cr_assert_not(known(1, 0));
    cr_assert(exists(""), "it is not this one's");
    learn(2);
    restart();
    cr_assert(exists(".GPU-16"));
    k.apart = true;
    kernel_store_device(&k, "GPU", 8);
    cr_assert(known(1, 0));
    cr_assert(exists(".GPU-8"));
    cr_assert_not(exists(""));
    learn(3);
    restart();
    kernel_store_device(&k, "GPU", 8);
    cr_assert(known(1, 0) && known(3, 0));
    cr_assert_not(known(2, 0));
    cr_assert(exists(""));
}

Test(kernel_store, a_device_may_change_while_the_daemon_runs) {
    kernel_store_device(&k, "GPU one/two", 8);
    learn(1);
    cr_assert(kernel_store_device(&k, "GPU", 8));
    cr_assert_not(known(1, 0));
    cr_assert(exists(".GPU-one-two-8"));
    learn(2);
    cr_assert(kernel_store_device(&k, "GPU one/two", 8));
    cr_assert(known(1, 0));
    cr_assert_not(known(2, 0));
    cr_assert(kernel_store_device(&k, "GPU", 8));
    cr_assert(known(2, 0));
}

/* Two names that map to one file name: neither file is read for the other. */
Test(kernel_store, names_of_devices_that_look_the_same) {
    kernel_store_device(&k, "GPU 1", 8);
    learn(1);
    cr_assert(kernel_store_device(&k, "GPU-1", 8));
    cr_assert_not(known(1, 0));
    cr_assert_str_eq(k.set.device.name, "GPU-1");
    cr_assert(exists(".GPU-1-8"));
}

Test(kernel_store, a_name_that_no_file_could_have) {
    kernel_store_device(&k, " GPU\n\x01 ", 8);
    learn(1);
    restart();
    kernel_store_device(&k, " GPU\n\x01 ", 8);
    cr_assert(known(1, 0));
}

Test(kernel_store, where_nothing_is_kept_it_is_known_all_the_same) {
    kernel_store_stop(&k);
    uv_run(&loop, UV_RUN_DEFAULT);
    kernel_store_finish(&k);
    kernel_store_init(&k, &loop, "");
    cr_assert(kernel_store_device(&k, "GPU", 8));
    cr_assert_eq(learn(1), 0);
    cr_assert(known(1, 0));
    cr_assert(kernel_store_device(&k, "GPU", 9));
    cr_assert_not(known(1, 0));
    cr_assert_not(exists(""));
}

Test(kernel_store, what_a_worker_says_is_checked) {
    struct kernel_profile p = profile_of(1, 0);

    kernel_store_device(&k, "GPU", 8);
    p.class = 9;
    cr_assert_eq(kernel_store_learn(&k, &p, why), -EINVAL);
    cr_assert_str_eq(why, "the class or the source is unknown");
    p = profile_of(1, 0);
    p.durations.count = 0;
    cr_assert_eq(kernel_store_learn(&k, &p, why), 0);
    cr_assert(known(1, 0), "the count is worked out");
}

/* ---- importing ------------------------------------------------------------------------------- */

static struct kernel_set table;

static void parse(const char *text) {
    kernel_set_init(&table, 3);
    cr_assert_eq(kernel_text_parse(&table, text, strlen(text), why), 0, "%s", why);
}

static int import(uint32_t uid) {
    int err = kernel_store_import(&k, &table, uid, why);

    kernel_set_finish(&table);
    return err;
}

#define HINT "hint grid=0,0,0 block=0,0,0 sms=1 class=memory compute=0 memory=0 ns=9 name=k\n"
#define KERNEL(func, uid)                                                                    \
    "kernel func=" func " grid=4,1,1 block=32,1,1 shared=0 uid=" uid " sms=4 class=unknown " \
    "source=none compute=0 memory=0 lone=0 sum=5000 bins=25:1 name=k\n"

Test(kernel_store, tables_and_what_was_exported_are_taken_over) {
    parse("salus-kernels 1 0 1\ndevice sms=0 name=?\n" HINT);
    cr_assert_eq(import(KERNEL_SET_ANYBODY), -ENODEV);
    cr_assert_str_eq(why, "the device is not known yet, because no worker has started");
    kernel_store_device(&k, "GPU", 8);
    parse("salus-kernels 1 0 1\ndevice sms=0 name=?\n" HINT);
    cr_assert_eq(import(1000), 0);
    cr_assert_eq(k.set.hint_count, 1);
    parse("salus-kernels 1 2 0\ndevice sms=8 name=GPU\n" KERNEL("1", "1000") KERNEL("2", "1000"));
    cr_assert_eq(import(1000), 0);
    cr_assert(known(1, 1000));
    restart();
    kernel_store_device(&k, "GPU", 8);
    cr_assert(known(2, 1000));
    cr_assert_eq(k.set.hint_count, 1);
}

Test(kernel_store, what_may_not_be_imported) {
    kernel_store_device(&k, "GPU", 8);
    parse("salus-kernels 1 1 0\ndevice sms=16 name=GPU\n" KERNEL("1", "1000"));
    cr_assert_eq(import(KERNEL_SET_ANYBODY), -EXDEV);
    cr_assert_str_eq(
        why, "the profiles were measured on 'GPU' with 16 SMs, and this GPU is 'GPU' with 8");
    parse("salus-kernels 1 1 1\ndevice sms=8 name=GPU\n" HINT KERNEL("1", "1000"));
    cr_assert_eq(import(1001), -EPERM);
    cr_assert_str_eq(why, "the file contains profiles of user 1000");
    cr_assert_eq(k.set.count + k.set.hint_count, 0);
    parse("salus-kernels 1 1 0\ndevice sms=8 name=GPU\n" KERNEL("1", "1000"));
    cr_assert_eq(import(KERNEL_SET_ANYBODY), 0);
    cr_assert(known(1, 1000));
}

Test(kernel_store, more_hints_than_there_is_room_for) {
    struct kernel_profile_hint h = {.duration_ns = 1};

    kernel_store_device(&k, "GPU", 8);
    for (uint32_t i = 0; i < KERNEL_SET_HINTS_MAX; i++) {
        snprintf(h.name, sizeof(h.name), "h%u", i);
        cr_assert_eq(kernel_set_add_hints(&k.set, &h, 1), 0);
    }
    parse("salus-kernels 1 1 1\ndevice sms=8 name=GPU\n" HINT KERNEL("1", "0"));
    cr_assert_eq(import(KERNEL_SET_ANYBODY), -EINVAL);
    cr_assert_str_eq(why, "1 new hints and 4096 present ones exceed the limit of 4096; run "
                          "'salusctl profile forget' first");
    cr_assert_eq(k.set.count, 0);
}

Test(kernel_store, what_is_forgotten_is_not_in_the_file_either) {
    struct kernel_set_filter f = {KERNEL_SET_ANYBODY, NULL, true};

    kernel_store_device(&k, "GPU", 8);
    learn(1);
    restart();
    kernel_store_device(&k, "GPU", 8);
    cr_assert_eq(kernel_store_forget(&k, &f), 1);
    cr_assert_eq(kernel_store_forget(&k, &f), 0);
    restart();
    kernel_store_device(&k, "GPU", 8);
    cr_assert_eq(k.set.count, 0);
}
