/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels of a module, decoded when they are asked for first. Threads: asked for by one
 * at a time; executed by many, which change nothing in them.
 */
#ifndef DAEMON_DEVICE_SOFT_CODE_KERNEL_H
#define DAEMON_DEVICE_SOFT_CODE_KERNEL_H

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

struct code_kernel_info {
    const char *name;
    const struct ptx_func *func; /* parameters, .maxntid, .reqntid */
    uint32_t regs;               /* estimate, 32-bit registers a thread */
    uint32_t shared_bytes;       /* static */
    uint32_t local_bytes, const_bytes;
    bool nests, launches_graphs; /* it calls the device runtime; graphs */
    bool prints, allocates;      /* it, or what it may launch, calls printf; malloc or free */
};
void code_kernel_info(const struct code_kernel *k, struct code_kernel_info *out);
/* Threads that a block of it may have. */
uint32_t code_kernel_threads(const struct code_kernel *k);

#endif
