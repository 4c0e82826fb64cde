/* SPDX-License-Identifier: Apache-2.0
 *
 * Every value's shape, for a batch: from the inputs on, operator by operator. What an operator's
 * own function cannot say is taken from the file, where it says it for any batch; else it stays
 * unknown.
 */
#ifndef DAEMON_PREDICT_SHAPE_INFER_H
#define DAEMON_PREDICT_SHAPE_INFER_H

#include "daemon/predict/onnx/complaint.h"
#include "daemon/predict/onnx/netgraph.h"

#define INFER_SIZE_MAX ((int64_t)1 << 31) /* of a batch, or of a size that has a name */

/* A size that the model has a name for. */
struct infer_size {
    const char *name;
    int64_t size;
};

struct infer_options {
    int64_t batch; /* 0: as the file has it, or 1 where it has a name for it */
    const struct infer_size *sizes;
    uint32_t sizes_count;
};

/* *batch: that of the graph now. 0; or -EINVAL, -ENOMEM and why. */
int infer_shapes(struct netgraph *g, const struct infer_options *o, int64_t *batch,
                 struct complaint *why);

#endif
