/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/predict/features/measure.h"

#include <stdlib.h>

#include "daemon/predict/onnx/bytes.h"
#include "daemon/predict/onnx/model.h"

int measure_bytes(struct features *f, const unsigned char *bytes, size_t count,
                  const struct infer_options *o, struct complaint *why) {
    struct netgraph g;
    int64_t batch;
    int err = model_read(&g, bytes, count, why);

    if (!err) err = infer_shapes(&g, o, &batch, why);
    if (!err) err = features_take(f, &g, batch, why);
    netgraph_finish(&g);
    return err;
}

int measure_file(struct features *f, const char *path, const struct infer_options *o,
                 struct complaint *why) {
    unsigned char *bytes;
    size_t count;
    int err = bytes_read(path, BYTES_MODEL_MAX, &bytes, &count, why);

    if (!err) err = measure_bytes(f, bytes, count, o, why);
    free(bytes);
    return err;
}
