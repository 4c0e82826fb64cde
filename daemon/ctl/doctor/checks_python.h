/* SPDX-License-Identifier: Apache-2.0
 *
 * A part of `salusctl doctor`: Python packages. Changes nothing, and runs no foreign code.
 */
#ifndef DAEMON_CTL_DOCTOR_CHECKS_PYTHON_H
#define DAEMON_CTL_DOCTOR_CHECKS_PYTHON_H

#include "daemon/ctl/doctor/findings.h"

/* Lists the frameworks of the Python that would be run, by the names of their folders. */
void checks_python(struct findings *f);

#endif
