/* SPDX-License-Identifier: Apache-2.0
 *
 * Directories for what lives as long as one command. One that is named may be read-only, full or
 * gone: a directory is taken once a file could be written in it, else the next one is tried.
 *
 * Keeps nothing; one thread, which reads the environment.
 */
#ifndef DAEMON_CTL_FILES_TEMPORARY_H
#define DAEMON_CTL_FILES_TEMPORARY_H

#include <limits.h>

/* For RUN: XDG_RUNTIME_DIR, TMPDIR, /tmp, /dev/shm, where sockets can be made, too. For FILE, which
 * may become large: TMPDIR, /tmp, XDG_RUNTIME_DIR, /dev/shm. */
enum temporary_use { TEMPORARY_RUN, TEMPORARY_FILE };

#define TEMPORARY_RUN_MAX                                                  \
    60 /* characters of a RUN directory: sockets below it have short names \
        */
#define TEMPORARY_WHY_BYTES 1024

/* The first that can be used, without a slash at its end; 0. Else -ENOENT, and what is wrong with
 * each: "XDG_RUNTIME_DIR is not set; /tmp: No space left on device; ...". */
int temporary_find(enum temporary_use use, char dir[PATH_MAX], char why[TEMPORARY_WHY_BYTES]);

/* A new file there, whose name begins so and which nobody else can open: its descriptor, and its
 * path, which the caller unlinks. Else -errno, and in `why` an error to print, with the remedy. */
int temporary_open(const char *name, char path[PATH_MAX], char why[TEMPORARY_WHY_BYTES]);

#endif
