/* SPDX-License-Identifier: Apache-2.0
 *
 * A worker of a real GPU without randomised addresses. The driver lays variables of modules where
 * the process has room: only from the same beginning do they lie in the next worker where they lay
 * in this one, which is what lets jobs go on that have any (docs/adr/0020-recovery.md).
 */
#ifndef DAEMON_WORKER_FIXED_H
#define DAEMON_WORKER_FIXED_H

/* Starts this program again, once, without randomisation. Returns where that is so already, and
 * where it is not allowed: then such jobs end with their worker. Before there are threads. */
void fixed_begin(char **argv);

#endif
