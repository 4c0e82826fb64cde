/* SPDX-License-Identifier: Apache-2.0
 *
 * What the control verbs tell: the server's state as records. Reads, never changes. A verb that
 * changed a job or the policy is answered here with what has become of it.
 */
#ifndef DAEMON_BROKER_CONTROL_REPORT_H
#define DAEMON_BROKER_CONTROL_REPORT_H

#include "daemon/broker/broker.h"
#include "proto/ctl_msg.h"

/* The reply to a request of user `uid`, its bytes owned by `out`. 0 or -errno. */
int report_answer(struct server *s, const struct ctl_request *r, uid_t uid, struct ctl_out *out,
                  const void **bytes, size_t *n);

#endif
