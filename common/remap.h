/* SPDX-License-Identifier: Apache-2.0
 *
 * Pages that show another file from now on, at once: whoever uses them meanwhile, on any thread,
 * sees the one or the other and never a gap. Addresses belong to the caller.
 */
#ifndef COMMON_REMAP_H
#define COMMON_REMAP_H

#include <stdint.h>

/* [addr, addr + bytes), whole pages, show `fd` from `offset` on, shared, readable and writable; not
 * inherited by children, not in core files. -errno: they show what they did, or, where the kernel
 * lost them on the way (before 6.12), nothing: remap_fill. */
int remap_file(uint64_t addr, uint64_t bytes, int fd, uint64_t offset);

/* The same with what is mapped shared at `from`, which stays mapped there; no descriptor is
 * needed. */
int remap_alias(uint64_t addr, uint64_t bytes, uint64_t from);

/* After an error: the file where nothing is mapped at all. 0 also where something is. */
int remap_fill(uint64_t addr, uint64_t bytes, int fd, uint64_t offset);

#endif
