/* SPDX-License-Identifier: Apache-2.0
 *
 * The sections `kernels` and `gaps` of a workload file. Private to workload*.c.
 */
#ifndef DAEMON_SIM_WORKLOAD_WORKLOAD_KERNELS_H
#define DAEMON_SIM_WORKLOAD_WORKLOAD_KERNELS_H

#include "daemon/sim/workload/workload_parse.h"

/* Parses a line whose first word is `word`; *taken tells whether it belongs to a section. */
int workload_kernels_line(struct parser *p, const char *word, char *rest, bool *taken);
/* Called after the last line: resolves names, and computes the kernels' profiles for the
 * scheduler. */
void workload_kernels_end(struct parser *p);

#endif
