/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of a model before it runs: Horus's Table 3, and the bytes that equation (2) is of.
 * A value. Pure.
 */
#ifndef DAEMON_PREDICT_FEATURES_FEATURES_H
#define DAEMON_PREDICT_FEATURES_FEATURES_H

#include "daemon/predict/onnx/complaint.h"
#include "daemon/predict/onnx/netgraph.h"

#define FEATURES_KINDS_MAX 8u /* of operators that are not counted, by name */
#define FEATURES_KIND_BYTES 48
#define FEATURES_BYTES_MAX ((uint64_t)1 << 50)
#define FEATURES_FLOPS_MAX 1e24

/* Operators that Table 3 counts, in its order; "Exponentials" are ONNX's Exp. */
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

/* Operators of a kind whose shapes are not known. */
struct features_unknown {
    char kind[FEATURES_KIND_BYTES];
    uint32_t count;
};

struct features {
    /* Table 3. Of one forward pass of the whole batch; a multiplication and an addition are two. */
    double flops;
    uint64_t parameters_bytes; /* P of (2): what training changes */
    uint64_t batch;
    uint64_t activations_bytes; /* B * A of (2): what nodes give, but for views and constants */
    uint32_t counts[FEATURES_COUNTS];

    uint64_t parameters;      /* how many they are */
    uint64_t buffers_bytes;   /* other weights: running means and variances, indices */
    uint64_t gradients_bytes; /* B * G of (2): activations that have one, and the parameters' */
    uint64_t input_bytes;
    uint32_t nodes;
    uint32_t unknown; /* nodes that are not counted for lack of a shape; the first kinds of them: */
    struct features_unknown kinds[FEATURES_KINDS_MAX];
    uint32_t kinds_count;
    uint32_t bodies; /* loops, whose bodies are counted once */
};

/* Of a graph whose shapes are inferred. 0; or -EINVAL, -ENOMEM and why. */
int features_take(struct features *f, struct netgraph *g, int64_t batch, struct complaint *why);

/* The name of a count, as ONNX has it. */
const char *features_count_name(enum features_count i);

#endif
