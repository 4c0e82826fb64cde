/* SPDX-License-Identifier: Apache-2.0
 *
 * One worker after the other for the same scripted client: the next one is given what the last one
 * left as it is at that moment, as if that had been killed, and goes on.
 *
 * Owner: the test. Thread: one.
 */
#ifndef TEST_LIB_SUCCESSION_H
#define TEST_LIB_SUCCESSION_H

#include "daemon/worker/client.h"
#include "test/lib/worker/wireclient.h"

struct succession {
    struct worker_config config; /* of the next one, but for its device's memory */
    struct wirebench *b;
    struct wireclient *c;
    char refused[256];     /* by the next worker, that is, why; empty: it goes on */
    int64_t before, after; /* memory that its page took: blocks of 512 bytes */
};

/* `job`: NULL for wireclient_attach's. */
struct succession succession_begin(const struct worker_config *config, const struct wire_job *job);
/* The client leaves first. */
void succession_end(struct succession *r);
/* As the present worker has it. */
struct client *succession_client(const struct succession *r);
/* The next worker takes over, and runs until it has nothing to do. */
void succession_next(struct succession *r);

#endif
