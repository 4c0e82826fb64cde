/* SPDX-License-Identifier: Apache-2.0
 *
 * Handlers of operations on a lane's stack.
 */
#ifndef DAEMON_DEVICE_SOFT_EXEC_STACK_H
#define DAEMON_DEVICE_SOFT_EXEC_STACK_H

#include "daemon/device/soft/code/code.h"

/* Returns the handler of alloca, stacksave or stackrestore. */
code_handler *stack_select(const struct code_inst *i);

#endif
