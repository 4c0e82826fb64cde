/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a whole regular file with a size limit. Owner: the caller.
 */
#ifndef DAEMON_PREDICT_ONNX_BYTES_H
#define DAEMON_PREDICT_ONNX_BYTES_H

#include <stddef.h>

#include "daemon/predict/onnx/complaint.h"

/* Limit of protobuf; larger weights are in separate files. */
#define BYTES_MODEL_MAX ((size_t)1 << 31)

/* The caller frees *out. Returns 0, or -EINVAL or -ENOMEM with the reason in `why`. */
int bytes_read(const char *path, size_t max, unsigned char **out, size_t *count,
               struct complaint *why);

#endif
