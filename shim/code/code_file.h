/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of code.
 */
#ifndef SHIM_CODE_CODE_FILE_H
#define SHIM_CODE_CODE_FILE_H

#include <stddef.h>

#include "proto/cuda/cuda_abi.h"

/* The content, with a NUL behind it, so that PTX ends: the caller's to free. NULL and the error to
 * give. `name` may be NULL. Preserves errno. */
void *code_file_read(const char *name, size_t *bytes, CUresult *error);

#endif
