/* SPDX-License-Identifier: Apache-2.0
 *
 * Folds constants that exporters compute within the graph: they write the target of a Reshape as
 * Shape, Gather, Mul and Concat of earlier values. If all inputs of such a node are known, its
 * output is computed.
 */
#ifndef DAEMON_PREDICT_SHAPE_FOLD_H
#define DAEMON_PREDICT_SHAPE_FOLD_H

#include "daemon/predict/shape/op.h"

/* Called after the shapes of the outputs are set. Sets the data of the first output if possible.
 * Returns 0, or -ENOMEM with the reason in `why`. */
int fold_node(struct op_call *c);

#endif
