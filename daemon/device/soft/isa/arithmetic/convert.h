/* SPDX-License-Identifier: Apache-2.0
 *
 * Interface between the two files of cvt.
 */
#ifndef DAEMON_DEVICE_SOFT_ISA_ARITHMETIC_CONVERT_H
#define DAEMON_DEVICE_SOFT_ISA_ARITHMETIC_CONVERT_H

#include "daemon/device/soft/isa/arithmetic/isa.h"

/* Returns the loop for exactly this pair of types and registers, or NULL. */
ISA_FAMILY(convert_fast);

#endif
