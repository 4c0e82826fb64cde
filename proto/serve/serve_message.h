/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages between salus-serve and a model's program (serve_wire.h), as both ends send and receive
 * them: with a small memory behind the struct, or with a larger one as a descriptor. What comes is
 * a stranger's. No state; whoever receives owns the message. Not thread-safe.
 */
#ifndef PROTO_SERVE_SERVE_MESSAGE_H
#define PROTO_SERVE_SERVE_MESSAGE_H

#include "proto/serve/serve_memory.h"

/* As it came; at a multiple of SERVE_WIRE_ALIGN, so that what is behind the struct is. */
struct serve_message {
    struct serve_wire_msg m;
    unsigned char behind[SERVE_WIRE_BEHIND_BYTES];
};

/* NULL: no memory. To be freed. */
struct serve_message *serve_message_create(void);

/* Each fills in magic and version. `m` alone; or with a memory of tensors, of m->requests, whose
 * bytes it becomes. 0, or -errno and why (-EINVAL: of the tensors). */
int serve_message_send(int sock, struct serve_wire_msg *m);
int serve_message_send_memory(int sock, struct serve_wire_msg *m,
                              const struct serve_memory_tensor *tensors, uint32_t count,
                              struct serve_memory_why *why);

enum serve_message_got {
    SERVE_MESSAGE_NOTHING, /* for now */
    SERVE_MESSAGE_SOUND,
    SERVE_MESSAGE_SCARCE, /* its descriptor is lost: we have none left */
    SERVE_MESSAGE_END,    /* the other end hung up */
    SERVE_MESSAGE_BAD     /* and *why: words that follow "it sent " */
};

/* *fd: the caller's, or -1. */
enum serve_message_got serve_message_receive(int sock, struct serve_message *msg, int *fd,
                                             const char **why);

/* What is wrong with a message of so many bytes, with or without a descriptor; NULL: nothing. */
const char *serve_message_fault(const struct serve_message *msg, int bytes, int fd);

/* The memory of BATCH or DONE, checked. `kept`: the message stays as it is for as long as the
 * memory; else it is copied. 0, or -errno and why: -EINVAL, it is not what it should be. */
int serve_message_open(struct serve_memory *memory, const struct serve_message *msg, int fd,
                       int kept, struct serve_memory_why *why);

#endif
