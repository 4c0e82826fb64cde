/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the directory of this installation's predictors: SALUS_PREDICT_DIR, or a path relative to
 * this program. In an installation that is ../share/salus/predict (seen from libexec/salus), in a
 * source tree config/predict.
 */
#ifndef DAEMON_PREDICT_TOOL_PLACE_H
#define DAEMON_PREDICT_TOOL_PLACE_H

#include <stddef.h>

/* The file of a device. Returns 0 or -ENOENT. A device name with a '/' has no file. */
int place_predictor(const char *device, char *out, size_t cap);

#endif
