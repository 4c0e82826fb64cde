/* SPDX-License-Identifier: Apache-2.0
 *
 * The fast loads and stores. There is one table per build; select.c chooses.
 */
#ifndef DAEMON_DEVICE_SOFT_ISA_MEMORY_ACCESS_H
#define DAEMON_DEVICE_SOFT_ISA_MEMORY_ACCESS_H

#include "daemon/device/soft/code/code.h"

code_handler *access_select_base(const struct code_inst *i);
code_handler *access_select_v3(const struct code_inst *i);
code_handler *access_select_v4(const struct code_inst *i);

#endif
