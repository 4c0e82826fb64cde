/* SPDX-License-Identifier: Apache-2.0
 *
 * A part of `salusctl doctor`: the system. It only looks: it changes nothing, and runs no code of
 * others.
 */
#ifndef DAEMON_CTL_DOCTOR_CHECKS_SYSTEM_H
#define DAEMON_CTL_DOCTOR_CHECKS_SYSTEM_H

#include "daemon/ctl/doctor/findings.h"

/* Limits and calls of the kernel that a job needs. */
void checks_system(struct findings *f);

#endif
