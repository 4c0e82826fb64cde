/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a comparison of modes of tuning jobs as a table and as JSON.
 */
#ifndef DAEMON_SIM_COMPARE_TUNEJOBS_TEXT_H
#define DAEMON_SIM_COMPARE_TUNEJOBS_TEXT_H

#include "daemon/sim/compare/tunejobs.h"

void tunejobs_table(const struct tunejobs *t, const struct tunejobs_config *c, FILE *out);
void tunejobs_json(const struct tunejobs *t, const struct tunejobs_config *c, FILE *out);

#endif
