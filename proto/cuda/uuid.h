/* SPDX-License-Identifier: Apache-2.0
 *
 * A device's UUID as users and NVML write it: "GPU-" and groups of hexadecimal digits.
 */
#ifndef PROTO_CUDA_UUID_H
#define PROTO_CUDA_UUID_H

#include <stdbool.h>
#include <stdint.h>

#define UUID_TEXT_BYTES 41 /* with the NUL */

/* Prints 16 bytes into UUID_TEXT_BYTES. */
void uuid_print(const uint8_t *uuid, char *out);

/* uuid_may_begin: true if some UUID could begin with the text, which has at least one digit.
 * uuid_begins: true if this one does. Digits may have either case. */
bool uuid_may_begin(const char *text);
bool uuid_begins(const uint8_t *uuid, const char *text);

#endif
