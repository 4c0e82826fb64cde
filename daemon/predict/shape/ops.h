/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of operators (ops.def). The headers op_*.h declare the shape functions.
 */
#ifndef DAEMON_PREDICT_SHAPE_OPS_H
#define DAEMON_PREDICT_SHAPE_OPS_H

#include "daemon/predict/shape/op.h"

enum ops_work {
    OPS_NONE,    /* only moves bytes */
    OPS_ELEMENT, /* per element of the output */
    OPS_INPUT,   /* per element of the first input */
    OPS_POOL,    /* per element of each window */
    OPS_CONV,
    OPS_CONVTRANSPOSE,
    OPS_GEMM,
    OPS_MATMUL,
    OPS_EINSUM,
    OPS_RECURRENT /* per gate of a cell */
};

struct op {
    const char *name;
    bool (*shape)(struct op_call *c);
    enum ops_work work;
    uint32_t per_element;
    bool view;
};

/* NULL if the operator is not known. */
const struct op *ops_find(const char *name);

#endif
