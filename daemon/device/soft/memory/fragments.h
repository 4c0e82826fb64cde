/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads and stores of matrices that the lanes of a warp hold together, as handlers.
 */
#ifndef DAEMON_DEVICE_SOFT_MEMORY_FRAGMENTS_H
#define DAEMON_DEVICE_SOFT_MEMORY_FRAGMENTS_H

#include "daemon/device/soft/code/code.h"

/* The handler of an instruction that loads or stores matrices, which all lanes run together; NULL:
 * it is none. */
code_handler *fragments_select(const struct code_inst *i);

#endif
