/* SPDX-License-Identifier: Apache-2.0
 *
 * Description of a model: its name, its versions, and its input and output tensors. The server of
 * the model owns this struct and all data that it points to; it is constant. For any thread.
 */
#ifndef DAEMON_SERVE_INFER_MODEL_H
#define DAEMON_SERVE_INFER_MODEL_H

#include "daemon/serve/infer/tensor.h"

struct model_tensor {
    const char *name;
    enum datatype type;
    uint32_t rank;
    int64_t shape[TENSOR_MAX_RANK]; /* -1: any size */
};

struct model {
    const char *name;
    const char *const *versions; /* ordered; the newest is last */
    uint32_t versions_count;     /* at least one */
    const struct model_tensor *inputs, *outputs;
    uint32_t inputs_count, outputs_count;
};

/* Finds a model by name among `count`; NULL if there is none. */
const struct model *model_find(const struct model *models, size_t count, const char *name);

/* The model's own string of that version, or of the newest for NULL or ""; NULL if there is no such
 * version. */
const char *model_version(const struct model *m, const char *version);

const struct model_tensor *model_tensor_find(const struct model_tensor *list, uint32_t count,
                                             const char *name);

/* Tests whether a tensor matches. Returns 0, or -EINVAL with this status in `why`. */
int model_tensor_fits(const struct model_tensor *m, const struct tensor *t, const char *what,
                      int status, struct refusal *why);

/* Write the protocol's objects: the metadata, a configuration as Triton's clients expect it, and
 * one entry per version of the repository's index. */
void model_write_metadata(const struct model *m, struct buf *json);
void model_write_config(const struct model *m, struct buf *json);
void model_write_index(const struct model *m, bool ready, struct buf *json);

#endif
