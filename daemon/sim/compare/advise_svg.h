/* SPDX-License-Identifier: Apache-2.0
 *
 * Draws advice as an SVG image.
 */
#ifndef DAEMON_SIM_COMPARE_ADVISE_SVG_H
#define DAEMON_SIM_COMPARE_ADVISE_SVG_H

#include "daemon/sim/compare/advise.h"

void advise_svg(const struct advise *a, FILE *out);

#endif
