/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks the messages of a client during its handshake and afterwards. Pure: bytes in, verdict and
 * values out.
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
    char name[HELLO_NAME_BYTES]; /* printable, never empty; only a claim of the client */
    uint16_t minor;
    uint64_t spec_hash;
    uint32_t gpu;        /* GPU requested, plus 1; 0: none */
    struct wire_job job; /* within bounds */
};

/* Returns 0, or ERR_PROTOCOL or ERR_VERSION with the reason in `why`. */
int hello_check(const void *msg, size_t bytes, struct hello *out, char *why, size_t cap);

/* A question instead of a hello: whether the message is one, and its check: 0 with *gpu as in a
 * hello, or the same errors. */
bool hello_asks(const void *msg, size_t bytes);
int hello_check_question(const void *msg, size_t bytes, uint32_t *gpu, char *why, size_t cap);

/* The end of a command instead of a hello, likewise: a run, and a status or a signal. */
bool hello_tells_exit(const void *msg, size_t bytes);
int hello_check_exit(const void *msg, size_t bytes, struct wire_exit *out, char *why, size_t cap);

/* The answer to an offer: returns 0 with *accepted, or ERR_PROTOCOL with the reason. */
int hello_check_answer(const void *msg, size_t bytes, bool *accepted, char *why, size_t cap);

/* The command line of a running client: whether the message is one, and its check: 0 with `out`
 * printable, or ERR_PROTOCOL with the reason. */
bool hello_is_command(const void *msg, size_t bytes);
int hello_check_command(const void *msg, size_t bytes, char out[WIRE_COMMAND_BYTES], char *why,
                        size_t cap);

/* A file of a running client, or a descriptor of a segment: returns 0, or ERR_PROTOCOL with the
 * reason. */
int hello_check_file(const void *msg, size_t bytes, struct wire_file *out, char *why, size_t cap);

#endif
