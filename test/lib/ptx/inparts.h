/* SPDX-License-Identifier: Apache-2.0
 *
 * Repeats launches in parts (daemon/device/subgrid) and compares the resulting memory with the
 * whole launch's. Skips launches whose result depends on which thread comes first. Owner: the test.
 * Thread: one.
 */
#ifndef TEST_LIB_INPARTS_H
#define TEST_LIB_INPARTS_H

#include <stdbool.h>

#include "test/lib/ptx/ptxrun.h"

/* A copy of memory, to restore it before the repeated launch. */
struct inparts {
    unsigned char *before; /* NULL: this launch is not repeated */
    size_t bytes;
};

/* Loads the module of the parts of `ptx`, compiled from `text`; returns NULL if no kernel has
 * parts or loading fails. */
struct code_module *inparts_load(const struct ptx_module *ptx, const char *text, size_t bytes,
                                 struct code_env *env);

/* Called before a launch of kernel `f`; inparts_end follows. */
void inparts_begin(struct inparts *p, struct ptxrun *r, const struct ptx_func *f,
                   const struct launch_config *config);
/* Called after the launch ended with `err`; `run` runs another launch. Returns NULL, or the
 * difference that the launch in parts made. Memory holds what the whole launch left. */
const char *inparts_end(struct inparts *p, struct ptxrun *r, const struct launch_config *config,
                        int err, int (*run)(struct ptxrun *r, const struct launch_config *config));

#endif
