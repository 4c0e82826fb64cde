/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages about kernels. After something was forgotten, what the worker sent before it knew that
 * is dropped: it bears an older number.
 */
#include "daemon/broker/worker/kernel_link.h"

#include <errno.h>
#include <stdio.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "common/log.h"

#define TOPIC "kernel"

void kernel_link_open(struct server *s) {
    char path[STORE_PATH_BYTES];

    store_file_place(s->config.kernels, s->config.run_dir, path);
    kernel_store_init(&s->kernels.store, &s->loop, path);
}

/* A worker that does not get it does without. */
static void give(struct server *s, bool profiles) {
    struct wire_worker_msg msg = {.kind = WIRE_KERNELS};
    int fd = kwire_pack(&s->kernels.store.set, profiles);

    if (fd < 0)
        log_error(TOPIC, "event=not_given why=\"%s\"", err_text(fd));
    else
        supervise_tell(s, &msg, &fd, 1);
    fdutil_close(&fd);
}

void kernel_link_ready(struct server *s) {
    const struct wire_device *d = &s->supervise.device;

    kernel_store_device(&s->kernels.store, d->name, d->sm_count);
    s->kernels.turn = 0; /* of a new worker */
    give(s, true);
}

void kernel_link_learn(struct server *s, struct kwire_batch *b) {
    if (b->turn != s->kernels.turn) return;
    for (uint32_t i = 0; i < b->count; i++) {
        char why[KPROFILE_WHY_BYTES];
        int rc = kernel_store_learn(&s->kernels.store, &b->items[i], why);

        if (rc == 0 || s->kernels.complained) continue;
        s->kernels.complained = true;
        log_error(TOPIC, "event=not_learned why=\"%s\" more=\"is not said again\"",
                  rc == -EINVAL ? why : err_text(rc));
    }
}

void kernel_link_imported(struct server *s) {
    if (s->supervise.state == SUPERVISE_READY) give(s, true);
}

void kernel_link_forgotten(struct server *s, const struct kset_filter *f) {
    struct wire_worker_msg msg = {.kind = WIRE_FORGET, .uid = f->uid};

    if (s->supervise.state != SUPERVISE_READY) return;
    msg.result = (int32_t)++s->kernels.turn;
    snprintf(msg.text, sizeof(msg.text), "%s", f->name ? f->name : "");
    supervise_tell(s, &msg, NULL, 0);
    give(s, false);
}
