/* SPDX-License-Identifier: Apache-2.0
 *
 * Which tasks of an array Slurm has not split off yet, as it prints them: "0-7:2,12%4". Pure.
 *
 * Owner: the caller. Threads: any.
 */
#ifndef DAEMON_PLACE_SLURM_PLACER_ARRAY_H
#define DAEMON_PLACE_SLURM_PLACER_ARRAY_H

#include <stdint.h>

/* Of one array in one round: a copy of the job for each. */
#define ARRAY_TASKS_MOST 64u

/* The first of them, `most` at the most; how many there are. It ends where it understands no more:
 * long lists end in "...". */
uint32_t array_tasks(const char *list, uint32_t *out, uint32_t most);

#endif
