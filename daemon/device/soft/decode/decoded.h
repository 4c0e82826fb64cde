/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions of a module that were decoded: once for all kernels in which the variables in
 * shared memory that a function names lie at the same places, for these are in its code.
 *
 * Owner: the module. Thread: the worker's.
 */
#ifndef DAEMON_DEVICE_SOFT_DECODE_DECODED_H
#define DAEMON_DEVICE_SOFT_DECODE_DECODED_H

#include <stddef.h>
#include <stdint.h>

struct code_func;
struct code_module;

/* The function's code, decoded now or before, where its variables lie as their `offset` says.
 * Errors as decode_func's; one that was found before comes with the same `why`. */
int decoded_get(struct code_module *m, uint32_t func, struct code_func **out, char *why,
                size_t why_bytes);

#endif
