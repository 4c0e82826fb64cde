/* SPDX-License-Identifier: Apache-2.0
 *
 * Shape functions of operators that create a tensor from their attributes or from sizes.
 */
#ifndef DAEMON_PREDICT_SHAPE_OP_MAKE_H
#define DAEMON_PREDICT_SHAPE_OP_MAKE_H

#include "daemon/predict/shape/op.h"

bool op_constant(struct op_call *c);
bool op_constantofshape(struct op_call *c);
bool op_range(struct op_call *c);
bool op_shape(struct op_call *c);
bool op_size(struct op_call *c);

#endif
