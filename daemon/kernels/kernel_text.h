/* SPDX-License-Identifier: Apache-2.0
 *
 * Text format of a set of profiles and hints: the broker's file, and the format of `salusctl
 * profile` export and import. The first line has the version and the numbers of profiles and hints.
 * A line for the device follows, then one line per hint, then one line per profile:
 *
 *   salus-kernels 1 1 1
 *   device sms=80 name=Salus software GPU
 *   hint grid=0,0,0 block=0,0,0 sms=40 class=memory compute=0 memory=0 ns=5152 name=at::native::f
 *   kernel func=00f0c3a5d2e14b77 grid=40,1,1 block=128,1,1 shared=0 uid=1000 sms=10 class=memory
 *     source=counted compute=120 memory=871 lone=1 sum=15456 bins=26:3 name=at::native::f
 *
 * (The last two lines are one line in the file.) Profiles are ordered by last use, the oldest
 * first. Pure.
 */
#ifndef DAEMON_KERNELS_KERNEL_TEXT_H
#define DAEMON_KERNELS_KERNEL_TEXT_H

#include <stddef.h>

#include "common/buf.h"
#include "daemon/kernels/kernel_set.h"

#define KERNEL_TEXT_VERSION 1
#define KERNEL_TEXT_BYTES_MAX (48u << 20) /* a full set is shorter */

/* Appends the text to `b`. Sets b->failed if memory is short. */
void kernel_text_print(const struct kernel_set *s, struct buf *b);
/* Fills an initialised, empty set. Returns 0, -ENOMEM, or -EINVAL with the line and the reason in
 * `why` (KERNEL_PROFILE_WHY_BYTES). On failure the set is empty. */
int kernel_text_parse(struct kernel_set *s, const char *text, size_t bytes, char *why);

#endif
