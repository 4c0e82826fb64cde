/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes advice as text and as JSON.
 */
#ifndef DAEMON_SIM_COMPARE_ADVISE_TEXT_H
#define DAEMON_SIM_COMPARE_ADVISE_TEXT_H

#include "daemon/sim/compare/advise.h"

void advise_text(const struct advise *a, FILE *out);
void advise_json(const struct advise *a, FILE *out);

#endif
