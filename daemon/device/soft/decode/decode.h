/* SPDX-License-Identifier: Apache-2.0
 *
 * PTX functions into executable ones.
 */
#ifndef DAEMON_DEVICE_SOFT_DECODE_DECODE_H
#define DAEMON_DEVICE_SOFT_DECODE_DECODE_H

#include <stddef.h>

#include "daemon/device/soft/code/func.h"

/* Turns `f` into code out of the arena; shared and global variables have their `offset` already.
 * -ENOMEM, ERR_ILLEGAL_INSTRUCTION, ERR_NOT_FOUND or ERR_INVALID_PTX with `why` filled. */
int decode_func(struct arena *arena, struct ptx_func *f, struct code_func **out, char *why,
                size_t why_bytes);

#endif
