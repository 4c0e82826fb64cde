/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a comparison of batching policies as a table and as JSON.
 */
#ifndef DAEMON_SIM_COMPARE_SERVE_TEXT_H
#define DAEMON_SIM_COMPARE_SERVE_TEXT_H

#include "daemon/sim/compare/serve.h"

void serve_table(const struct serve *s, const struct serve_config *config, bool detail, FILE *out);
void serve_json(const struct serve *s, const struct serve_config *config, FILE *out);

#endif
