/* SPDX-License-Identifier: Apache-2.0
 *
 * How much memory the processes of this host, and of this control group, can have at the most.
 */
#ifndef COMMON_HOSTMEM_H
#define COMMON_HOSTMEM_H

#include <stdint.h>

#define HOSTMEM_NONE UINT64_MAX

struct hostmem {
    uint64_t ram_bytes, swap_bytes; /* HOSTMEM_NONE, 0: not known */
    /* The tightest limit of our control group and those around it, without swap and with what it
     * leaves of that; HOSTMEM_NONE: none. And the file that says so. */
    uint64_t group_ram_bytes, group_bytes;
    char group_file[512];
};

/* From /proc and /sys/fs/cgroup, of either version; `root` is put before both ("" as a rule). What
 * cannot be read is not known. */
void hostmem_read(struct hostmem *out, const char *root);

/* What all together can have: RAM and swap, or the group's limit where that is less. */
uint64_t hostmem_most(const struct hostmem *m);
/* The same without swap. */
uint64_t hostmem_ram(const struct hostmem *m);

#endif
