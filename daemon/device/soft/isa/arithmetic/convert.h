/* SPDX-License-Identifier: Apache-2.0
 *
 * Between the two halves of cvt.
 */
#ifndef DAEMON_DEVICE_SOFT_ISA_ARITHMETIC_CONVERT_H
#define DAEMON_DEVICE_SOFT_ISA_ARITHMETIC_CONVERT_H

#include "daemon/device/soft/isa/arithmetic/isa.h"

/* The loop made for just this pair of types and registers, or NULL. */
ISA_FAMILY(convert_fast);

#endif
