/* SPDX-License-Identifier: Apache-2.0
 *
 * The trial is a job without a client; its pages and windows are created as for any other.
 */
#include "daemon/broker/life/trial.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "common/err.h"

void trial_init(struct trial *t, struct attachments *attachments, uint64_t host_bytes) {
    *t = (struct trial){.attachments = attachments,
                        .host_bytes = host_bytes,
                        .job = {.pid = getpid(),
                                .uid = getuid(),
                                .name = "trial",
                                .source = "given",
                                .spec = {.flags = WIRE_JOB_RESERVED, .weight = 1}}};
    pages_init(&t->pages);
}

/* Offers the worker windows at or after slot `from`. */
static int ask(struct trial *t, int from, char *why, size_t cap) {
    struct attachments_ask ask = {.job_id = WIRE_TRIAL_JOB,
                                  .job = &t->job,
                                  .run_name = "",
                                  .pages = &t->pages,
                                  .host_bytes = t->host_bytes};
    int err = -ENOSPC;

    if (t->tries < ATTACHMENTS_TRIES)
        err = attachments_attach(t->attachments, &ask, from, &t->attachment);
    if (err == -ENOSPC) {
        snprintf(why, cap,
                 "the worker uses addresses in each of the %d address windows that it tried; set "
                 "window_base to a free address range",
                 t->tries);
        return -EADDRNOTAVAIL;
    }
    t->tries++;
    if (err < 0) snprintf(why, cap, "salusd cannot send to the worker: %s", err_text(err));
    return err;
}

int trial_begin(struct trial *t, char *why, size_t cap) {
    int err = pages_create(&t->pages, t->host_bytes);

    t->tries = 0;
    if (err == 0) return ask(t, 0, why, cap);
    snprintf(why, cap, "salusd cannot create the job's shared memory: %s", err_text(err));
    return err;
}

int trial_attached(struct trial *t, const struct wire_worker_msg *msg, int fds[2], char *why,
                   size_t cap) {
    struct attachment *a = t->attachment;
    int err = msg->result;

    if (err == 0 && fds[0] < -1) err = fds[0]; /* a descriptor came, but we had no number for it */
    if (err == 0) err = attachments_see(a, &fds[0], &fds[1]);
    if (err < 0 && err != -EEXIST) {
        snprintf(why, cap, "%.200s", *msg->text ? msg->text : err_text(err));
        return err;
    }
    if (err == -EEXIST) slots_block(&t->attachments->slots, a->slot);
    t->attachment = NULL;
    attachments_detach(t->attachments, a);
    if (err == 0) return 0;
    err = ask(t, a->slot + 1, why, cap);
    return err < 0 ? err : 1;
}

void trial_end(struct trial *t) {
    pages_finish(&t->pages);
    t->attachment = NULL;
}
