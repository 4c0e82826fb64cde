/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of the library: the socket to salus-serve, the current batch, and the latest error.
 * Owner: the model's program. One thread at a time.
 */
#ifndef DAEMON_SERVE_MODEL_CONNECTION_H
#define DAEMON_SERVE_MODEL_CONNECTION_H

#include <stdbool.h>

#include "daemon/serve/model/salus_serve.h"
#include "proto/serve/serve_message.h"

struct salus_serve {
    int fd;                    /* -1: no connection */
    bool over;                 /* no more batches follow; not an error */
    uint64_t number;           /* number of the current batch; 0: none */
    uint32_t requests;         /* number of requests in the batch */
    struct serve_message *msg; /* the latest message, including the batch's memory if small */
    struct serve_memory in;
    long long device_ns;                /* value of meter_read when the batch arrived */
    void *joined[SERVE_WIRE_MAX_NAMES]; /* per input: its joined copy; NULL: none was needed yet */
    struct serve_memory_tensor *out;    /* outputs; names and data are ours */
    uint32_t out_count, out_room;
    char error[320];
};

/* Stores a sentence for salus_serve_error. Returns -1. */
int connection_say(struct salus_serve *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Releases the batch and its outputs. */
void connection_forget(struct salus_serve *s);

/* Tests that there is a batch with this request; returns 0 or -1. */
int connection_check(struct salus_serve *s, int request);

#endif
