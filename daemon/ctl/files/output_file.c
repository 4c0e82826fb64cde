/* SPDX-License-Identifier: Apache-2.0
 *
 * Callers collect all bytes before they write, so that a file is complete or was never begun,
 * unless the write itself fails.
 */
#include "daemon/ctl/files/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "common/err.h"
#include "common/fdutil.h"

static int fail(struct cli *c, const struct output_file *o, int err) {
    return cli_fail(c, CLI_FAILED, "%s: %s", o->path, err_text(err));
}

int output_file_open(struct cli *c, struct output_file *o, const char *path, mode_t mode) {
    signal(SIGXFSZ, SIG_IGN);
    *o = (struct output_file){.path = path};
    o->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    o->made = o->fd >= 0;
    if (!o->made) o->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, mode);
    int err = -errno; /* the open below creates nothing, so its error says less */
    if (o->fd < 0) o->fd = open(path, O_WRONLY | O_CLOEXEC);
    return o->fd < 0 ? fail(c, o, err) : CLI_OK;
}

int output_file_write(struct cli *c, const struct output_file *o, const void *bytes, size_t count) {
    if (ftruncate(o->fd, 0) < 0 && errno != EINVAL) return fail(c, o, -errno); /* EINVAL: a pipe */
    for (size_t done = 0; done < count;) {
        ssize_t n = write(o->fd, (const char *)bytes + done, count - done);

        if (n < 0 && errno != EINTR) return fail(c, o, -errno);
        if (n > 0) done += (size_t)n;
    }
    return CLI_OK;
}

void output_file_close(struct output_file *o, bool keep) {
    if (o->made && !keep) unlink(o->path);
    fdutil_close(&o->fd);
}
