/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds records of kernel profiles. Reads only.
 */
#ifndef DAEMON_BROKER_CONTROL_KERNEL_REPORT_H
#define DAEMON_BROKER_CONTROL_KERNEL_REPORT_H

#include "daemon/kernels/kernel_set.h"
#include "proto/control/ctl_msg.h"

/* Appends what the request (profile.list, profile.show, profile.hints) selects. Returns the `after`
 * for the rest; 0: nothing is left. */
uint64_t kernel_report_list(const struct kernel_set *s, const struct ctl_request *r,
                            struct ctl_out *out);
/* profile.show has something to show. */
bool kernel_report_any(const struct kernel_set *s, const struct ctl_request *r);

#endif
