/* SPDX-License-Identifier: Apache-2.0
 *
 * Shape functions of convolutions and pooling.
 */
#ifndef DAEMON_PREDICT_SHAPE_OP_WINDOW_H
#define DAEMON_PREDICT_SHAPE_OP_WINDOW_H

#include "daemon/predict/shape/op.h"

bool op_conv(struct op_call *c);
bool op_convtranspose(struct op_call *c);
bool op_globalpool(struct op_call *c);
bool op_pool(struct op_call *c);

#endif
