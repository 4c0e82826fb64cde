/* SPDX-License-Identifier: Apache-2.0
 *
 * Sends requests to the daemon, and explains why it did not answer.
 */
#ifndef DAEMON_CTL_CLI_QUERY_H
#define DAEMON_CTL_CLI_QUERY_H

#include "daemon/ctl/cli/cli.h"
#include "proto/control/ctl_msg.h"

/* Copied records of one kind. Initialise to zero; free with query_finish. */
struct query {
    enum ctl_record kind;
    size_t record_bytes;
    char *records;
    size_t count, cap;
    bool no_memory;
};

/* Asks until the list is complete. Returns CLI_OK, or an exit status after a diagnostic. `quiet`: a
 * daemon that is not running is not reported. */
int query_send(struct cli *c, const struct ctl_request *r, bool quiet, struct query *q);
/* Descriptors sent along; -1: none. `out` goes with the request; `in` came with the reply and is
 * the caller's to close. */
struct query_fds {
    int out, in;
};
int query_send_fds(struct cli *c, const struct ctl_request *r, struct query_fds *fds,
                   struct query *q);
/* query_send for a verb without arguments, or with `id` only. */
int query_ask(struct cli *c, enum ctl_verb verb, uint64_t id, bool quiet, struct query *q);
/* query_ask without diagnostics. Returns true when there is an answer, which the caller frees. */
bool query_silently(const struct cli *c, enum ctl_verb verb, struct query *q);
const void *query_record(const struct query *q, size_t i);
void query_finish(struct query *q);

/* Returns a connected SOCK_SEQPACKET socket with both timeouts set, or -errno. */
int query_connect(const char *path, uint64_t timeout_ms);

#endif
