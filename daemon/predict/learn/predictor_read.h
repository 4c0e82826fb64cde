/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading a predictor from its file.
 */
#ifndef DAEMON_PREDICT_LEARN_PREDICTOR_READ_H
#define DAEMON_PREDICT_LEARN_PREDICTOR_READ_H

#include "daemon/predict/learn/predictor.h"

/* From the text of such a file: 0; or -EINVAL, -ENOMEM and why. Then too the caller finishes it. */
int predictor_parse(struct predictor *p, const char *from, size_t bytes, struct complaint *why);
int predictor_read(struct predictor *p, const char *path, struct complaint *why);

#endif
