/* SPDX-License-Identifier: Apache-2.0
 *
 * The control verbs about kernels' profiles: what they show, what they change, and who may. Owner:
 * the server. Thread: the loop's.
 */
#ifndef DAEMON_BROKER_CONTROL_KERNEL_VERBS_H
#define DAEMON_BROKER_CONTROL_KERNEL_VERBS_H

#include "daemon/broker/broker.h"
#include "proto/ctl_msg.h"

/* One request of user `uid` in work. */
struct kernel_asking {
    struct server *s;
    const struct ctl_request *r;
    uid_t uid;
    int in_fd;  /* that came with it, the caller's; -1: none */
    int out_fd; /* that goes with the reply, the caller's to close; -1: none */
    struct ctl_out *out;
    const void **bytes; /* of the reply, owned by `out` */
    size_t *n;
};

bool kernel_verbs_has(enum ctl_verb verb);
/* 0, or -errno. */
int kernel_verbs_answer(struct kernel_asking *q);

#endif
