/* SPDX-License-Identifier: Apache-2.0
 *
 * A part of `salusctl doctor`: libraries. It only looks: it changes nothing, and runs no code of
 * others.
 */
#ifndef DAEMON_CTL_DOCTOR_CHECKS_LIBRARY_H
#define DAEMON_CTL_DOCTOR_CHECKS_LIBRARY_H

#include "daemon/ctl/doctor/findings.h"

/* Our libcuda.so.1, others, and what could come before it. */
void checks_library(struct findings *f);

#endif
