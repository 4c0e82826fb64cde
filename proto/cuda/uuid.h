/* SPDX-License-Identifier: Apache-2.0
 *
 * A device's UUID as people and NVML write it: "GPU-" and groups of hexadecimal digits.
 */
#ifndef PROTO_CUDA_UUID_H
#define PROTO_CUDA_UUID_H

#include <stdbool.h>
#include <stdint.h>

#define UUID_TEXT_BYTES 41 /* with the NUL */

/* Of 16 bytes, into UUID_TEXT_BYTES. */
void uuid_print(const uint8_t *uuid, char *out);

/* Whether text is how one could begin, with a digit at least; and whether this one does. Digits may
 * be of either case. */
bool uuid_may_begin(const char *text);
bool uuid_begins(const uint8_t *uuid, const char *text);

#endif
