/* SPDX-License-Identifier: Apache-2.0
 *
 * Does launches again in parts (daemon/device/subgrid) and holds what they leave in memory to what
 * the whole launch left there. Those whose result hangs on who comes first are left out. Owner: the
 * test. Thread: one.
 */
#ifndef TEST_LIB_INPARTS_H
#define TEST_LIB_INPARTS_H

#include <stdbool.h>

#include "test/lib/ptx/ptxrun.h"

/* Memory as it was, to be had again. */
struct inparts {
    unsigned char *before; /* NULL: this launch is not done again */
    size_t bytes;
};

/* The module of the parts of `ptx`, made of `text`; NULL: no kernel has any, or it does not load.
 */
struct code_module *inparts_load(const struct ptx_module *ptx, const char *text, size_t bytes,
                                 struct code_env *env);

/* Before a launch of that kernel; the end follows. */
void inparts_begin(struct inparts *p, struct ptxrun *r, const struct ptx_func *f,
                   const struct launch_config *config);
/* It ended with `err`, and `run` runs another. NULL, or what was otherwise in parts. What is in
 * memory is what the whole launch left. */
const char *inparts_end(struct inparts *p, struct ptxrun *r, const struct launch_config *config,
                        int err, int (*run)(struct ptxrun *r, const struct launch_config *config));

#endif
