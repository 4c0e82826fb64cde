/* SPDX-License-Identifier: Apache-2.0
 *
 * Infers the shape of every value for a batch size, operator by operator from the inputs on. If an
 * operator's shape function cannot tell, the file's declaration is used if it holds for any batch;
 * else the shape stays unknown.
 */
#ifndef DAEMON_PREDICT_SHAPE_INFER_H
#define DAEMON_PREDICT_SHAPE_INFER_H

#include "daemon/predict/onnx/complaint.h"
#include "daemon/predict/onnx/netgraph.h"

#define INFER_SIZE_MAX ((int64_t)1 << 31) /* limit of a batch or of a named size */

/* The value for a size that the model names. */
struct infer_size {
    const char *name;
    int64_t size;
};

struct infer_options {
    int64_t batch; /* 0: the file's number, or 1 if the file names it */
    const struct infer_size *sizes;
    uint32_t sizes_count;
};

/* *batch receives the graph's batch size. Returns 0, or -EINVAL or -ENOMEM with the reason in
 * `why`. */
int infer_shapes(struct netgraph *g, const struct infer_options *o, int64_t *batch,
                 struct complaint *why);

#endif
