/* SPDX-License-Identifier: Apache-2.0
 *
 * Draws a comparison of policies as an SVG image.
 */
#ifndef DAEMON_SIM_COMPARE_COMPARE_SVG_H
#define DAEMON_SIM_COMPARE_COMPARE_SVG_H

#include "daemon/sim/compare/compare.h"

void compare_svg(const struct compare *c, const char *title, FILE *out);

#endif
