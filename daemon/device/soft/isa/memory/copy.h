/* SPDX-License-Identifier: Apache-2.0
 *
 * cp.async. There is one table per build; select.c chooses.
 */
#ifndef DAEMON_DEVICE_SOFT_ISA_MEMORY_COPY_H
#define DAEMON_DEVICE_SOFT_ISA_MEMORY_COPY_H

#include "daemon/device/soft/code/code.h"

code_handler *copy_select_base(const struct code_inst *i);
code_handler *copy_select_v3(const struct code_inst *i);
code_handler *copy_select_v4(const struct code_inst *i);

#endif
