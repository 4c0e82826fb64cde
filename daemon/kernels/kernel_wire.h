/* SPDX-License-Identifier: Apache-2.0
 *
 * Transfers kernel profiles between broker and worker. The worker sends new profiles in batches,
 * one message each. The broker sends a sealed memfd, because a full set does not fit into a socket
 * buffer. Both sides check every item. A memfd with the set as text serves salusctl. Owner: the
 * caller.
 */
#ifndef DAEMON_KERNELS_KERNEL_WIRE_H
#define DAEMON_KERNELS_KERNEL_WIRE_H

#include <stddef.h>

#include "daemon/kernels/kernel_set.h"
#include "proto/wire/wire.h"

#define KERNEL_WIRE_BATCH 16u

/* Message WIRE_PROFILES. Only the first `count` items are sent. */
struct kernel_wire_batch {
    uint32_t kind;       /* same offset as in wire_worker_msg */
    uint32_t generation; /* generation of the latest WIRE_FORGET that the worker has seen */
    uint32_t count, pad;
    struct kernel_profile items[KERNEL_WIRE_BATCH];
};

/* Receive buffer of the broker; `kind` says which member is valid. */
union kernel_wire_message {
    struct wire_worker_msg msg;
    struct kernel_wire_batch batch;
};

static inline size_t kernel_wire_batch_bytes(uint32_t count) {
    return offsetof(struct kernel_wire_batch, items) + count * sizeof(struct kernel_profile);
}
/* Tests that a message of this size is a batch and that its count matches the size. */
bool kernel_wire_is_batch(const union kernel_wire_message *m, size_t bytes);

/* Returns a sealed memfd with the set's hints and, if `profiles`, its profiles, least recently used
 * first. -errno on failure. */
int kernel_wire_pack(const struct kernel_set *s, bool profiles);

/* A memfd of kernel_wire_pack, mapped for reading. */
struct kernel_wire {
    const unsigned char *map; /* our mapping, released by kernel_wire_close */
    size_t bytes;
    uint32_t hints, profiles; /* numbers of hints and profiles */
};

/* Maps the memfd. Returns 0, -EINVAL if the content is invalid, or -ENOMEM. The caller keeps the
 * descriptor. */
int kernel_wire_open(struct kernel_wire *k, int fd);
void kernel_wire_close(struct kernel_wire *k);
/* Copy one item without checking it. */
void kernel_wire_hint(const struct kernel_wire *k, uint32_t i, struct kernel_profile_hint *out);
void kernel_wire_profile(const struct kernel_wire *k, uint32_t i, struct kernel_profile *out);

/* Returns a sealed memfd with the set as text (kernel_text.h), or -errno. */
int kernel_wire_text(const struct kernel_set *s);

#endif
