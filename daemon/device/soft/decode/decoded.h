/* SPDX-License-Identifier: Apache-2.0
 *
 * The decoded functions of a module. A function's code contains the offsets of the variables in
 * shared memory that it names. Kernels in which these offsets are equal share the code.
 *
 * Owner: the module. Thread: the worker's.
 */
#ifndef DAEMON_DEVICE_SOFT_DECODE_DECODED_H
#define DAEMON_DEVICE_SOFT_DECODE_DECODED_H

#include <stddef.h>
#include <stdint.h>

struct code_func;
struct code_module;

/* Returns the function's code for the present `offset` of its variables, decoded now or before.
 * Errors are those of decode_func; an error found before returns with the same `why`. */
int decoded_get(struct code_module *m, uint32_t func, struct code_func **out, char *why,
                size_t why_bytes);

#endif
