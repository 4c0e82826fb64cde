/* SPDX-License-Identifier: Apache-2.0
 *
 * What a model says of itself: its name, versions, and the tensors that it takes and gives. Whoever
 * serves it owns it, and all that it points at; it does not change. For any thread.
 */
#ifndef DAEMON_SERVE_INFER_MODEL_H
#define DAEMON_SERVE_INFER_MODEL_H

#include "daemon/serve/infer/tensor.h"

struct model_tensor {
    const char *name;
    enum datatype type;
    uint32_t rank;
    int64_t shape[TENSOR_MAX_RANK]; /* -1: any */
};

struct model {
    const char *name;
    const char *const *versions; /* the newest is the last one */
    uint32_t versions_count;     /* at least one */
    const struct model_tensor *inputs, *outputs;
    uint32_t inputs_count, outputs_count;
};

/* Of `count` models; NULL. */
const struct model *model_find(const struct model *models, size_t count, const char *name);

/* The model's own text of that version, of the newest for NULL or ""; NULL: there is none. */
const char *model_version(const struct model *m, const char *version);

const struct model_tensor *model_tensor_find(const struct model_tensor *list, uint32_t count,
                                             const char *name);

/* Whether a tensor is such a one; else -EINVAL, and `why` with that status. */
int model_tensor_fits(const struct model_tensor *m, const struct tensor *t, const char *what,
                      int status, struct refusal *why);

/* The protocol's objects: metadata, a configuration as Triton's clients ask for it, and an entry of
 * the repository's index for each version. */
void model_write_metadata(const struct model *m, struct buf *json);
void model_write_config(const struct model *m, struct buf *json);
void model_write_index(const struct model *m, bool ready, struct buf *json);

#endif
