/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the predictors of this installation are: SALUS_PREDICT_DIR, or going by where this program
 * is,
 * ../share/salus/predict of an installed one (seen from libexec/salus) and config/predict of a
 * tree.
 */
#ifndef DAEMON_PREDICT_TOOL_PLACE_H
#define DAEMON_PREDICT_TOOL_PLACE_H

#include <stddef.h>

/* The file of a device: 0, or -ENOENT. A device's name with a '/' has none. */
int place_predictor(const char *device, char *out, size_t cap);

#endif
