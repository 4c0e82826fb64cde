/* SPDX-License-Identifier: Apache-2.0
 *
 * Variables of NVIDIA's multi-process service that would change how this process shares the GPU.
 * They have no effect under Salus, which replaces that service. Reads the environment; any thread.
 */
#ifndef SHIM_PROCESS_MPS_VARIABLES_H
#define SHIM_PROCESS_MPS_VARIABLES_H

#define MPS_VARIABLES_BYTES 384 /* enough for all of them */

/* Prints the variables that are set to a value with an effect, as "X=1, Y=2"; returns how many. */
int mps_variables_find(char names[MPS_VARIABLES_BYTES]);

/* Logs the variables that are set to a value with an effect, the first time only. */
void mps_variables_say(void);

#endif
