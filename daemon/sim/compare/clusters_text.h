/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a comparison of policies on a cluster as a table and as JSON.
 */
#ifndef DAEMON_SIM_COMPARE_CLUSTERS_TEXT_H
#define DAEMON_SIM_COMPARE_CLUSTERS_TEXT_H

#include "daemon/sim/compare/clusters.h"

void clusters_table(const struct clusters *c, const struct clusters_config *config, FILE *out);
void clusters_json(const struct clusters *c, const struct clusters_config *config, FILE *out);

#endif
