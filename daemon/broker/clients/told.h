/* SPDX-License-Identifier: Apache-2.0
 *
 * What the history tells of jobs that only their own side knows: a job's command line, and how the
 * command of a `salusctl run` ended. Both are claims of the user whose jobs they are, and are told
 * of no others. Whatever they are, the client may be closed when these return.
 */
#ifndef DAEMON_BROKER_CLIENTS_TOLD_H
#define DAEMON_BROKER_CLIENTS_TOLD_H

#include "daemon/broker/clients/client.h"

/* Of a client that runs, once. */
void told_command(struct client *c, const void *msg, size_t bytes);
/* Instead of a hello; the connection ends. */
void told_exit(struct client *c, const void *msg, size_t bytes);

#endif
