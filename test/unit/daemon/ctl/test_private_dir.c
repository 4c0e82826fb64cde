/* SPDX-License-Identifier: Apache-2.0
 *
 * Directories of private daemons: locked while in use and removed afterwards; other users'
 * directories stay.
 */
#include "daemon/ctl/run/private_dir.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fdutil.h"

static char base[64];

static void begin(void) {
    strcpy(base, "/tmp/salus-base-XXXXXX");
    cr_assert_not_null(mkdtemp(base));
}

static void end(void) {
    char command[96];

    snprintf(command, sizeof(command), "rm -rf '%s'", base);
    cr_assert_eq(system(command), 0);
}

TestSuite(private_dir, .init = begin, .fini = end);

static bool there(const char *path) {
    struct stat st;

    return lstat(path, &st) == 0;
}

static void touch(const char *dir, const char *name) {
    char path[256];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = fopen(path, "w");
    cr_assert_not_null(f);
    fclose(f);
}

Test(private_dir, it_is_removed_with_what_a_daemon_leaves) {
    char dir[PRIVATE_DIR_BYTES];
    struct stat st;
    int hold;

    cr_assert_eq(private_dir_make(base, dir, &hold), 0);
    cr_assert_eq(stat(dir, &st), 0);
    cr_assert_eq(st.st_mode & 0777, 0700);
    touch(dir, "job.sock");
    private_dir_remove(dir);
    cr_assert_not(there(dir));
    fdutil_close(&hold);
}

/* Locked by this process, and then by a child that inherited the lock after its parent released
 * it. */
Test(private_dir, what_is_held_is_not_swept) {
    char dir[PRIVATE_DIR_BYTES], byte;
    int hold, ends[2];
    pid_t child;

    cr_assert_eq(private_dir_make(base, dir, &hold), 0);
    private_dir_sweep(base);
    cr_assert(there(dir));
    cr_assert_eq(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        close(ends[1]);
        _exit(read(ends[0], &byte, 1) == 0 ? 0 : 1);
    }
    fdutil_close(&hold);
    private_dir_sweep(base);
    cr_assert(there(dir));
    close(ends[1]);
    waitpid(child, NULL, 0);
    private_dir_sweep(base);
    cr_assert_not(there(dir));
}

static const char *make(const char *name, mode_t mode) {
    static char path[128];

    snprintf(path, sizeof(path), "%s/%s", base, name);
    cr_assert_eq(mkdir(path, mode), 0);
    return path;
}

Test(private_dir, what_is_none_of_ours_stays) {
    char link[128], path[128];

    /* directories of other users, of which one is just being created and others have similar
     * names */
    make("salus-aaaaaa", 0700);
    touch(make("salus-bbbbbbb", 0700), "salusd.lock");
    touch(make("salus-ccc-cc", 0700), "salusd.lock");
    touch(make("salus-dddddd", 0755), "salusd.lock");
    snprintf(link, sizeof(link), "%s/salus-eeeeee", base);
    cr_assert_eq(symlink("salus-bbbbbbb", link), 0);
    private_dir_sweep(base);
    for (const char *const *name =
             (const char *const[]){"salus-aaaaaa", "salus-bbbbbbb", "salus-ccc-cc", "salus-dddddd",
                                   "salus-eeeeee", "salus-dddddd/salusd.lock",
                                   "salus-bbbbbbb/salusd.lock", NULL};
         *name; name++) {
        snprintf(path, sizeof(path), "%s/%s", base, *name);
        cr_assert(there(path), "%s", *name);
    }
}

/* Files that the user put there are not removed. */
Test(private_dir, what_else_is_in_it_stays) {
    char dir[PRIVATE_DIR_BYTES], path[128];
    int hold;

    cr_assert_eq(private_dir_make(base, dir, &hold), 0);
    touch(dir, "notes");
    fdutil_close(&hold);
    private_dir_sweep(base);
    snprintf(path, sizeof(path), "%s/notes", dir);
    cr_assert(there(path));
    unlink(path);
    rmdir(dir);
}

/* A directory whose daemon is of a release that locks only its own lock file. */
Test(private_dir, a_daemons_lock_is_enough) {
    char path[160];
    const char *dir = make("salus-ffffff", 0700);
    int fd;

    touch(dir, "salusd.lock");
    snprintf(path, sizeof(path), "%s/salusd.lock", dir);
    fd = open(path, O_RDWR | O_CLOEXEC);
    cr_assert_eq(flock(fd, LOCK_EX), 0);
    private_dir_sweep(base);
    cr_assert(there(path));
    close(fd);
    private_dir_sweep(base);
    cr_assert_not(there(path));
}
