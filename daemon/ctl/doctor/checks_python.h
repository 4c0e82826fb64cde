/* SPDX-License-Identifier: Apache-2.0
 *
 * A part of `salusctl doctor`: packages of Python. It only looks: it changes nothing, and runs no
 * code of others.
 */
#ifndef DAEMON_CTL_DOCTOR_CHECKS_PYTHON_H
#define DAEMON_CTL_DOCTOR_CHECKS_PYTHON_H

#include "daemon/ctl/doctor/findings.h"

/* Frameworks of the Python that would be run, by the names of their folders. */
void checks_python(struct findings *f);

#endif
