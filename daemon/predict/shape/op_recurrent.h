/* SPDX-License-Identifier: Apache-2.0
 *
 * Shape functions of recurrent networks.
 */
#ifndef DAEMON_PREDICT_SHAPE_OP_RECURRENT_H
#define DAEMON_PREDICT_SHAPE_OP_RECURRENT_H

#include "daemon/predict/shape/op.h"

bool op_gru(struct op_call *c);
bool op_lstm(struct op_call *c);
bool op_rnn(struct op_call *c);

#endif
