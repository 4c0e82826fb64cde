/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads and writes files, and reports errors.
 */
#include "daemon/sim/verbs/simverb.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "daemon/sim/workload/workload_file.h"

int simverb_fail(struct simcli *c, int status, const char *fmt, ...) {
    va_list ap;
    fputs("salus-sim: ", c->err);
    va_start(ap, fmt);
    vfprintf(c->err, fmt, ap);
    va_end(ap);
    fputc('\n', c->err);
    return status;
}

int simverb_read(struct simcli *c, struct workload *w, const char *path) {
    struct buf errors;
    buf_init(&errors);
    int err = workload_read(w, path, &errors);
    for (char *line, *rest = (char *)buf_str(&errors); (line = strtok_r(rest, "\n", &rest));)
        fprintf(c->err, "%s:%s%s\n", path, err == -EINVAL ? "" : " ", line);
    buf_finish(&errors);
    if (err == -ENOMEM) simverb_fail(c, SIMCLI_FAILED, "out of memory");
    return !err ? SIMCLI_OK : err == -EINVAL ? SIMCLI_WORKLOAD : SIMCLI_FAILED;
}

int simverb_close(struct simcli *c, FILE *f) {
    bool bad = ferror(f);
    if (fclose(f) != 0 || bad) return simverb_fail(c, SIMCLI_FAILED, "a file could not be written");
    return SIMCLI_OK;
}
