/* SPDX-License-Identifier: Apache-2.0
 *
 * Shape functions of matrix products.
 */
#ifndef DAEMON_PREDICT_SHAPE_OP_MATRIX_H
#define DAEMON_PREDICT_SHAPE_OP_MATRIX_H

#include "daemon/predict/shape/op.h"

bool op_einsum(struct op_call *c);
/* Computes the product of the sizes of all letters, the number of multiply-add operations. Returns
 * false if the equation does not give all sizes. */
bool op_einsum_work(struct op_call *c, double *out);
bool op_gemm(struct op_call *c);
bool op_matmul(struct op_call *c);

#endif
