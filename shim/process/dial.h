/* SPDX-License-Identifier: Apache-2.0
 *
 * Connects to the broker: its run directory is SALUS_RUN_DIR, else /run/salus. Has no state.
 */
#ifndef SHIM_PROCESS_DIAL_H
#define SHIM_PROCESS_DIAL_H

/* Returns a connection to job.sock, which the caller owns: blocking, with a timeout for each
 * receive. -errno on failure. */
int dial_broker(void);

/* Returns the directory, for messages. */
const char *dial_run_dir(void);

#endif
