/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels of a module, decoded when they are asked for first. Threads: asked for by one
 * at a time; executed by many, which change nothing in them.
 */
#ifndef DAEMON_DEVICE_SOFT_DECODE_CODE_KERNEL_H
#define DAEMON_DEVICE_SOFT_DECODE_CODE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/device/soft/instructions/ptx_ir.h"

struct code_module;
struct code_kernel; /* of its module, which ends it */

/* Decodes the kernel and all it can call. ERR_NOT_FOUND; ERR_ILLEGAL_INSTRUCTION with `why` naming
 * opcode, kernel and line when it needs something that is not supported. */
int code_kernel_get(struct code_module *m, const char *name, struct code_kernel **out, char *why,
                    size_t why_bytes);

#endif
