/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages between salus-serve and a model's program (serve_wire.h), as both ends send and receive
 * them: with a small memory after the struct, or with a larger one as a descriptor. Received
 * messages are untrusted. Stateless; the receiver owns the message. Not thread-safe.
 */
#ifndef PROTO_SERVE_SERVE_MESSAGE_H
#define PROTO_SERVE_SERVE_MESSAGE_H

#include "proto/serve/serve_memory.h"

/* A received message, at a multiple of SERVE_WIRE_ALIGN, so that the memory after the struct is
 * aligned. */
struct serve_message {
    struct serve_wire_msg m;
    unsigned char behind[SERVE_WIRE_BEHIND_BYTES];
};

/* Returns NULL when out of memory. The caller frees it. */
struct serve_message *serve_message_create(void);

/* Send `m` alone, or with a memory of tensors for m->requests requests. Both fill in magic and
 * version; the second also m->bytes. Return 0, or -errno and why (-EINVAL: the tensors are
 * invalid). */
int serve_message_send(int sock, struct serve_wire_msg *m);
int serve_message_send_memory(int sock, struct serve_wire_msg *m,
                              const struct serve_memory_tensor *tensors, uint32_t count,
                              struct serve_memory_why *why);

enum serve_message_got {
    SERVE_MESSAGE_NOTHING, /* no message is there now */
    SERVE_MESSAGE_SOUND,
    SERVE_MESSAGE_SCARCE, /* the descriptor is lost: this process has no free ones */
    SERVE_MESSAGE_END,    /* the other end hung up */
    SERVE_MESSAGE_BAD     /* and *why: text that follows "it sent " */
};

/* The caller owns *fd, which may be -1. */
enum serve_message_got serve_message_receive(int sock, struct serve_message *msg, int *fd,
                                             const char **why);

/* Returns the error in a message of `bytes` bytes, with or without a descriptor, or NULL. */
const char *serve_message_fault(const struct serve_message *msg, int bytes, int fd);

/* Opens and checks the memory of BATCH or DONE. `kept`: the message stays unchanged as long as the
 * memory; else it is copied. Returns 0, or -errno and why (-EINVAL: it is invalid). */
int serve_message_open(struct serve_memory *memory, const struct serve_message *msg, int fd,
                       int kept, struct serve_memory_why *why);

#endif
