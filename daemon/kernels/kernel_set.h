/* SPDX-License-Identifier: Apache-2.0
 *
 * The profiles of kernels and the hints about them that are known of one device: a bounded set in
 * the order of use, in which no user can take more than half of the room from the others. Pure.
 * Owner: the caller.
 */
#ifndef DAEMON_KERNELS_KERNEL_SET_H
#define DAEMON_KERNELS_KERNEL_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "common/slotmap.h"
#include "daemon/kernels/kernel_profile.h"

#define KERNEL_SET_MAX 16384u
#define KERNEL_SET_USER_MAX (KERNEL_SET_MAX / 2)
#define KERNEL_SET_HINTS_MAX 4096u
#define KERNEL_SET_ANYBODY UINT32_MAX

/* Which device this was measured on; "?" with 0 SMs: none in particular, as tables of other tools.
 */
struct kernel_set_device {
    char name[64];
    uint32_t sms;
};

/* Of the profile with the same number: what is looked through to find the one that has to go. */
struct kernel_set_mark {
    uint64_t used; /* greater: later */
    uint32_t uid;
};

struct kernel_set {
    struct kernel_set_device device;
    struct kernel_profile *items;
    struct kernel_set_mark *marks;
    uint32_t count, cap;
    struct kernel_profile_hint *hints; /* in the order of kernel_profile_hint_order */
    uint32_t hint_count, hint_cap;
    struct slotmap by_key;
    uint64_t uses, seed;
};

/* `seed` should be a secret where strangers choose keys. */
void kernel_set_init(struct kernel_set *s, uint64_t seed);
void kernel_set_finish(struct kernel_set *s);
bool kernel_set_device_same(const struct kernel_set_device *a, const struct kernel_set_device *b);

/* NULL: none. */
const struct kernel_profile *kernel_set_find(const struct kernel_set *s,
                                             const struct kernel_profile_key *key);
/* In place of what was known of this kernel. Where there is no room the one whose use is longest
 * ago goes; the user's own where half of the set is theirs. 0 or -ENOMEM. */
int kernel_set_learn(struct kernel_set *s, const struct kernel_profile *p);
/* Each in place of the hint of the same name and shape. 0; -ENOSPC, -ENOMEM with none of them
 * taken.
 */
int kernel_set_add_hints(struct kernel_set *s, const struct kernel_profile_hint *hints,
                         uint32_t count);

/* What to forget: a user's (KERNEL_SET_ANYBODY: everybody's) profiles of a name (NULL: every), and
 * hints of it as well. */
struct kernel_set_filter {
    uint32_t uid;
    const char *name;
    bool hints;
};

bool kernel_set_matches(const struct kernel_set_filter *f, const struct kernel_profile *p);
/* How many went. */
uint32_t kernel_set_forget(struct kernel_set *s, const struct kernel_set_filter *f);

/* The items' numbers, oldest use first, for the caller to free; NULL: out of memory. */
uint32_t *kernel_set_order(const struct kernel_set *s);

#endif
