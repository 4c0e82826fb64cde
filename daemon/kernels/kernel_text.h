/* SPDX-License-Identifier: Apache-2.0
 *
 * A set of profiles and hints as text: in the broker's file, and as `salusctl profile` exports and
 * imports it. A line with the version and how many profiles and hints there are, a line with the
 * device, a line a hint, a line a profile:
 *   salus-kernels 1 1 1
 *   device sms=80 name=Salus software GPU
 *   hint grid=0,0,0 block=0,0,0 sms=40 class=memory compute=0 memory=0 ns=5152 name=at::native::f
 *   kernel func=00f0c3a5d2e14b77 grid=40,1,1 block=128,1,1 shared=0 uid=1000 sms=10 class=memory
 *     source=counted compute=120 memory=871 lone=1 sum=15456 bins=26:3 name=at::native::f
 * (the last on one line). Profiles are in the order of use, the oldest first. Pure.
 */
#ifndef DAEMON_KERNELS_KERNEL_TEXT_H
#define DAEMON_KERNELS_KERNEL_TEXT_H

#include <stddef.h>

#include "common/buf.h"
#include "daemon/kernels/kernel_set.h"

#define KERNEL_TEXT_VERSION 1
#define KERNEL_TEXT_BYTES_MAX (48u << 20) /* a full set is shorter */

/* Appends; b->failed when memory is short. */
void kernel_text_print(const struct kernel_set *s, struct buf *b);
/* Fills an initialised, empty set: 0; -EINVAL with the reason (KERNEL_PROFILE_WHY_BYTES), which
 * names the line, and the set empty; -ENOMEM, the set empty. */
int kernel_text_parse(struct kernel_set *s, const char *text, size_t bytes, char *why);

#endif
