/* SPDX-License-Identifier: Apache-2.0
 *
 * The profiles of kernels and the hints about them that are known of one device: a bounded set in
 * the order of use, in which no user can take more than half of the room from the others. Pure.
 * Owner: the caller.
 */
#ifndef DAEMON_KERNELS_KSET_H
#define DAEMON_KERNELS_KSET_H

#include <stdbool.h>
#include <stdint.h>

#include "common/slotmap.h"
#include "daemon/kernels/kprofile.h"

#define KSET_MAX 16384u
#define KSET_USER_MAX (KSET_MAX / 2)
#define KSET_HINTS_MAX 4096u
#define KSET_ANYBODY UINT32_MAX

/* Which device this was measured on; "?" with 0 SMs: none in particular, as tables of other tools.
 */
struct kset_device {
    char name[64];
    uint32_t sms;
};

/* Of the profile with the same number: what is looked through to find the one that has to go. */
struct kset_mark {
    uint64_t used; /* greater: later */
    uint32_t uid;
};

struct kset {
    struct kset_device device;
    struct kprofile *items;
    struct kset_mark *marks;
    uint32_t count, cap;
    struct kprofile_hint *hints; /* in the order of kprofile_hint_order */
    uint32_t hint_count, hint_cap;
    struct slotmap by_key;
    uint64_t uses, seed;
};

/* `seed` should be a secret where strangers choose keys. */
void kset_init(struct kset *s, uint64_t seed);
void kset_finish(struct kset *s);
bool kset_device_same(const struct kset_device *a, const struct kset_device *b);

/* NULL: none. */
const struct kprofile *kset_find(const struct kset *s, const struct kprofile_key *key);
/* In place of what was known of this kernel. Where there is no room the one whose use is longest
 * ago goes; the user's own where half of the set is theirs. 0 or -ENOMEM. */
int kset_learn(struct kset *s, const struct kprofile *p);
/* Each in place of the hint of the same name and shape. 0; -ENOSPC, -ENOMEM with none of them
 * taken.
 */
int kset_add_hints(struct kset *s, const struct kprofile_hint *hints, uint32_t count);

/* What to forget: a user's (KSET_ANYBODY: everybody's) profiles of a name (NULL: every), and hints
 * of it as well. */
struct kset_filter {
    uint32_t uid;
    const char *name;
    bool hints;
};

bool kset_matches(const struct kset_filter *f, const struct kprofile *p);
/* How many went. */
uint32_t kset_forget(struct kset *s, const struct kset_filter *f);

/* The items' numbers, oldest use first, for the caller to free; NULL: out of memory. */
uint32_t *kset_order(const struct kset *s);

#endif
