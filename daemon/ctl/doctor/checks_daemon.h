/* SPDX-License-Identifier: Apache-2.0
 *
 * A part of `salusctl doctor`: the daemon as programs and its user see it. Changes nothing, and
 * runs no foreign code.
 */
#ifndef DAEMON_CTL_DOCTOR_CHECKS_DAEMON_H
#define DAEMON_CTL_DOCTOR_CHECKS_DAEMON_H

#include "daemon/ctl/cli/cli.h"
#include "daemon/ctl/doctor/findings.h"
#include <stdbool.h>

/* Checks both sockets, versions, the worker and the device. Returns true if programs get the
 * software GPU: the daemon's, or without a daemon a private one's. */
bool checks_daemon(const struct cli *c, struct findings *f);

#endif
