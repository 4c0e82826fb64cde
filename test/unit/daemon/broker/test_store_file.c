/* SPDX-License-Identifier: Apache-2.0
 *
 * A stored file: its location, that it is written completely, and the handling of a damaged one.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/broker/store/store_file.h"

static uv_loop_t loop;
static struct store_file f;
static char dir[] = "/tmp/salus-store-XXXXXX";
static char content[64];
static int prints;

static void print(const void *owner, struct buf *out) {
    prints++;
    buf_printf(out, "%s", (const char *)owner);
}

static void setup(void) {
    cr_assert_not_null(mkdtemp(dir));
    uv_loop_init(&loop);
    f = (struct store_file){
        .topic = "test", .bytes_max = 32, .delay_ms = 1, .print = print, .owner = content};
    snprintf(f.path, sizeof(f.path), "%s/file", dir);
    store_file_init(&f, &loop);
}

static const char *path_of(const char *name) {
    static char path[128];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return path;
}

static void teardown(void) {
    static const char *const names[] = {"file", "file.corrupt"};

    if (!f.stopped) store_file_stop(&f);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_assert_eq(uv_loop_close(&loop), 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        unlink(path_of(names[i]));
    rmdir(path_of("file.new"));
    cr_assert_eq(rmdir(dir), 0, "something was left behind");
}

TestSuite(store_file, .init = setup, .fini = teardown);

static void touch(const char *text) {
    strcpy(content, text);
    store_file_touch(&f);
}

static void expect(const char *wanted) {
    char *text = NULL;
    size_t bytes = 0;

    cr_assert_eq(store_file_read(&f, &text, &bytes), 0);
    cr_assert_eq(bytes, strlen(wanted));
    cr_assert_eq(memcmp(text, wanted, bytes), 0);
    free(text);
}

static void run(void) {
    uv_run(&loop, UV_RUN_DEFAULT); /* runs until there is no timer and no write left */
}

Test(store_file, what_changed_is_written_once) {
    struct stat st;

    touch("one");
    touch("two");
    run();
    expect("two");
    cr_assert_eq(prints, 1);
    cr_assert_eq(stat(f.path, &st), 0);
    cr_assert_eq(st.st_mode & 0777, 0600);
    touch("three");
    run();
    expect("three");
}

/* ---- during a write
 * --------------------------------------------------------------------------- */

/* Keeps the pool's only thread busy, so that a write that has begun does not end. */
static sem_t held;
static uv_work_t holder;

static void hold(uv_work_t *work) {
    while (sem_wait(&held) < 0)
        continue;
}

static void begin_writing(const char *text) {
    setenv("UV_THREADPOOL_SIZE", "1", 1);
    sem_init(&held, 0, 0);
    cr_assert_eq(uv_queue_work(&loop, &holder, hold, NULL), 0);
    touch(text);
    while (!f.writing)
        uv_run(&loop, UV_RUN_NOWAIT);
}

static void end_writing(void) {
    sem_post(&held);
    run();
}

Test(store_file, what_changes_while_it_is_written_is_written_after_it) {
    begin_writing("one");
    touch("two");
    end_writing();
    expect("two");
    cr_assert_eq(prints, 2);
}

Test(store_file, a_flush_overtakes_what_is_being_written) {
    begin_writing("old");
    strcpy(content, "new");
    store_file_flush(&f);
    expect("new");
    cr_assert(f.writing, "the pool is still at it");
    end_writing();
    expect("new");
    cr_assert_neq(access(path_of("file.new"), F_OK), 0);
    cr_assert_neq(access(path_of("file.now"), F_OK), 0);
}

Test(store_file, a_flush_of_nothing_writes_nothing) {
    store_file_flush(&f);
    cr_assert_neq(access(f.path, F_OK), 0);
}

Test(store_file, when_it_was_stopped_a_flush_still_writes) {
    touch("last");
    store_file_stop(&f);
    run();
    cr_assert_neq(access(f.path, F_OK), 0);
    touch("very last");
    store_file_flush(&f);
    expect("very last");
}

Test(store_file, what_is_not_to_be_kept_is_not) {
    char *text = NULL;
    size_t bytes;

    f.path[0] = '\0';
    touch("one");
    run();
    store_file_flush(&f);
    cr_assert_eq(prints, 0);
    cr_assert_eq(store_file_read(&f, &text, &bytes), -ENOENT);
}

Test(store_file, a_file_that_cannot_be_written_leaves_the_one_before) {
    touch("one");
    run();
    cr_assert_eq(mkdir(path_of("file.new"), 0700), 0);
    touch("two");
    run();
    cr_assert(f.complained);
    expect("one");
    rmdir(path_of("file.new"));
    touch("three");
    run();
    cr_assert_not(f.complained);
    expect("three");
}

static void put(size_t bytes) {
    FILE *file = fopen(f.path, "w");

    for (size_t i = 0; i < bytes; i++)
        fputc('x', file);
    fclose(file);
}

Test(store_file, one_that_is_too_long_is_not_read) {
    char *text = NULL;
    size_t bytes;

    put(32);
    cr_assert_eq(store_file_read(&f, &text, &bytes), 0);
    cr_assert_eq(bytes, 32);
    free(text);
    put(33);
    cr_assert_eq(store_file_read(&f, &text, &bytes), -EFBIG);
}

Test(store_file, one_of_no_bytes_is_one) {
    char *text = NULL;
    size_t bytes = 7;

    put(0);
    cr_assert_eq(store_file_read(&f, &text, &bytes), 0);
    cr_assert_eq(bytes, 0);
    free(text);
}

Test(store_file, what_cannot_be_understood_is_set_aside) {
    put(3);
    store_file_unusable(&f, -EINVAL, "it is not ours");
    cr_assert_neq(access(f.path, F_OK), 0);
    cr_assert_eq(access(path_of("file.corrupt"), F_OK), 0);
    put(3);
    store_file_unusable(&f, -EFBIG, "");
    cr_assert_neq(access(f.path, F_OK), 0);
    put(3);
    store_file_unusable(&f, -EIO, "");
    cr_assert_eq(access(f.path, F_OK), 0, "the disk's fault, not the file's");
}

/* A daemon that was killed while it wrote leaves the file that it was writing. */
Test(store_file, an_interrupted_write_leaves_nothing) {
    static const char *const left[] = {"file.new", "file.now"};
    static struct store_file next = {.topic = "test", .bytes_max = 32, .print = print};

    for (size_t i = 0; i < 2; i++)
        fclose(fopen(path_of(left[i]), "w"));
    put(3);
    strcpy(next.path, f.path);
    store_file_init(&next, &loop);
    for (size_t i = 0; i < 2; i++)
        cr_expect_neq(access(path_of(left[i]), F_OK), 0, "%s", left[i]);
    cr_expect_eq(access(f.path, F_OK), 0);
    store_file_stop(&next);
}

Test(store_file, where_it_lies) {
    char path[STORE_PATH_BYTES];

    unsetenv("STATE_DIRECTORY");
    store_file_place("kernels", "/run/x", path);
    cr_assert_str_eq(path, "/run/x/kernels");
    setenv("STATE_DIRECTORY", "/var/lib/x:/var/lib/y", 1);
    store_file_place("kernels", "/run/x", path);
    cr_assert_str_eq(path, "/var/lib/x/kernels");
    store_file_place("/a/kernels", "/run/x", path);
    cr_assert_str_eq(path, "/a/kernels");
    store_file_place("", "/run/x", path);
    cr_assert_str_eq(path, "");
}
