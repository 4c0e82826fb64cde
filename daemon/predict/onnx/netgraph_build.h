/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages made into a graph. Names are looked up by their place among all names, sorted, so that
 * no choice of names makes that slow.
 */
#ifndef DAEMON_PREDICT_ONNX_NETGRAPH_BUILD_H
#define DAEMON_PREDICT_ONNX_NETGRAPH_BUILD_H

#include <onnx.pb-c.h>

#include "daemon/predict/onnx/complaint.h"
#include "daemon/predict/onnx/netgraph.h"

/* Into a graph that has its memory and message only. 0; or -EINVAL, -ENOMEM and why. */
int netgraph_build(struct netgraph *g, const Onnx__GraphProto *top, struct complaint *why);

#endif
