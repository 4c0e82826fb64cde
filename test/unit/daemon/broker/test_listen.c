/* SPDX-License-Identifier: Apache-2.0
 *
 * The run directory: its required owner, the files that are never replaced in it, and the removal
 * of our own files.
 */
#include "daemon/broker/listen.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fdutil.h"

static char dir[] = "/tmp/salus-listen-XXXXXX", path[64], why[512];

static void begin(void) {
    cr_assert_not_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/job.sock", dir);
}

/* Also removes the files that a failing test leaves. */
static void end(void) {
    listen_remove(dir);
    unlink(path);
    rmdir(dir);
}

TestSuite(listen, .init = begin, .fini = end);

static void make_file(const char *name, const char *text) {
    char file[64];
    FILE *f;

    snprintf(file, sizeof(file), "%s/%s", dir, name);
    f = fopen(file, "we");
    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
}

Test(listen, a_file_that_is_no_socket_is_not_replaced) {
    char text[16] = "", expected[256];
    int fd;

    make_file("job.sock", "dear to me");
    cr_assert_eq(listen_open(path, 0666, why, sizeof(why)), -EEXIST);
    snprintf(expected, sizeof(expected),
             "%s: the file exists and is not a socket; move it away, or name another directory "
             "(--run-dir)",
             path);
    cr_expect_str_eq(why, expected);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    cr_assert_geq(fd, 0, "it was removed");
    cr_expect_eq(read(fd, text, sizeof(text) - 1), 10);
    cr_expect_str_eq(text, "dear to me");
    close(fd);
    unlink(path);
    cr_assert_eq(symlink("/etc/passwd", path), 0);
    cr_expect_eq(listen_open(path, 0666, why, sizeof(why)), -EEXIST, "nor a link");
}

Test(listen, a_dead_socket_is_replaced) {
    int fd = listen_open(path, 0600, why, sizeof(why)), again;

    cr_assert_geq(fd, 0, "%s", why);
    close(fd);
    again = listen_open(path, 0600, why, sizeof(why));
    cr_assert_geq(again, 0, "%s", why);
    close(again);
}

Test(listen, a_directory_that_others_can_write_to_is_refused) {
    const mode_t modes[] = {0720, 0702, 0777, 01777, 02775};
    int fd;

    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        cr_assert_eq(chmod(dir, modes[i]), 0);
        cr_expect_eq(listen_lock(dir, why, sizeof(why)), -EPERM, "mode %04o", modes[i]);
        cr_expect(strstr(why, "other users can write to this directory") &&
                      strstr(why, "run 'chmod go-w /tmp/"),
                  "%s", why);
    }
    cr_assert_eq(chmod(dir, 0755), 0);
    fd = listen_lock(dir, why, sizeof(why));
    cr_assert_geq(fd, 0, "%s", why);
    close(fd);
}

Test(listen, a_directory_of_somebody_else_is_refused) {
    if (geteuid() != 0) cr_skip("it takes root to give a directory away");
    cr_assert_eq(chown(dir, 4711, (gid_t)-1), 0);
    cr_expect_eq(listen_lock(dir, why, sizeof(why)), -EPERM);
    cr_expect(strstr(why, "belongs to user 4711, who") && strstr(why, "--run-dir"), "%s", why);
}

/* A directory owned by root is accepted: root may have made it for this daemon. */
Test(listen, a_directory_of_root_is_not) {
    if (geteuid() == 0) cr_skip("root's is our own");
    cr_expect_eq(listen_check_dir("/", why, sizeof(why)), 0, "%s", why);
}

Test(listen, a_temporary_directory_goes_with_all_that_a_daemon_leaves) {
    const char *files[] = {"ctl.sock",      "notify",          "salusd.lock",
                           "worker.events", "worker.1.events", "worker.15.events"};

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        make_file(files[i], "");
    listen_remove(dir);
    cr_expect_neq(access(dir, F_OK), 0, "something is left");
}

Test(listen, a_temporary_directory_keeps_what_is_not_ours) {
    const char *files[] = {"worker.x.events", "worker.1.events.gz", "worker..events", "notes"};
    char file[64];

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        make_file(files[i], "");
    listen_remove(dir);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        snprintf(file, sizeof(file), "%s/%s", dir, files[i]);
        cr_expect_eq(unlink(file), 0, "%s", file);
    }
}
