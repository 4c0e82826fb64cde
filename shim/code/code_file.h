/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of code.
 */
#ifndef SHIM_CODE_CODE_FILE_H
#define SHIM_CODE_CODE_FILE_H

#include <stddef.h>

#include "proto/cuda/cuda_abi.h"

/* Reads the content and adds a NUL, so that PTX text is terminated. The caller frees the result.
 * NULL and the error to give on failure. `name` may be NULL. Preserves errno. */
void *code_file_read(const char *name, size_t *bytes, CUresult *error);

#endif
