/* SPDX-License-Identifier: Apache-2.0
 *
 * Atomically replaces pages by those of another file: threads that use the pages meanwhile see
 * either the old or the new, and never a gap. Addresses belong to the caller.
 */
#ifndef COMMON_REMAP_H
#define COMMON_REMAP_H

#include <stdint.h>

/* Maps `fd` from `offset` on at [addr, addr + bytes), whole pages: shared, readable and writable,
 * not inherited by children, not in core files. On -errno the old mapping is there, or, if the
 * kernel lost it on the way (before 6.12), nothing; then call remap_fill. */
int remap_file(uint64_t addr, uint64_t bytes, int fd, uint64_t offset);

/* As remap_file, but maps the same memory as the shared mapping at `from`, which stays. Needs no
 * descriptor. */
int remap_alias(uint64_t addr, uint64_t bytes, uint64_t from);

/* Called after an error: maps the file if nothing is mapped there. Returns 0 also if something
 * is. */
int remap_fill(uint64_t addr, uint64_t bytes, int fd, uint64_t offset);

#endif
