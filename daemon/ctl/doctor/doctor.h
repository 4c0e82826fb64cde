/* SPDX-License-Identifier: Apache-2.0
 *
 * `salusctl doctor`.
 */
#ifndef DAEMON_CTL_DOCTOR_DOCTOR_H
#define DAEMON_CTL_DOCTOR_DOCTOR_H

#include "daemon/ctl/cli/cli.h"

/* Checks the installation, or runs the command and lists its refused calls. Returns an exit status.
 */
int doctor_run(struct cli *c, int argc, char **argv);

#endif
