/* SPDX-License-Identifier: Apache-2.0
 *
 * Shape functions of operators that change the layout and keep the elements.
 */
#ifndef DAEMON_PREDICT_SHAPE_OP_LAYOUT_H
#define DAEMON_PREDICT_SHAPE_OP_LAYOUT_H

#include "daemon/predict/shape/op.h"

bool op_concat(struct op_call *c);
bool op_depthtospace(struct op_call *c);
bool op_expand(struct op_call *c);
bool op_flatten(struct op_call *c);
bool op_pad(struct op_call *c);
bool op_reshape(struct op_call *c);
bool op_resize(struct op_call *c);
bool op_spacetodepth(struct op_call *c);
bool op_split(struct op_call *c);
bool op_squeeze(struct op_call *c);
bool op_tile(struct op_call *c);
bool op_transpose(struct op_call *c);
bool op_unsqueeze(struct op_call *c);

#endif
