/* SPDX-License-Identifier: Apache-2.0
 *
 * A module loaded into one client's space: variables placed at addresses of that client, kernels
 * decoded on first use (code_kernel.h). Owner: the software device. Threads: one at a time.
 */
#ifndef DAEMON_DEVICE_SOFT_MODULE_CODE_MODULE_H
#define DAEMON_DEVICE_SOFT_MODULE_CODE_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/device/soft/instructions/ptx_ir.h"

struct arena;
struct code_kernel;
struct code_names;
struct decoded;

/* A kernel whose address is taken, so that kernels may launch it. */
struct code_launchable {
    struct code_kernel *kernel; /* NULL: not launchable, or it cannot run */
    int err;                    /* the reason, with `why` */
    char *why;
};

struct code_module {
    struct ptx_module *ptx;
    struct arena *arena; /* memory of address_taken, names and decoded, for the module's life */
    struct code_kernel *kernels; /* decoded so far */
    bool *address_taken; /* indexed by function: may be called or launched through a pointer */
    struct code_names **names;          /* indexed by function; NULL: not analysed yet */
    struct decoded **decoded;           /* lists, indexed by function */
    struct code_launchable *launchable; /* indexed by function; NULL until a kernel needs it */
};

/* Memory for variables. `alloc` returns zeroed memory of the client's module window (host window,
 * if a variable is managed), or 0 when there is none left. */
struct code_env {
    uint64_t (*alloc)(void *arg, uint64_t bytes, uint64_t align);
    void *arg;
    bool filled; /* the memory has the variables' old contents and keeps them */
};

/* Takes ownership of `ptx` on success. Returns 0 or -ENOMEM. */
int code_module_create(struct code_module **out, struct ptx_module *ptx);
/* Places the variables, once, before any kernel is requested. Returns 0; ERR_NO_MEMORY or
 * ERR_NOT_FOUND (an unresolved .extern) with `why` filled. The caller always frees memory that
 * `env` returned. */
int code_module_place(struct code_module *m, const struct code_env *env, char *why,
                      size_t why_bytes);
void code_module_destroy(struct code_module *m);

/* Frees the table of launchable kernels. */
void code_launchable_free(struct code_module *m);

/* Finds a variable in global or constant memory by name. Returns 0 or ERR_NOT_FOUND. */
int code_global_get(struct code_module *m, const char *name, uint64_t *addr, uint64_t *bytes);

/* Alignment of a variable in bytes: at least as the PTX says, a power of two, at most 65536. */
uint64_t code_var_align(const struct ptx_var *v);

#endif
