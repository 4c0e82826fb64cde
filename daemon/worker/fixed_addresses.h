/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs the worker of a real GPU without randomised addresses. The driver lays variables of modules
 * where the process has free addresses. They lie at the same addresses in the next worker only if
 * both begin alike, and jobs with variables can only then continue (docs/adr/0020-recovery.md).
 */
#ifndef DAEMON_WORKER_FIXED_ADDRESSES_H
#define DAEMON_WORKER_FIXED_ADDRESSES_H

/* Starts this program again, once, without randomisation; called before there are threads. Returns
 * when randomisation is already off, and when it may not be turned off: jobs with variables then
 * end with their worker. */
void fixed_addresses_begin(char **argv);

#endif
