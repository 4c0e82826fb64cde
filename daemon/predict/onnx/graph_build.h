/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages made into a graph. Names are looked up by their place among all names, sorted, so that
 * no choice of names makes that slow.
 */
#ifndef DAEMON_PREDICT_ONNX_GRAPH_BUILD_H
#define DAEMON_PREDICT_ONNX_GRAPH_BUILD_H

#include <onnx.pb-c.h>

#include "daemon/predict/onnx/complaint.h"
#include "daemon/predict/onnx/graph.h"

/* Into a graph that has its memory and message only. 0; or -EINVAL, -ENOMEM and why. */
int graph_build(struct graph *g, const Onnx__GraphProto *top, struct complaint *why);

#endif
