/* SPDX-License-Identifier: Apache-2.0
 *
 * A memfd: needs no writable folder, and disappears with the launcher.
 */
#include "daemon/ctl/run/refusal_note.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "common/utf8.h"
#include "proto/wire/job.h"

int refusal_note_create(void) {
    return memfd_create("salus-refused", MFD_CLOEXEC);
}

void refusal_note_announce(int fd, pid_t parent) {
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)parent, fd);
    if (fd < 0)
        unsetenv(JOB_REFUSED_VARIABLE); /* the variable may be another launcher's */
    else
        setenv(JOB_REFUSED_VARIABLE, path, 1);
}

/* Programs of the command may have written anything. */
bool refusal_note_take(int fd, char *why, size_t cap) {
    ssize_t n = fd < 0 ? -1 : pread(fd, why, cap - 1, 0);

    fdutil_close(&fd);
    why[n > 0 ? n : 0] = '\0';
    why[strcspn(why, "\n")] = '\0';
    utf8_clean(why, strlen(why));
    return n > 0;
}
