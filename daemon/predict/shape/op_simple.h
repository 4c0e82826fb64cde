/* SPDX-License-Identifier: Apache-2.0
 *
 * Shape functions of element-wise operators and reductions.
 */
#ifndef DAEMON_PREDICT_SHAPE_OP_SIMPLE_H
#define DAEMON_PREDICT_SHAPE_OP_SIMPLE_H

#include "daemon/predict/shape/op.h"

bool op_batchnorm(struct op_call *c);
bool op_body(struct op_call *c);
bool op_cast(struct op_call *c);
bool op_castlike(struct op_call *c);
bool op_compare(struct op_call *c);
bool op_dequantize(struct op_call *c);
bool op_dropout(struct op_call *c);
bool op_elementwise(struct op_call *c);
bool op_layernorm(struct op_call *c);
bool op_quantize(struct op_call *c);
bool op_same(struct op_call *c);
bool op_test(struct op_call *c);
bool op_unknown(struct op_call *c);
bool op_where(struct op_call *c);

#endif
