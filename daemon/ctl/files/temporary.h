/* SPDX-License-Identifier: Apache-2.0
 *
 * Directories for files that live as long as one command. A configured directory may be read-only,
 * full or missing: the first one in which a file could be written is used.
 *
 * Stateless; one thread, which reads the environment.
 */
#ifndef DAEMON_CTL_FILES_TEMPORARY_H
#define DAEMON_CTL_FILES_TEMPORARY_H

#include <limits.h>

/* RUN: XDG_RUNTIME_DIR, TMPDIR, /tmp, /dev/shm, where sockets must work, too. FILE, which may
 * become large: TMPDIR, /tmp, XDG_RUNTIME_DIR, /dev/shm. */
enum temporary_use { TEMPORARY_RUN, TEMPORARY_FILE };

#define TEMPORARY_RUN_MAX 60 /* longest RUN directory, so that a socket's path below it fits */
#define TEMPORARY_WHY_BYTES 1024

/* Finds the first usable directory, without a trailing slash. Returns 0, or -ENOENT with what is
 * wrong with each: "XDG_RUNTIME_DIR is not set; /tmp: No space left on device; ...". */
int temporary_find(enum temporary_use use, char dir[PATH_MAX], char why[TEMPORARY_WHY_BYTES]);

/* Creates a file whose name begins with `name` and which nobody else can open. Returns its
 * descriptor and its path, which the caller unlinks; or -errno, with an error to print and its
 * remedy in `why`. */
int temporary_open(const char *name, char path[PATH_MAX], char why[TEMPORARY_WHY_BYTES]);

#endif
