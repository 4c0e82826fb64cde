/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses lists of GRES as Slurm prints them: "gres:gpu:1,gres:salus:2", "salus:a:2(S:0-1),nic:1".
 * Pure.
 *
 * Owner: the caller. Threads: any.
 */
#ifndef DAEMON_PLACE_SLURM_GRES_H
#define DAEMON_PLACE_SLURM_GRES_H

#include <stdint.h>

/* Count of the GRES with this name, summed over its types; 1 if the number is missing. */
uint32_t gres_count(const char *list, const char *name);

#endif
