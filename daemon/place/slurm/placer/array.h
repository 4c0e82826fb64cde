/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses the tasks of an array that Slurm has not split off yet, as Slurm prints them:
 * "0-7:2,12%4". Pure.
 *
 * Owner: the caller. Threads: any.
 */
#ifndef DAEMON_PLACE_SLURM_PLACER_ARRAY_H
#define DAEMON_PLACE_SLURM_PLACER_ARRAY_H

#include <stdint.h>

/* Limit per array and round, because the job is copied for each task. */
#define ARRAY_TASKS_MOST 64u

/* Writes the first tasks, at most `most`, and returns their number. Stops at text that it cannot
 * parse: Slurm ends long lists with "...". */
uint32_t array_tasks(const char *list, uint32_t *out, uint32_t most);

#endif
