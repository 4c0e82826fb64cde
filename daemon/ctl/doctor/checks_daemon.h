/* SPDX-License-Identifier: Apache-2.0
 *
 * A part of `salusctl doctor`: the daemon as a program and as its user find it. It only looks: it
 * changes nothing, and runs no code of others.
 */
#ifndef DAEMON_CTL_DOCTOR_CHECKS_DAEMON_H
#define DAEMON_CTL_DOCTOR_CHECKS_DAEMON_H

#include "daemon/ctl/cli/cli.h"
#include "daemon/ctl/doctor/findings.h"
#include <stdbool.h>

/* Both sockets, versions, the worker, the device. True if a program gets the software GPU: the
 * daemon's, or where there is none a private one's. */
bool checks_daemon(const struct cli *c, struct findings *f);

#endif
