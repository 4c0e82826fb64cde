/* SPDX-License-Identifier: Apache-2.0
 *
 * Temporary directories for a command: which one is chosen, and the message when there is none.
 */
#include "daemon/ctl/files/temporary.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char runtime[64], other[64], dir[PATH_MAX], why[TEMPORARY_WHY_BYTES];

static void begin(void) {
    strcpy(runtime, "/tmp/salus-run-XXXXXX");
    strcpy(other, "/tmp/salus-tmp-XXXXXX");
    cr_assert_not_null(mkdtemp(runtime));
    cr_assert_not_null(mkdtemp(other));
    setenv("XDG_RUNTIME_DIR", runtime, 1);
    setenv("TMPDIR", other, 1);
}

static void end(void) {
    cr_assert_eq(rmdir(runtime), 0, "nothing is left in it");
    cr_assert_eq(rmdir(other), 0);
}

TestSuite(temporary, .init = begin, .fini = end);

static const char *found(enum temporary_use use) {
    cr_assert_eq(temporary_find(use, dir, why), 0, "%s", why);
    cr_assert_str_eq(why, "");
    return dir;
}

Test(temporary, the_first_is_taken) {
    cr_assert_str_eq(found(TEMPORARY_RUN), runtime);
    cr_assert_str_eq(found(TEMPORARY_FILE), other);
    unsetenv("XDG_RUNTIME_DIR");
    cr_assert_str_eq(found(TEMPORARY_RUN), other);
    unsetenv("TMPDIR");
    cr_assert_str_eq(found(TEMPORARY_RUN), "/tmp");
    cr_assert_str_eq(found(TEMPORARY_FILE), "/tmp");
}

/* Not even root can create a file in /proc, although its mode allows it. */
Test(temporary, one_that_cannot_be_used_is_passed_over) {
    static const char *const bad[] = {"",      "relative",    "/nonexistent/x",
                                      "/proc", "/etc/passwd", "/proc/self"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        setenv("XDG_RUNTIME_DIR", bad[i], 1);
        cr_assert_str_eq(found(TEMPORARY_RUN), other, "%s", bad[i]);
    }
    setenv("TMPDIR", "/proc", 1);
    cr_assert_str_eq(found(TEMPORARY_RUN), "/tmp");
    cr_assert_str_eq(found(TEMPORARY_FILE), "/tmp");
}

Test(temporary, a_long_one_is_for_files_only) {
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/%060d", other, 0);
    cr_assert_eq(mkdir(path, 0700), 0);
    setenv("TMPDIR", path, 1);
    unsetenv("XDG_RUNTIME_DIR");
    cr_assert_str_eq(found(TEMPORARY_RUN), "/tmp");
    cr_assert_str_eq(found(TEMPORARY_FILE), path);
    rmdir(path);
}

Test(temporary, slashes_at_the_end_do_not_count) {
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s//", runtime);
    setenv("XDG_RUNTIME_DIR", path, 1);
    cr_assert_str_eq(found(TEMPORARY_RUN), runtime);
}

/* A limit on file sizes acts like a full disk, for a test that cannot mount one. */
Test(temporary, where_nothing_can_be_written_each_is_named) {
    struct rlimit none = {0, RLIM_INFINITY}, before;
    struct sigaction action;

    getrlimit(RLIMIT_FSIZE, &before);
    setrlimit(RLIMIT_FSIZE, &none);
    int err = temporary_find(TEMPORARY_RUN, dir, why);
    int file = temporary_open("x", dir, why);
    setrlimit(RLIMIT_FSIZE, &before);
    cr_assert_eq(err, -ENOENT);
    cr_assert_eq(file, -ENOENT);
    cr_assert_not_null(strstr(why, "cannot create a temporary file: TMPDIR=/tmp/salus-tmp-"), "%s",
                       why);
    cr_assert_not_null(strstr(why, "; set TMPDIR to a directory"), "%s", why);
    cr_assert_not_null(strstr(why, "/tmp: File too large"), "%s", why);
    cr_assert_not_null(strstr(why, "/dev/shm: "), "%s", why);
    cr_assert_not_null(strstr(why, "XDG_RUNTIME_DIR=/tmp/salus-run-"), "%s", why);
    sigaction(SIGXFSZ, NULL, &action);
    cr_assert_eq(action.sa_handler, SIG_DFL, "the command's signal is as it was");
}

Test(temporary, a_file_is_its_owners) {
    char path[PATH_MAX];
    struct stat st;
    int fd = temporary_open("salus-x", path, why);

    cr_assert_geq(fd, 0, "%s", why);
    cr_assert_eq(strncmp(path, other, strlen(other)), 0);
    cr_assert_not_null(strstr(path, "/salus-x-"));
    cr_assert_eq(stat(path, &st), 0);
    cr_assert_eq(st.st_mode & 0777, 0600);
    unlink(path);
    close(fd);
}
