/* SPDX-License-Identifier: Apache-2.0
 *
 * Facts for the history that only the job's side knows: its command line, and how the command of a
 * `salusctl run` ended. Both are claims of the jobs' user, and are never shown for others' jobs.
 * The client may be closed when these return.
 */
#ifndef DAEMON_BROKER_CLIENTS_JOB_CLAIMS_H
#define DAEMON_BROKER_CLIENTS_JOB_CLAIMS_H

#include "daemon/broker/clients/client.h"

/* Takes the command line of a running client, once. */
void job_claims_command(struct client *c, const void *msg, size_t bytes);
/* Takes the end of a command, which comes instead of a hello; closes the connection. */
void job_claims_exit(struct client *c, const void *msg, size_t bytes);

#endif
