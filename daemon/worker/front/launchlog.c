/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines for launches, frees, marks and waits.
 */
#include "daemon/worker/front/launchlog.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/worker/client.h"

bool launchlog_on;
static FILE *file;

int launchlog_open(void) {
    const char *path = getenv("SALUS_LAUNCH_LOG");
    if (!path || !*path) return 0;
    file = fopen(path, "we");
    if (!file) return -errno;
    launchlog_on = true;
    return 0;
}

int launchlog_close(void) {
    int err = 0;
    if (launchlog_on && fclose(file)) err = -errno;
    launchlog_on = false;
    return err;
}

static uint64_t fingerprint_of(const struct client *c, const struct wire_launch *l) {
    const struct func *f = c->objects.funcs[l->func];
    uint32_t block[3] = {l->block[0], l->block[1], l->block[2]};
    return f ? object_shape_fingerprint(f->fingerprint, l->grid, block) : 0;
}

void launchlog_write(const struct client *c, const void *rec) {
    const struct wire_record *r = rec;
    const char *kind;
    uint64_t fingerprint = 0;
    switch (r->op) {
    case WIRE_LAUNCH:
        kind = "launch";
        fingerprint = fingerprint_of(c, rec);
        break;
    case WIRE_MEM_DROP: kind = "drop"; break;
    case WIRE_ITERATION: kind = "mark"; break;
    case WIRE_IDLE: kind = "idle"; break;
    default: return;
    }
    fprintf(file, "%u %" PRIx64 " %" PRIu64 " %" PRIu64 " %s\n", c->job_id, fingerprint,
            c->lifetime.live_bytes, c->worker->now_ns, kind);
}
