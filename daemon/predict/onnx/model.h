/* SPDX-License-Identifier: Apache-2.0
 *
 * A model's file, from its bytes to its graph.
 */
#ifndef DAEMON_PREDICT_ONNX_MODEL_H
#define DAEMON_PREDICT_ONNX_MODEL_H

#include "daemon/predict/onnx/complaint.h"
#include "daemon/predict/onnx/netgraph.h"

/* 0; or -EINVAL, -ENOMEM and why. Then too the caller finishes the graph. */
int model_read(struct netgraph *g, const unsigned char *bytes, size_t count, struct complaint *why);

#endif
