/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of operators (ops.def), and their shape functions, which are in op_*.c.
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

/* Whether an Einsum's equation gave all sizes of its letters: then what they multiply to, which is
 * how often it multiplies and adds. */
bool op_einsum_work(struct op_call *c, double *out);

bool op_arg(struct op_call *c);
bool op_batchnorm(struct op_call *c);
bool op_body(struct op_call *c);
bool op_cast(struct op_call *c);
bool op_castlike(struct op_call *c);
bool op_compare(struct op_call *c);
bool op_concat(struct op_call *c);
bool op_constant(struct op_call *c);
bool op_constantofshape(struct op_call *c);
bool op_conv(struct op_call *c);
bool op_convtranspose(struct op_call *c);
bool op_depthtospace(struct op_call *c);
bool op_dequantize(struct op_call *c);
bool op_dropout(struct op_call *c);
bool op_einsum(struct op_call *c);
bool op_elementwise(struct op_call *c);
bool op_expand(struct op_call *c);
bool op_flatten(struct op_call *c);
bool op_gather(struct op_call *c);
bool op_gatherelements(struct op_call *c);
bool op_gathernd(struct op_call *c);
bool op_gemm(struct op_call *c);
bool op_globalpool(struct op_call *c);
bool op_gru(struct op_call *c);
bool op_layernorm(struct op_call *c);
bool op_lstm(struct op_call *c);
bool op_matmul(struct op_call *c);
bool op_onehot(struct op_call *c);
bool op_pad(struct op_call *c);
bool op_pool(struct op_call *c);
bool op_quantize(struct op_call *c);
bool op_range(struct op_call *c);
bool op_reduce(struct op_call *c);
bool op_reshape(struct op_call *c);
bool op_resize(struct op_call *c);
bool op_rnn(struct op_call *c);
bool op_same(struct op_call *c);
bool op_shape(struct op_call *c);
bool op_size(struct op_call *c);
bool op_slice(struct op_call *c);
bool op_spacetodepth(struct op_call *c);
bool op_split(struct op_call *c);
bool op_squeeze(struct op_call *c);
bool op_test(struct op_call *c);
bool op_tile(struct op_call *c);
bool op_topk(struct op_call *c);
bool op_transpose(struct op_call *c);
bool op_unknown(struct op_call *c);
bool op_unsqueeze(struct op_call *c);
bool op_where(struct op_call *c);

#endif
