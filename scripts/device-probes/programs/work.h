/* SPDX-License-Identifier: Apache-2.0
 *
 * Common parts of the programs that run alone and together, with and without Salus: numeric
 * arguments, memory, marks of iterations, and a checksum that shows whether all runs computed the
 * same.
 *
 * Owner: the process. Thread: the main thread.
 */
#ifndef DEVICE_PROBES_WORK_H
#define DEVICE_PROBES_WORK_H

#include "scripts/device-probes/probe.h"

/* Sets as many values as there are arguments; the others keep their defaults. An argument that is
 * not a number above 0 ends the program. */
void work_arguments(int argc, char **argv, int **values, int most);
/* Allocates `words` words, filled from `seed`. */
CUdeviceptr work_filled(CUmodule m, size_t words, uint32_t seed);
/* Returns a sum of the words that depends on their places. */
uint64_t work_sum(CUmodule m, CUdeviceptr data, size_t words);
/* Returns a number of blocks that fills the device a few times over. It is the same for all
 * devices, so that results do not depend on the device. */
unsigned work_blocks(void);
/* Ends an iteration or a request: calls salus_iteration() where a library exports it and
 * SALUS_MARK=1. */
void work_step(void);
/* Prints a line on standard output and flushes it. */
__attribute__((format(printf, 1, 2))) void work_say(const char *text, ...);
/* Calls probe_end() with the checksum. */
int work_end(uint64_t sum);

#endif
