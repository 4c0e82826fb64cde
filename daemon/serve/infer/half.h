/* SPDX-License-Identifier: Apache-2.0
 *
 * IEEE 754 binary16, of which compilers do not all have a type. Pure, for any thread.
 */
#ifndef DAEMON_SERVE_INFER_HALF_H
#define DAEMON_SERVE_INFER_HALF_H

#include <stdint.h>

/* The nearest one, ties to even; infinity where v is beyond them all. */
uint16_t half_pack(double v);
double half_unpack(uint16_t h);

#endif
