/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a tensor of the file: its sizes, and its elements if they are few and numeric.
 */
#ifndef DAEMON_PREDICT_ONNX_TENSOR_H
#define DAEMON_PREDICT_ONNX_TENSOR_H

#include <onnx.pb-c.h>

#include "daemon/predict/onnx/bounded.h"
#include "daemon/predict/onnx/complaint.h"
#include "daemon/predict/onnx/shape.h"

/* *data is allocated by bounded_alloc, or NULL if the elements are not available. Returns 0, or
 * -EINVAL or -ENOMEM with the reason in `why`. */
int tensor_read(struct bounded *memory, const Onnx__TensorProto *p, struct shape *shape,
                double **data, uint32_t *count, struct complaint *why);

/* Reads the dense sizes of a named sparse tensor. Returns 0, or -EINVAL with the reason in
 * `why`. */
int tensor_read_sparse(const Onnx__SparseTensorProto *p, struct shape *shape,
                       struct complaint *why);

#endif
