/* SPDX-License-Identifier: Apache-2.0
 *
 * A module loaded into one client's space: variables placed at addresses of that client, functions
 * decoded on first use. Owner: the software device. Threads: created, looked up and destroyed by
 * the worker's thread; kernels are executed by many (decoding a callee lazily must therefore be
 * safe).
 */
#ifndef DAEMON_DEVICE_SOFT_CODE_KERNEL_H
#define DAEMON_DEVICE_SOFT_CODE_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/device/soft/ptx/ptx_ir.h"

struct code_module;
struct code_kernel;

/* Gives zeroed memory of the client's module window for variables; 0 when there is none left. */
struct code_env {
    uint64_t (*alloc)(void *arg, uint64_t bytes, uint64_t align);
    void *arg;
};

/* Takes `ptx` over on success. 0; -ENOMEM, ERR_NO_MEMORY, ERR_NOT_FOUND (an unresolved .extern) or
 * ERR_INVALID_PTX with `why` filled. Memory obtained from `env` is the caller's to free, always. */
int code_module_create(struct code_module **out, struct ptx_module *ptx, const struct code_env *env,
                       char *why, size_t why_bytes);
void code_module_destroy(struct code_module *m);

/* Decodes the kernel and all it can call. ERR_NOT_FOUND; ERR_ILLEGAL_INSTRUCTION with `why` naming
 * opcode, kernel and line when it needs something that is not supported. */
int code_kernel_get(struct code_module *m, const char *name, struct code_kernel **out, char *why,
                    size_t why_bytes);
int code_global_get(struct code_module *m, const char *name, uint64_t *addr, uint64_t *bytes);

struct code_kernel_info {
    const char *name;
    const struct ptx_func *func; /* parameters, .maxntid, .reqntid */
    uint32_t regs;               /* estimate, 32-bit registers a thread */
    uint32_t shared_bytes;       /* static */
    uint32_t local_bytes, const_bytes;
};
void code_kernel_info(const struct code_kernel *k, struct code_kernel_info *out);

#endif
