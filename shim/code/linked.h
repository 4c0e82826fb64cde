/* SPDX-License-Identifier: Apache-2.0
 *
 * The image that a link at run time makes. It is our own: a header, and behind it what the worker
 * is sent, an empty fatbin in place of linked machine code and one fatbin for each unit. In one
 * piece, so that programs may copy it and write it to files. Pure.
 */
#ifndef SHIM_CODE_LINKED_H
#define SHIM_CODE_LINKED_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

/* No fatbin, no ELF file, no text begins like this. */
#define LINKED_MAGIC 0x4b4c5a1eu

/* The whole length of the linked image that begins here; 0: none does, or it has more than `most`.
 */
uint64_t linked_bytes(const void *data, uint64_t most);

/* What the worker is sent of one, and in it the units alone. */
const void *linked_chain(const void *image, uint64_t *bytes);
const void *linked_units(const void *image, uint64_t *bytes);

/* Writing one: the beginning into an empty buffer, fatbins, the end. */
void linked_begin(struct buf *image);
void linked_append_ptx(struct buf *image, const char *text, size_t bytes, uint32_t target);
void linked_end(struct buf *image);

#endif
