/* SPDX-License-Identifier: Apache-2.0
 *
 * Reaching the broker: its run directory is SALUS_RUN_DIR, else /run/salus. Keeps nothing.
 */
#ifndef SHIM_PROCESS_DIAL_H
#define SHIM_PROCESS_DIAL_H

/* A connection to job.sock, the caller's: blocking, with a limit for each receive. -errno. */
int dial_broker(void);

/* The directory, for messages. */
const char *dial_run_dir(void);

#endif
