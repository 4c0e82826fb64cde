/* SPDX-License-Identifier: Apache-2.0
 *
 * Computes the features of a model from the bytes of its file.
 */
#ifndef DAEMON_PREDICT_FEATURES_MEASURE_H
#define DAEMON_PREDICT_FEATURES_MEASURE_H

#include "daemon/predict/features/features.h"
#include "daemon/predict/shape/infer.h"

/* Return 0, or -EINVAL or -ENOMEM with the reason in `why`. */
int measure_bytes(struct features *f, const unsigned char *bytes, size_t count,
                  const struct infer_options *o, struct complaint *why);
int measure_file(struct features *f, const char *path, const struct infer_options *o,
                 struct complaint *why);

#endif
