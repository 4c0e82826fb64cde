/* SPDX-License-Identifier: Apache-2.0
 *
 * Shape functions of operators that gather, slice and look up by index.
 */
#ifndef DAEMON_PREDICT_SHAPE_OP_INDEX_H
#define DAEMON_PREDICT_SHAPE_OP_INDEX_H

#include "daemon/predict/shape/op.h"

bool op_arg(struct op_call *c);
bool op_gather(struct op_call *c);
bool op_gatherelements(struct op_call *c);
bool op_gathernd(struct op_call *c);
bool op_onehot(struct op_call *c);
bool op_reduce(struct op_call *c);
bool op_slice(struct op_call *c);
bool op_topk(struct op_call *c);

#endif
