/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages made into a graph. A node that calls a function of the file's is none: what the function
 * does stands in its place, with values of its own.
 */
#ifndef DAEMON_PREDICT_ONNX_NETGRAPH_BUILD_H
#define DAEMON_PREDICT_ONNX_NETGRAPH_BUILD_H

#include <onnx.pb-c.h>

#include "daemon/predict/onnx/complaint.h"
#include "daemon/predict/onnx/netgraph.h"

/* Into a graph that has its memory and message only. 0; or -EINVAL, -ENOMEM and why. */
int netgraph_build(struct netgraph *g, const Onnx__ModelProto *m, struct complaint *why);

#endif
