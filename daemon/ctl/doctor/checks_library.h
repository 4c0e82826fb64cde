/* SPDX-License-Identifier: Apache-2.0
 *
 * A part of `salusctl doctor`: libraries. Changes nothing, and runs no foreign code.
 */
#ifndef DAEMON_CTL_DOCTOR_CHECKS_LIBRARY_H
#define DAEMON_CTL_DOCTOR_CHECKS_LIBRARY_H

#include "daemon/ctl/doctor/findings.h"

/* Checks our libcuda.so.1, others, and libraries that could precede ours. */
void checks_library(struct findings *f);

#endif
