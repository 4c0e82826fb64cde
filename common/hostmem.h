/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory that the processes of this host, and of this control group, can have at most.
 */
#ifndef COMMON_HOSTMEM_H
#define COMMON_HOSTMEM_H

#include <stdint.h>

#define HOSTMEM_NONE UINT64_MAX

struct hostmem {
    uint64_t ram_bytes, swap_bytes; /* HOSTMEM_NONE, 0: unknown */
    /* The tightest limit of our control group and its parents, of RAM alone and of RAM and swap;
     * HOSTMEM_NONE: none. group_file is the file with that limit. */
    uint64_t group_ram_bytes, group_bytes;
    char group_file[512];
};

/* Reads /proc and /sys/fs/cgroup, of either version. `root` is put before both paths ("" in
 * general). Unreadable values are unknown. */
void hostmem_read(struct hostmem *out, const char *root);

/* Memory for all processes together: RAM and swap, or the group's limit if that is less. */
uint64_t hostmem_most(const struct hostmem *m);
/* The same without swap. */
uint64_t hostmem_ram(const struct hostmem *m);

#endif
