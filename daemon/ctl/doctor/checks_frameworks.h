/* SPDX-License-Identifier: Apache-2.0
 *
 * A part of `salusctl doctor`: settings of frameworks. Changes nothing, and runs no foreign code.
 */
#ifndef DAEMON_CTL_DOCTOR_CHECKS_FRAMEWORKS_H
#define DAEMON_CTL_DOCTOR_CHECKS_FRAMEWORKS_H

#include "daemon/ctl/doctor/findings.h"
#include <stdbool.h>

/* Lists the settings that `run` would make for frameworks. `soft`: on the software GPU. */
void checks_frameworks(struct findings *f, bool soft);

#endif
