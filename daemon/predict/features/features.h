/* SPDX-License-Identifier: Apache-2.0
 *
 * Features of a model that are known before it runs: Horus's Table 3, and the byte counts of
 * equation (2). A value. Pure.
 */
#ifndef DAEMON_PREDICT_FEATURES_FEATURES_H
#define DAEMON_PREDICT_FEATURES_FEATURES_H

#include "daemon/predict/onnx/complaint.h"
#include "daemon/predict/onnx/netgraph.h"

#define FEATURES_KINDS_MAX 8u /* most kinds of uncounted operators that are listed by name */
#define FEATURES_KIND_BYTES 48
#define FEATURES_BYTES_MAX ((uint64_t)1 << 50)
#define FEATURES_FLOPS_MAX 1e24

/* Operators that Table 3 counts, in its order. Its "Exponentials" are ONNX's Exp. */
/* clang-format off */
#define FEATURES_COUNTED(X) \
    X(Exp) X(Split) X(Constant) X(GlobalAveragePool) X(ReduceMean) X(MaxPool) X(GRU) \
    X(Reshape) X(LSTM) X(Concat) X(Gather) X(Squeeze) X(Pad) X(BatchNormalization) \
    X(AveragePool) X(Conv) X(Slice) X(Transpose) X(Flatten) X(Relu) X(Gemm)
/* clang-format on */

enum features_count {
#define X(name) FEATURES_##name,
    FEATURES_COUNTED(X)
#undef X
        FEATURES_COUNTS
};

/* Number of operators of one kind whose shapes are not known. */
struct features_unknown {
    char kind[FEATURES_KIND_BYTES];
    uint32_t count;
};

struct features {
    /* Table 3, for one forward pass of the whole batch. A multiplication and an addition count as
     * two operations. */
    double flops;
    uint64_t parameters_bytes; /* P of (2): the bytes that training changes */
    uint64_t batch;
    uint64_t activations_bytes; /* B * A of (2): outputs of nodes, except views and constants */
    uint32_t counts[FEATURES_COUNTS];

    uint64_t parameters;    /* number of parameters */
    uint64_t buffers_bytes; /* other weights: running means and variances, indices */
    /* B * G of (2): activations that have a gradient, and the parameters. */
    uint64_t gradients_bytes;
    uint64_t input_bytes;
    uint32_t nodes;
    /* Nodes that are not counted, because a shape is not known; `kinds` lists the first kinds. */
    uint32_t unknown;
    struct features_unknown kinds[FEATURES_KINDS_MAX];
    uint32_t kinds_count;
    uint32_t bodies; /* loops; the body of a loop is counted once */
};

/* Computes the features of a graph with inferred shapes. Returns 0, or -EINVAL or -ENOMEM with the
 * reason in `why`. */
int features_take(struct features *f, struct netgraph *g, int64_t batch, struct complaint *why);

/* The operator's name in ONNX. */
const char *features_count_name(enum features_count i);

#endif
