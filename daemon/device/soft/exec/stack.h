/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations on a lane's stack, as handlers.
 */
#ifndef DAEMON_DEVICE_SOFT_EXEC_STACK_H
#define DAEMON_DEVICE_SOFT_EXEC_STACK_H

#include "daemon/device/soft/code/code.h"

/* The handler of an operation on a lane's stack; NULL: it is none. */
code_handler *stack_select(const struct code_inst *i);

#endif
