/* SPDX-License-Identifier: Apache-2.0
 *
 * A file as it is, whole: a regular one, and no longer than its reader can use. Owner: the caller.
 */
#ifndef DAEMON_PREDICT_ONNX_BYTES_H
#define DAEMON_PREDICT_ONNX_BYTES_H

#include <stddef.h>

#include "daemon/predict/onnx/complaint.h"

#define BYTES_MODEL_MAX ((size_t)1 << 31) /* as protobuf has it: what is larger is kept beside */

/* *out is the caller's, to be freed. 0; or -EINVAL, -ENOMEM and why. */
int bytes_read(const char *path, size_t max, unsigned char **out, size_t *count,
               struct complaint *why);

#endif
