/* SPDX-License-Identifier: Apache-2.0
 *
 * Variables of NVIDIA's multi-process service that would change how this process shares the GPU.
 * There is no such service beside Salus, so that they have no effect. Reads the environment; any
 * thread.
 */
#ifndef SHIM_PROCESS_MPS_VARIABLES_H
#define SHIM_PROCESS_MPS_VARIABLES_H

#define MPS_VARIABLES_BYTES 384 /* for all of them */

/* Prints the variables that are set, and not to what is so anyway, with their values ("X=1, Y=2");
 * returns how many. */
int mps_variables_find(char names[MPS_VARIABLES_BYTES]);

/* Says so on standard error, the first time. */
void mps_variables_say(void);

#endif
