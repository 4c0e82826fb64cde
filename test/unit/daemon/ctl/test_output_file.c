/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that salusctl writes: the state after a failure, and a limit of their size.
 */
#include "daemon/ctl/files/output_file.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/salus-output-XXXXXX", path[64], *said;
static size_t said_bytes;
static struct cli c;
static struct output_file o;

static void begin(void) {
    cr_assert_not_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/file", dir);
    c.err = open_memstream(&said, &said_bytes);
}

static void end(void) {
    fclose(c.err);
    free(said);
    unlink(path);
    rmdir(dir);
}

TestSuite(output_file, .init = begin, .fini = end);

static const char *words(void) {
    fflush(c.err);
    return said;
}

static const char *contents(void) {
    static char text[64];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

    cr_assert_geq(n, 0);
    close(fd);
    text[n] = '\0';
    return text;
}

static void make_old(void) {
    FILE *f = fopen(path, "we");

    fputs("an old recording", f);
    fclose(f);
}

Test(output_file, a_new_one_stays_if_it_is_complete) {
    struct stat st;

    umask(027);
    cr_assert_eq(output_file_open(&c, &o, path, 0666), CLI_OK);
    cr_assert_eq(output_file_write(&c, &o, "text", 4), CLI_OK);
    output_file_close(&o, true);
    cr_expect_str_eq(contents(), "text");
    stat(path, &st);
    cr_expect_eq(st.st_mode & 0777, 0640);
}

Test(output_file, a_new_one_goes_with_its_failure) {
    cr_assert_eq(output_file_open(&c, &o, path, 0666), CLI_OK);
    output_file_close(&o, false);
    cr_expect_neq(access(path, F_OK), 0);
}

/* The old file stays untouched until there is output to write. */
Test(output_file, an_old_one_stays_as_it_is) {
    make_old();
    cr_assert_eq(output_file_open(&c, &o, path, 0666), CLI_OK);
    output_file_close(&o, false);
    cr_expect_str_eq(contents(), "an old recording");
}

Test(output_file, an_old_one_is_overwritten_as_a_whole) {
    make_old();
    cr_assert_eq(output_file_open(&c, &o, path, 0666), CLI_OK);
    cr_assert_eq(output_file_write(&c, &o, "new", 3), CLI_OK);
    output_file_close(&o, true);
    cr_expect_str_eq(contents(), "new");
}

Test(output_file, a_limit_of_sizes_is_said) {
    struct rlimit limit = {4096, 4096};
    char expected[160];
    static char text[8192];

    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    cr_assert_eq(output_file_open(&c, &o, path, 0666), CLI_OK);
    cr_expect_eq(output_file_write(&c, &o, text, sizeof(text)), CLI_FAILED);
    snprintf(expected, sizeof(expected),
             "salusctl: %s: a file or shared memory is larger than allowed (ulimit -f)\n", path);
    cr_expect_str_eq(words(), expected);
    output_file_close(&o, false);
}

Test(output_file, a_device_is_no_file_of_ours) {
    cr_assert_eq(output_file_open(&c, &o, "/dev/full", 0666), CLI_OK);
    cr_expect_eq(output_file_write(&c, &o, "text", 4), CLI_FAILED);
    cr_expect_str_eq(words(), "salusctl: /dev/full: No space left on device\n");
    cr_expect_not(o.made);
    output_file_close(&o, true); /* a failed test must not leave the device full */
}

Test(output_file, a_pipe_is_written_to) {
    char text[8] = "";
    int fds[2];

    cr_assert_eq(pipe(fds), 0);
    snprintf(path, sizeof(path), "/dev/fd/%d", fds[1]);
    cr_assert_eq(output_file_open(&c, &o, path, 0666), CLI_OK, "%s", words());
    cr_expect_eq(output_file_write(&c, &o, "text", 4), CLI_OK, "%s", words());
    output_file_close(&o, true);
    cr_expect_eq(read(fds[0], text, sizeof(text)), 4);
    cr_expect_str_eq(text, "text");
}

Test(output_file, what_cannot_be_opened_is_said) {
    cr_expect_eq(output_file_open(&c, &o, "/nonexistent/x", 0666), CLI_FAILED);
    cr_expect_str_eq(words(), "salusctl: /nonexistent/x: No such file or directory\n");
}

/* Root may write anywhere, so a test run by root acts as another user. */
Test(output_file, a_directory_that_is_read_only_denies_permission) {
    char expected[128];

    snprintf(path, sizeof(path), "%s/zz", dir);
    cr_assert_eq(chmod(dir, 0555), 0);
    if (geteuid() == 0) cr_assert_eq(seteuid(65534), 0);
    cr_expect_eq(output_file_open(&c, &o, path, 0666), CLI_FAILED);
    snprintf(expected, sizeof(expected), "salusctl: %s: Permission denied\n", path);
    cr_expect_str_eq(words(), expected);
    if (getuid() == 0) cr_assert_eq(seteuid(0), 0);
}
