/* SPDX-License-Identifier: Apache-2.0
 *
 * The part of CUDA's device runtime that is written in PTX: the functions of cudadevrt that
 * cooperative groups call. It is linked, as a separate unit, to units that call it. code/native.h
 * has the part that is not PTX.
 */
#ifndef DAEMON_DEVICE_SOFT_PTX_PTX_RUNTIME_H
#define DAEMON_DEVICE_SOFT_PTX_PTX_RUNTIME_H

#include <stdbool.h>

#include "daemon/device/soft/instructions/ptx_ir.h"

/* True if the unit declares a function of ptx_runtime_text without defining it. */
bool ptx_runtime_wanted(const struct ptx_module *unit);

extern const char ptx_runtime_text[];

#endif
