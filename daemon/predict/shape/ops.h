/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of operators (ops.def). Their shape functions are declared by the files that have them,
 * op_*.h.
 */
#ifndef DAEMON_PREDICT_SHAPE_OPS_H
#define DAEMON_PREDICT_SHAPE_OPS_H

#include "daemon/predict/shape/op.h"

enum ops_work {
    OPS_NONE,    /* moves bytes */
    OPS_ELEMENT, /* so many operations for each element of what it gives */
    OPS_INPUT,   /* for each element of its first input */
    OPS_POOL,    /* for each element of each window */
    OPS_CONV,
    OPS_CONVTRANSPOSE,
    OPS_GEMM,
    OPS_MATMUL,
    OPS_EINSUM,
    OPS_RECURRENT /* gates of a cell */
};

struct op {
    const char *name;
    bool (*shape)(struct op_call *c);
    enum ops_work work;
    uint32_t per_element;
    bool view;
};

/* NULL: it is not known. */
const struct op *ops_find(const char *name);

#endif
