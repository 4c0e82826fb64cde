/* SPDX-License-Identifier: Apache-2.0
 *
 * Profiles of kernels between broker and worker. What the worker has learned comes in batches, a
 * message each; what the broker knows goes as one sealed memfd, since a full set does not fit into
 * a socket's buffer. Both sides check every item. Also the same as text, for salusctl. Owner: the
 * caller.
 */
#ifndef DAEMON_KERNELS_KERNEL_WIRE_H
#define DAEMON_KERNELS_KERNEL_WIRE_H

#include <stddef.h>

#include "daemon/kernels/kernel_set.h"
#include "proto/wire/wire.h"

#define KERNEL_WIRE_BATCH 16u

/* WIRE_PROFILES: the first `count` items, and no more bytes than these. */
struct kernel_wire_batch {
    uint32_t kind;       /* where wire_worker_msg has it */
    uint32_t generation; /* of the latest WIRE_FORGET that the worker has seen */
    uint32_t count, pad;
    struct kernel_profile items[KERNEL_WIRE_BATCH];
};

/* What the broker's end receives into; which one it is, `kind` says. */
union kernel_wire_message {
    struct wire_worker_msg msg;
    struct kernel_wire_batch batch;
};

static inline size_t kernel_wire_batch_bytes(uint32_t count) {
    return offsetof(struct kernel_wire_batch, items) + count * sizeof(struct kernel_profile);
}
/* A message of so many bytes is a batch, and one of that length. */
bool kernel_wire_is_batch(const union kernel_wire_message *m, size_t bytes);

/* A sealed memfd with the set's hints and, where wanted, its profiles, the oldest use first;
 * -errno.
 */
int kernel_wire_pack(const struct kernel_set *s, bool profiles);

/* What such a memfd says, for reading. */
struct kernel_wire {
    const unsigned char *map; /* ours */
    size_t bytes;
    uint32_t hints, profiles; /* how many */
};

/* 0; -EINVAL where it is none, -ENOMEM. The descriptor stays the caller's. */
int kernel_wire_open(struct kernel_wire *k, int fd);
void kernel_wire_close(struct kernel_wire *k);
/* Copy one, unchecked. */
void kernel_wire_hint(const struct kernel_wire *k, uint32_t i, struct kernel_profile_hint *out);
void kernel_wire_profile(const struct kernel_wire *k, uint32_t i, struct kernel_profile *out);

/* A sealed memfd with the set as text (kernel_text.h); -errno. */
int kernel_wire_text(const struct kernel_set *s);

#endif
