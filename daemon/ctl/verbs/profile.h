/* SPDX-License-Identifier: Apache-2.0
 *
 * What the verbs about profiles of kernels share.
 */
#ifndef DAEMON_CTL_PROFILE_H
#define DAEMON_CTL_PROFILE_H

#include "daemon/ctl/cli/cli.h"
#include "proto/ctl_msg.h"

/* Puts --user, where it is given, into the request: 0, or an exit status after a diagnostic. */
int profile_user(struct cli *c, struct ctl_request *r);

#endif
