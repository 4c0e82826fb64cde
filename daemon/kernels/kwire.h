/* SPDX-License-Identifier: Apache-2.0
 *
 * Profiles of kernels between broker and worker. What the worker has learned comes in batches, a
 * message each; what the broker knows goes as one sealed memfd, since a full set does not fit into
 * a socket's buffer. Both sides check every item. Also the same as text, for salusctl. Owner: the
 * caller.
 */
#ifndef DAEMON_KERNELS_KWIRE_H
#define DAEMON_KERNELS_KWIRE_H

#include <stddef.h>

#include "daemon/kernels/kset.h"
#include "proto/wire.h"

#define KWIRE_BATCH 16u

/* WIRE_PROFILES: the first `count` items, and no more bytes than these. */
struct kwire_batch {
    uint32_t kind; /* where wire_worker_msg has it */
    uint32_t turn; /* of the latest WIRE_FORGET that the worker has seen */
    uint32_t count, pad;
    struct kprofile items[KWIRE_BATCH];
};

/* What the broker's end receives into; which one it is, `kind` says. */
union kwire_message {
    struct wire_worker_msg msg;
    struct kwire_batch batch;
};

static inline size_t kwire_batch_bytes(uint32_t count) {
    return offsetof(struct kwire_batch, items) + count * sizeof(struct kprofile);
}
/* A message of so many bytes is a batch, and one of that length. */
bool kwire_is_batch(const union kwire_message *m, size_t bytes);

/* A sealed memfd with the set's hints and, where wanted, its profiles, the oldest use first;
 * -errno.
 */
int kwire_pack(const struct kset *s, bool profiles);

/* What such a memfd says, for reading. */
struct kwire {
    const unsigned char *map; /* ours */
    size_t bytes;
    uint32_t hints, profiles; /* how many */
};

/* 0; -EINVAL where it is none, -ENOMEM. The descriptor stays the caller's. */
int kwire_open(struct kwire *k, int fd);
void kwire_close(struct kwire *k);
/* Copy one, unchecked. */
void kwire_hint(const struct kwire *k, uint32_t i, struct kprofile_hint *out);
void kwire_profile(const struct kwire *k, uint32_t i, struct kprofile *out);

/* A sealed memfd with the set as text (ktext.h); -errno. */
int kwire_text(const struct kset *s);

#endif
