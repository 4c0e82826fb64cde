/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers that exporters compute within the graph: they write a Reshape's target as Shape, Gather,
 * Mul and Concat of what came before. Where all that a node of these kinds takes is known, what it
 * gives is as well.
 */
#ifndef DAEMON_PREDICT_SHAPE_FOLD_H
#define DAEMON_PREDICT_SHAPE_FOLD_H

#include "daemon/predict/shape/op.h"

/* After its outputs' shapes: sets the data of the first one where it can. 0 or -ENOMEM and why. */
int fold_node(struct op_call *c);

#endif
