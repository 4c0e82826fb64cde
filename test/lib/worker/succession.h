/* SPDX-License-Identifier: Apache-2.0
 *
 * Several workers, one after the other, for the same scripted client. The next worker gets what the
 * last one left at that moment, as if the last one had been killed, and continues. Owner: the test.
 * Thread: one.
 */
#ifndef TEST_LIB_SUCCESSION_H
#define TEST_LIB_SUCCESSION_H

#include "daemon/worker/client.h"
#include "test/lib/worker/wireclient.h"

struct succession {
    /* configuration of the next worker, except for its device memory */
    struct worker_config config;
    struct wirebench *b;
    struct wireclient *c;
    char refused[256];     /* reason why the next worker rejected the client; empty: it continues */
    int64_t before, after; /* memory that the client's page used: blocks of 512 bytes */
};

/* `job`: NULL for wireclient_attach's default. */
struct succession succession_begin(const struct worker_config *config, const struct wire_job *job);
/* Detaches the client first. */
void succession_end(struct succession *r);
/* The client as the present worker has it. */
struct client *succession_client(const struct succession *r);
/* The next worker takes over, and runs until it is idle. */
void succession_next(struct succession *r);

#endif
