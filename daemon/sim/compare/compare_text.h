/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a comparison of policies as a table and as JSON.
 */
#ifndef DAEMON_SIM_COMPARE_COMPARE_TEXT_H
#define DAEMON_SIM_COMPARE_COMPARE_TEXT_H

#include "daemon/sim/compare/compare.h"

/* Formats a label such as "streams" or "streams/gpucolo". */
void compare_label(const struct compare_row *row, char out[COMPARE_LABEL]);
void compare_table(const struct compare *c, FILE *out);
void compare_json(const struct compare *c, const struct compare_config *config, FILE *out);

#endif
