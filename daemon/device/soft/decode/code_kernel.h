/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels of a module, decoded on first use. Threads: one at a time asks for a kernel; many may
 * execute it, which does not change the kernel.
 */
#ifndef DAEMON_DEVICE_SOFT_DECODE_CODE_KERNEL_H
#define DAEMON_DEVICE_SOFT_DECODE_CODE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/device/soft/instructions/ptx_ir.h"

struct code_module;
struct code_kernel; /* owned by its module */

/* Gives the kernel, decoded now or before with all functions that it can call. The module owns it.
 * Errors: -ENOMEM, ERR_NOT_FOUND, ERR_ILLEGAL_INSTRUCTION or ERR_INVALID_PTX. All but -ENOMEM fill
 * `why`, which names opcode, function and line of an instruction that is not supported. */
int code_kernel_get(struct code_module *m, const char *name, struct code_kernel **out, char *why,
                    size_t why_bytes);

#endif
