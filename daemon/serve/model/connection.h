/* SPDX-License-Identifier: Apache-2.0
 *
 * What struct salus_serve is: the socket to salus-serve, the batch that is at hand, and what was
 * said to be wrong. Owner: the model's program. One thread at a time.
 */
#ifndef DAEMON_SERVE_MODEL_CONNECTION_H
#define DAEMON_SERVE_MODEL_CONNECTION_H

#include <stdbool.h>

#include "daemon/serve/model/salus_serve.h"
#include "proto/serve/serve_message.h"

struct salus_serve {
    int fd;                    /* -1: there is no connection, or no more */
    bool over;                 /* there are no more batches, which is no error */
    uint64_t number;           /* of the batch; 0: there is none */
    uint32_t requests;         /* of it */
    struct serve_message *msg; /* what came latest, with the batch's memory if it is small */
    struct serve_memory in;
    long long device_ns;                /* meter_read when the batch came */
    void *joined[SERVE_WIRE_MAX_NAMES]; /* by group; NULL: not copied */
    struct serve_memory_tensor *out;    /* names and data are ours */
    uint32_t out_count, out_room;
    char error[320];
};

/* Keeps a sentence for salus_serve_error. -1. */
int connection_say(struct salus_serve *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Lets go of the batch, with its outputs. */
void connection_forget(struct salus_serve *s);

/* Whether there is a batch, and such a request in it: 0 or -1. */
int connection_check(struct salus_serve *s, int request);

#endif
