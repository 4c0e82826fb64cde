/* SPDX-License-Identifier: Apache-2.0
 *
 * A model's bytes without its weights. protobuf-c copies all that it reads, follows messages within
 * messages as deep as a file says, and takes some hundred bytes for a message of two; so that what
 * it gets is first gone through here by the schema: nothing in it is long but names, nothing lies
 * deeper than SLIM_DEPTH, a message that may be there once is, and what the schema does not know is
 * left out. Pure.
 */
#ifndef DAEMON_PREDICT_ONNX_SLIM_H
#define DAEMON_PREDICT_ONNX_SLIM_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "daemon/predict/onnx/complaint.h"

#define SLIM_DEPTH 64u        /* messages within messages; a subgraph takes three */
#define SLIM_DATA_BYTES 8192u /* of a tensor's data that is kept: shapes are, weights are not */
#define SLIM_BYTES_MAX (64u << 20) /* of what is left */

/* Appends what is left of a ModelProto: 0; -EINVAL, it is none, and why; -ENOMEM. */
int slim_model(const unsigned char *bytes, size_t count, struct buf *out, struct complaint *why);

#endif
