/* SPDX-License-Identifier: Apache-2.0
 *
 * Products of matrices. There is one table per build; select.c chooses.
 */
#ifndef DAEMON_DEVICE_SOFT_ISA_MATRIX_MATRIX_H
#define DAEMON_DEVICE_SOFT_ISA_MATRIX_MATRIX_H

#include "daemon/device/soft/code/code.h"

code_handler *matrix_select_base(const struct code_inst *i);
code_handler *matrix_select_v3(const struct code_inst *i);
code_handler *matrix_select_v4(const struct code_inst *i);

#endif
