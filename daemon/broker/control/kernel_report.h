/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of kernels as records. Reads, never changes.
 */
#ifndef DAEMON_BROKER_CONTROL_KERNEL_REPORT_H
#define DAEMON_BROKER_CONTROL_KERNEL_REPORT_H

#include "daemon/kernels/kernel_set.h"
#include "proto/control/ctl_msg.h"

/* Appends what the request (profile.list, profile.show, profile.hints) asks for; returns what to
 * give as `after` for the rest, 0 when nothing is left. */
uint64_t kernel_report_list(const struct kernel_set *s, const struct ctl_request *r,
                            struct ctl_out *out);
/* Whether profile.show has anything to show. */
bool kernel_report_any(const struct kernel_set *s, const struct ctl_request *r);

#endif
