/* SPDX-License-Identifier: Apache-2.0
 *
 * Draws a comparison of policies on a cluster as an SVG image.
 */
#ifndef DAEMON_SIM_COMPARE_CLUSTERS_SVG_H
#define DAEMON_SIM_COMPARE_CLUSTERS_SVG_H

#include "daemon/sim/compare/clusters.h"

void clusters_svg(const struct clusters *c, const struct clusters_config *config, FILE *out);

#endif
