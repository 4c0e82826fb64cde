/* SPDX-License-Identifier: Apache-2.0
 *
 * Handlers of loads and stores of matrices that the lanes of a warp hold together.
 */
#ifndef DAEMON_DEVICE_SOFT_MEMORY_FRAGMENTS_H
#define DAEMON_DEVICE_SOFT_MEMORY_FRAGMENTS_H

#include "daemon/device/soft/code/code.h"

/* Returns the handler of an instruction that loads or stores matrices, which all lanes run
 * together. Returns NULL if the instruction is none. */
code_handler *fragments_select(const struct code_inst *i);

#endif
