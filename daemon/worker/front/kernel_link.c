/* SPDX-License-Identifier: Apache-2.0
 *
 * Sends, takes and forgets profiles.
 */
#include "daemon/worker/front/kernel_link.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "common/log.h"
#include "daemon/kernels/kernel_wire.h"
#include "daemon/worker/kernel/kernels.h"

#define BATCHES 4 /* batches that a call sends at most: 64 profiles, 40 KiB */

/* ---- to the broker --------------------------------------------------------------------------- */

/* Linux reports POLLOUT while three quarters of the buffer are free, so that a batch does not
 * block. */
static bool has_room(int fd) {
    struct pollfd p = {.fd = fd, .events = POLLOUT};

    return poll(&p, 1, 0) == 1 && (p.revents & POLLOUT);
}

void kernel_link_tell(struct worker *w) {
    struct kernel_wire_batch b = {.kind = WIRE_PROFILES, .generation = w->profiles.generation};

    for (int i = 0; i < BATCHES && w->profiles.telling && !w->link.over && has_room(w->link.fd);
         i++) {
        int err;

        for (b.count = 0; b.count < KERNEL_WIRE_BATCH; b.count++)
            if (!kernels_take_dirty(w->profiles.kernels, &b.items[b.count])) break;
        w->profiles.telling = b.count == KERNEL_WIRE_BATCH;
        if (b.count == 0) return;
        err = fdutil_send(w->link.fd, &b, kernel_wire_batch_bytes(b.count), NULL, 0);
        if (err) broker_link_lost(&w->link, b.kind, err);
    }
}

/* ---- from the broker ------------------------------------------------------------------------- */

/* Takes all hints, checked and in order; -EINVAL otherwise. */
static int take_hints(struct worker *w, const struct kernel_wire *k, char *why) {
    struct kernel_profile_hint *hints = calloc(k->hints + 1, sizeof(*hints));
    int err = hints ? 0 : -ENOMEM;

    for (uint32_t i = 0; i < k->hints && err == 0; i++) {
        kernel_wire_hint(k, i, &hints[i]);
        err = kernel_profile_hint_check(&hints[i], why);
        if (err == 0 && i && kernel_profile_hint_order(&hints[i - 1], &hints[i]) >= 0) {
            snprintf(why, KERNEL_PROFILE_WHY_BYTES, "the hints are not sorted");
            err = -EINVAL;
        }
    }
    if (err == 0) err = kernels_set_hints(w->profiles.kernels, hints, k->hints);
    free(hints);
    return err;
}

/* Restores profiles; how many fit depends on the table's present entries. */
static uint32_t take_profiles(struct worker *w, const struct kernel_wire *k, char *why, int *err) {
    uint32_t restored = 0;

    for (uint32_t i = 0; i < k->profiles && *err == 0; i++) {
        struct kernel_profile p;

        kernel_wire_profile(k, i, &p);
        *err = kernel_profile_check(&p, why);
        if (*err == 0) restored += kernels_restore(w->profiles.kernels, &p);
    }
    return restored;
}

void kernel_link_take(struct worker *w, int fd) {
    char why[KERNEL_PROFILE_WHY_BYTES] = "the message carries no valid memfd with kernel profiles";
    uint32_t restored = 0;
    struct kernel_wire k;
    int err = kernel_wire_open(&k, fd);

    if (err == 0) err = take_hints(w, &k, why);
    if (err == 0) restored = take_profiles(w, &k, why, &err);
    if (err < 0)
        log_error("kernel", "event=profiles-rejected error=%s why=\"%s\"", err_name(err),
                  err == -EINVAL ? why : err_text(err));
    else
        log_info("kernel", "event=profiles-loaded hints=%u profiles=%u restored=%u", k.hints,
                 k.profiles, restored);
    kernel_wire_close(&k);
    kernel_link_begin(w); /* hints may have changed classes */
}

void kernel_link_forget(struct worker *w, const struct wire_worker_msg *msg) {
    char name[KERNEL_NAME_BYTES];
    struct kernel_set_filter f = {.uid = msg->uid, .name = *msg->text ? name : NULL};

    snprintf(name, sizeof(name), "%.*s", (int)sizeof(name) - 1, msg->text);
    kernels_forget(w->profiles.kernels, &f);
    w->profiles.generation = (uint32_t)msg->result;
}
