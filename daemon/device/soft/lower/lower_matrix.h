/* SPDX-License-Identifier: Apache-2.0
 *
 * Lowers instructions on matrices that a warp holds together.
 */
#ifndef DAEMON_DEVICE_SOFT_LOWER_LOWER_MATRIX_H
#define DAEMON_DEVICE_SOFT_LOWER_LOWER_MATRIX_H

#include "daemon/device/soft/lower/lowering.h"

/* Fills `c` for mma, wmma, ldmatrix, stmatrix, movmatrix. The registers go into extra's defs and
 * uses (a, b, c in order), the address into a and offset, the stride into b. e has the member mask:
 * all lanes. */
void lower_matrix(struct lowering *l, struct code_inst *c);

#endif
