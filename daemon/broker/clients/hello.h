/* SPDX-License-Identifier: Apache-2.0
 *
 * What a client says during its handshake and afterwards, checked. Pure: bytes in, verdict and
 * words out.
 */
#ifndef DAEMON_BROKER_CLIENTS_HELLO_H
#define DAEMON_BROKER_CLIENTS_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/wire/wire.h"

#define HELLO_NAME_BYTES 64
#define HELLO_WHY_BYTES 256

struct hello {
    char name[HELLO_NAME_BYTES]; /* printable, never empty; the client's own claim and no more */
    uint16_t minor;
    uint64_t spec_hash;
    uint32_t gpu;        /* that it asks for, 1 above its number; 0: none */
    struct wire_job job; /* within bounds */
};

/* 0, or ERR_PROTOCOL or ERR_VERSION with the reason in `why`. */
int hello_check(const void *msg, size_t bytes, struct hello *out, char *why, size_t cap);

/* A question instead of a hello: whether it is one, and then 0 with *gpu, as a hello's, or the same
 * errors. */
bool hello_asks(const void *msg, size_t bytes);
int hello_check_question(const void *msg, size_t bytes, uint32_t *gpu, char *why, size_t cap);

/* The end of a command instead of a hello, in the same way: a run, and a status or a signal. */
bool hello_tells_exit(const void *msg, size_t bytes);
int hello_check_exit(const void *msg, size_t bytes, struct wire_exit *out, char *why, size_t cap);

/* The answer to an offer: 0 with *accepted, or ERR_PROTOCOL with the reason. */
int hello_check_answer(const void *msg, size_t bytes, bool *accepted, char *why, size_t cap);

/* The command line of a client that runs: whether it is one, and then 0 with `out` fit to be shown,
 * or ERR_PROTOCOL with the reason. */
bool hello_is_command(const void *msg, size_t bytes);
int hello_check_command(const void *msg, size_t bytes, char out[WIRE_COMMAND_BYTES], char *why,
                        size_t cap);

/* A file of a client that runs, or a descriptor of a segment: 0, or ERR_PROTOCOL with the reason.
 */
int hello_check_file(const void *msg, size_t bytes, struct wire_file *out, char *why, size_t cap);

#endif
