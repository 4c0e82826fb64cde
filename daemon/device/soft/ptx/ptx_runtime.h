/* SPDX-License-Identifier: Apache-2.0
 *
 * The part of CUDA's device runtime that is PTX: what cooperative groups ask of cudadevrt. It is
 * linked, as a unit of its own, to units that call it. What is not PTX is in code/native.h.
 */
#ifndef DAEMON_DEVICE_SOFT_PTX_PTX_RUNTIME_H
#define DAEMON_DEVICE_SOFT_PTX_PTX_RUNTIME_H

#include <stdbool.h>

#include "daemon/device/soft/instructions/ptx_ir.h"

/* The unit calls a function of it that it does not define. */
bool ptx_runtime_wanted(const struct ptx_module *unit);

extern const char ptx_runtime_text[];

#endif
