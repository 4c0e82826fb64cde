/* SPDX-License-Identifier: Apache-2.0
 *
 * A model's file, from its bytes to its features.
 */
#ifndef DAEMON_PREDICT_FEATURES_MEASURE_H
#define DAEMON_PREDICT_FEATURES_MEASURE_H

#include "daemon/predict/features/features.h"
#include "daemon/predict/shape/infer.h"

/* 0; or -EINVAL, -ENOMEM and why. */
int measure_bytes(struct features *f, const unsigned char *bytes, size_t count,
                  const struct infer_options *o, struct complaint *why);
int measure_file(struct features *f, const char *path, const struct infer_options *o,
                 struct complaint *why);

#endif
