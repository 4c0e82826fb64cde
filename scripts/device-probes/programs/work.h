/* SPDX-License-Identifier: Apache-2.0
 *
 * What the programs share that are run alone, beside each other, with and without Salus: numbers as
 * arguments, memory, marks of iterations, and a checksum that says whether all of these runs
 * computed the same.
 *
 * Owner: the process. Thread: the main thread.
 */
#ifndef DEVICE_PROBES_WORK_H
#define DEVICE_PROBES_WORK_H

#include "scripts/device-probes/probe.h"

/* As many as there are; the others stay. Those that are no numbers above 0 end the program. */
void work_arguments(int argc, char **argv, int **values, int most);
/* `words` words, filled from `seed`. */
CUdeviceptr work_filled(CUmodule m, size_t words, uint32_t seed);
/* A sum over words that depends on their places. */
uint64_t work_sum(CUmodule m, CUdeviceptr data, size_t words);
/* Blocks that fill the device a few times over, the same for all devices: results do not depend on
 * it. */
unsigned work_blocks(void);
/* An iteration or a request ends: said to whoever exports salus_iteration(), when SALUS_MARK=1. */
void work_step(void);
/* A line on standard output, at once. */
__attribute__((format(printf, 1, 2))) void work_say(const char *text, ...);
/* probe_end() with the checksum. */
int work_end(uint64_t sum);

#endif
