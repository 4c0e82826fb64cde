/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel profiles and hints that are known for one device. The set is bounded and ordered by
 * last use, and no user can evict others' profiles to hold more than half of the slots. Pure.
 * Owner: the caller.
 */
#ifndef DAEMON_KERNELS_KERNEL_SET_H
#define DAEMON_KERNELS_KERNEL_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "common/slotmap.h"
#include "daemon/kernels/kernel_profile.h"

#define KERNEL_SET_MAX 16384u                    /* profiles of a set */
#define KERNEL_SET_USER_MAX (KERNEL_SET_MAX / 2) /* profiles of one user */
#define KERNEL_SET_HINTS_MAX 4096u               /* hints of a set */
#define KERNEL_SET_ANYBODY UINT32_MAX            /* instead of a uid: all users */

/* The device that was measured. Name "?" with 0 SMs: no particular device, as in tables of other
 * tools. */
struct kernel_set_device {
    char name[64];
    uint32_t sms;
};

/* Eviction data of the profile with the same index; scanned to find the profile to evict. */
struct kernel_set_mark {
    uint64_t used; /* a greater number means a later use */
    uint32_t uid;
};

struct kernel_set {
    struct kernel_set_device device;
    struct kernel_profile *items;
    struct kernel_set_mark *marks;
    uint32_t count, cap;
    struct kernel_profile_hint *hints; /* sorted by kernel_profile_hint_order */
    uint32_t hint_count, hint_cap;
    struct slotmap by_key;
    uint64_t uses, seed;
};

/* `seed` should be secret if untrusted clients choose the keys. */
void kernel_set_init(struct kernel_set *s, uint64_t seed);
void kernel_set_finish(struct kernel_set *s);
bool kernel_set_device_same(const struct kernel_set_device *a, const struct kernel_set_device *b);

/* NULL if the set has no such profile. */
const struct kernel_profile *kernel_set_find(const struct kernel_set *s,
                                             const struct kernel_profile_key *key);
/* Stores a profile, replacing the one with the same key. If the set is full, the least recently
 * used profile is evicted; if the user holds half of the set, the user's own. Returns 0 or
 * -ENOMEM. */
int kernel_set_learn(struct kernel_set *s, const struct kernel_profile *p);
/* Adds hints; each replaces the one with the same name and shape. Returns 0, or -ENOSPC or -ENOMEM
 * with no hint added. */
int kernel_set_add_hints(struct kernel_set *s, const struct kernel_profile_hint *hints,
                         uint32_t count);

/* Selects profiles to delete: those of a user (KERNEL_SET_ANYBODY: all users) with a name (NULL:
 * any name). `hints` also selects hints. */
struct kernel_set_filter {
    uint32_t uid;
    const char *name;
    bool hints;
};

bool kernel_set_matches(const struct kernel_set_filter *f, const struct kernel_profile *p);
/* Deletes the selected profiles and hints. Returns their number. */
uint32_t kernel_set_forget(struct kernel_set *s, const struct kernel_set_filter *f);

/* Returns the profiles' indices, least recently used first. The caller frees the array. NULL if
 * memory is short. */
uint32_t *kernel_set_order(const struct kernel_set *s);

#endif
