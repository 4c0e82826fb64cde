/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a predictor from its file.
 */
#ifndef DAEMON_PREDICT_LEARN_PREDICTOR_READ_H
#define DAEMON_PREDICT_LEARN_PREDICTOR_READ_H

#include "daemon/predict/learn/predictor.h"

/* Parses the text of such a file. Returns 0, or -EINVAL or -ENOMEM with the reason in `why`; the
 * caller finishes the predictor in either case. */
int predictor_parse(struct predictor *p, const char *from, size_t bytes, struct complaint *why);
int predictor_read(struct predictor *p, const char *path, struct complaint *why);

#endif
