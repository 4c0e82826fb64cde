/* SPDX-License-Identifier: Apache-2.0
 *
 * Options of loads and links, and their values, which are numbers stored in pointers. Only the
 * options that give log buffers have an effect; no option changes the code.
 */
#ifndef SHIM_CODE_JIT_H
#define SHIM_CODE_JIT_H

#include <stddef.h>

#include "proto/cuda/cuda_abi.h"
#include "shim/code/image.h"

/* The program's own arrays, which may be NULL. */
struct jit {
    unsigned int count;
    const CUjit_option *options;
    void **values;
};

/* Returns a pointer to the option's value, which may be written; NULL when the option is not given.
 */
void **jit_value(const struct jit *jit, CUjit_option option);

/* Returns the buffer of CU_JIT_INFO_LOG_BUFFER or CU_JIT_ERROR_LOG_BUFFER, emptied; `text` is NULL
 * unless the options give the buffer and its size. */
struct image_log jit_open_log(const struct jit *jit, CUjit_option buffer);
/* Sets the option for the buffer's size to the bytes written. */
void jit_close_log(const struct jit *jit, CUjit_option buffer, const struct image_log *log);

#endif
