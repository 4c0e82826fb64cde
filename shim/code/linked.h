/* SPDX-License-Identifier: Apache-2.0
 *
 * The image that a link at run time produces. The format is our own: a header, then the part that
 * is sent to the worker: an empty fatbin in place of linked machine code, and one fatbin for each
 * unit. The image is in one piece, so that programs may copy it and write it to files. Pure.
 */
#ifndef SHIM_CODE_LINKED_H
#define SHIM_CODE_LINKED_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

/* No fatbin, ELF file or text begins with this number. */
#define LINKED_MAGIC 0x4b4c5a1eu

/* The whole length of the linked image that begins here; 0: there is none, or it is longer than
 * `most`. */
uint64_t linked_bytes(const void *data, uint64_t most);

/* The part of an image that is sent to the worker, and the units alone. */
const void *linked_chain(const void *image, uint64_t *bytes);
const void *linked_units(const void *image, uint64_t *bytes);

/* Write an image: the beginning into an empty buffer, then fatbins, then the end. */
void linked_begin(struct buf *image);
void linked_append_ptx(struct buf *image, const char *text, size_t bytes, uint32_t target);
void linked_end(struct buf *image);

#endif
