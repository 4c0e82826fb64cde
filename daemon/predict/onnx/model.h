/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a model's graph from the bytes of its file.
 */
#ifndef DAEMON_PREDICT_ONNX_MODEL_H
#define DAEMON_PREDICT_ONNX_MODEL_H

#include "daemon/predict/onnx/complaint.h"
#include "daemon/predict/onnx/netgraph.h"

/* Returns 0, or -EINVAL or -ENOMEM with the reason in `why`; the caller finishes the graph in
 * either case. */
int model_read(struct netgraph *g, const unsigned char *bytes, size_t count, struct complaint *why);

#endif
