/* SPDX-License-Identifier: Apache-2.0
 *
 * IEEE 754 binary16, for which not all compilers have a type. Pure, for any thread.
 */
#ifndef DAEMON_SERVE_INFER_HALF_H
#define DAEMON_SERVE_INFER_HALF_H

#include <stdint.h>

/* Rounds to nearest, ties to even; infinity if v is too large. */
uint16_t half_pack(double v);
double half_unpack(uint16_t h);

#endif
