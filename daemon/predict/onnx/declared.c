/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/predict/onnx/declared.h"

#include <onnx.pb-c.h>

int64_t declared_rank(const struct value *v) {
    const Onnx__TensorShapeProto *p = v->declared;

    return p ? (int64_t)p->n_dim : -1;
}

struct declared declared_size(const struct value *v, uint32_t axis) {
    const Onnx__TensorShapeProto *p = v->declared;
    const Onnx__TensorShapeProto__Dimension *d = p->dim[axis];

    if (d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM && d->dim_param &&
        *d->dim_param)
        return (struct declared){-1, d->dim_param};
    /* Some exporters write 0 or -1 for a size that they do not know. */
    if (d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE && d->dim_value > 0)
        return (struct declared){d->dim_value, NULL};
    return (struct declared){-1, NULL};
}
