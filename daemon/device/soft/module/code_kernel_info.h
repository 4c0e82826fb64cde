/* SPDX-License-Identifier: Apache-2.0
 *
 * Facts about a decoded kernel: its resources, and what it does in addition to computing. Threads:
 * any.
 */
#ifndef DAEMON_DEVICE_SOFT_MODULE_CODE_KERNEL_INFO_H
#define DAEMON_DEVICE_SOFT_MODULE_CODE_KERNEL_INFO_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/soft/instructions/ptx_ir.h"

struct code_kernel;

struct code_kernel_info {
    const char *name;
    const struct ptx_func *func; /* parameters, .maxntid, .reqntid */
    uint32_t regs;               /* estimate, 32-bit registers per thread */
    uint32_t shared_bytes;       /* static */
    /* local_bytes: per thread; const_bytes: all variables of the module in constant memory */
    uint32_t local_bytes, const_bytes;
    bool nests, launches_graphs; /* `nests`: the kernel calls the device runtime */
    /* The kernel, or one that it may launch, calls printf; malloc or free. */
    bool prints, allocates;
};
void code_kernel_info(const struct code_kernel *k, struct code_kernel_info *out);
/* Threads that a block of the kernel may have. */
uint32_t code_kernel_threads(const struct code_kernel *k);

#endif
