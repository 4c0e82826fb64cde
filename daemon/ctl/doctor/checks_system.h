/* SPDX-License-Identifier: Apache-2.0
 *
 * A part of `salusctl doctor`: the system. Changes nothing, and runs no foreign code.
 */
#ifndef DAEMON_CTL_DOCTOR_CHECKS_SYSTEM_H
#define DAEMON_CTL_DOCTOR_CHECKS_SYSTEM_H

#include "daemon/ctl/doctor/findings.h"

/* Checks the limits and system calls that a job needs. */
void checks_system(struct findings *f);

#endif
