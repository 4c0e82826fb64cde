/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns PTX functions into executable ones.
 */
#ifndef DAEMON_DEVICE_SOFT_DECODE_DECODE_H
#define DAEMON_DEVICE_SOFT_DECODE_DECODE_H

#include <stddef.h>

#include "daemon/device/soft/code/func.h"

/* Turns `f` into code allocated in the arena. Shared and global variables already have their
 * `offset`. *out is valid only on success. Errors, with `why` filled: -ENOMEM,
 * ERR_ILLEGAL_INSTRUCTION, ERR_NOT_FOUND, ERR_INVALID_PTX. */
int decode_func(struct arena *arena, struct ptx_func *f, struct code_func **out, char *why,
                size_t why_bytes);

#endif
