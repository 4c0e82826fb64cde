/* SPDX-License-Identifier: Apache-2.0
 *
 * Compute capabilities that a device may report, as numbers: 90 for 9.0. Programs and libraries
 * choose their code by it. Pure.
 */
#ifndef PROTO_CUDA_CAPABILITY_H
#define PROTO_CUDA_CAPABILITY_H

#include <stdbool.h>
#include <stdint.h>

/* The existing capabilities, oldest first, and one beyond that no present library knows. */
#define CAPABILITY_CHOICES "7.5|8.0|8.6|8.7|8.8|8.9|9.0|10.0|10.3|11.0|12.0|12.1|13.0"

/* Returns 0 if the text is none of the choices. */
uint32_t capability_parse(const char *text);
bool capability_known(uint32_t capability);

#endif
