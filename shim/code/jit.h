/* SPDX-License-Identifier: Apache-2.0
 *
 * Options of loads and links, and their values, which are numbers in pointers. Of the options those
 * count that give room for texts about what went wrong; code is not changed by any.
 */
#ifndef SHIM_CODE_JIT_H
#define SHIM_CODE_JIT_H

#include <stddef.h>

#include "proto/cuda/cuda_abi.h"
#include "shim/code/image.h"

/* The program's own arrays; may be NULL. */
struct jit {
    unsigned int count;
    const CUjit_option *options;
    void **values;
};

/* The value, for writing it too; NULL when the option is not given. */
void **jit_value(const struct jit *jit, CUjit_option option);

/* The room of CU_JIT_INFO_LOG_BUFFER or CU_JIT_ERROR_LOG_BUFFER, with nothing in it. */
struct image_log jit_open_log(const struct jit *jit, CUjit_option buffer);
/* The option for its size comes back as what was written. */
void jit_close_log(const struct jit *jit, CUjit_option buffer, const struct image_log *log);

#endif
