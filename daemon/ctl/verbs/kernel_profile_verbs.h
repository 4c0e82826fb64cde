/* SPDX-License-Identifier: Apache-2.0
 *
 * Verbs that show and delete kernel profiles. Each returns an exit status.
 */
#ifndef DAEMON_CTL_VERBS_KERNEL_PROFILE_VERBS_H
#define DAEMON_CTL_VERBS_KERNEL_PROFILE_VERBS_H

#include "daemon/ctl/cli/cli.h"
#include "proto/control/ctl_msg.h"

/* Puts --user and --gpu, if given, into the request. Returns 0, or an exit status after a
 * diagnostic. */
int kernel_profile_verbs_user(struct cli *c, struct ctl_request *r);

int kernel_profile_verbs_list(struct cli *c, int argc, char **argv);
int kernel_profile_verbs_show(struct cli *c, int argc, char **argv);
int kernel_profile_verbs_forget(struct cli *c, int argc, char **argv);

#endif
