/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies a model's bytes without its weights, before protobuf-c parses them. protobuf-c copies all
 * it reads, recurses as deep as the file says, and allocates some hundred bytes for a message of
 * two. The copy follows the schema: only names are long, nothing is nested deeper than SLIM_DEPTH,
 * singular fields occur once, and unknown fields are dropped. Pure.
 */
#ifndef DAEMON_PREDICT_ONNX_SLIM_H
#define DAEMON_PREDICT_ONNX_SLIM_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "daemon/predict/onnx/complaint.h"

#define SLIM_DEPTH 64u        /* nesting depth of messages; a subgraph takes three levels */
#define SLIM_DATA_BYTES 8192u /* longest tensor data that is kept: shapes are, weights are not */
#define SLIM_BYTES_MAX (64u << 20) /* limit of the copy's size */

/* Appends the copy of a ModelProto. Returns 0, -ENOMEM, or -EINVAL for invalid bytes with the
 * reason in `why`. */
int slim_model(const unsigned char *bytes, size_t count, struct buf *out, struct complaint *why);

#endif
