/* SPDX-License-Identifier: Apache-2.0
 *
 * A tensor that stands in the file: its sizes, and its elements where they are few and numbers.
 */
#ifndef DAEMON_PREDICT_ONNX_TENSOR_H
#define DAEMON_PREDICT_ONNX_TENSOR_H

#include <onnx.pb-c.h>

#include "daemon/predict/onnx/bounded.h"
#include "daemon/predict/onnx/complaint.h"
#include "daemon/predict/onnx/shape.h"

/* *data: bounded_alloc's, or NULL where the elements are not here. 0; or -EINVAL, -ENOMEM and why.
 */
int tensor_read(struct bounded *memory, const Onnx__TensorProto *p, struct shape *shape,
                double **data, uint32_t *count, struct complaint *why);

/* The sizes of one of which the file has what is not 0, and which has a name: its values'. 0; or
 * -EINVAL and why. */
int tensor_read_sparse(const Onnx__SparseTensorProto *p, struct shape *shape,
                       struct complaint *why);

#endif
