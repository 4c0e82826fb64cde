/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures the code that a program points to. The driver's interface passes no length: it must be
 * read from the image's own headers, which may reach beyond the readable memory. Any thread.
 */
#ifndef SHIM_CODE_FATBIN_H
#define SHIM_CODE_FATBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FATBIN_BYTES_MAX (4ull << 30)

/* The bytes that fatbin_copy writes for a wrapper, a fatbin, a linked image (linked.h), an ELF file
 * or PTX text (with its NUL). 0 for anything else, for invalid headers, and for an end that cannot
 * be read. */
size_t fatbin_measure(const void *code);

/* The same for bytes from a file, whose headers cannot be trusted: 0 when the image is not complete
 * within `bytes`. Wrappers are not accepted. A NUL must follow the bytes. */
size_t fatbin_measure_within(const void *code, size_t bytes);

/* True for NVIDIA's Tile IR, which drivers since 13.1 compile: cuBLAS has it next to PTX. */
bool fatbin_is_tile(const void *code);
/* True for a fatbin, which can hold code for several devices, as fatbin_copy writes it. */
bool fatbin_is_one(const void *code);

/* Copies the image in the form that is sent: a wrapper becomes its fatbins, one after the other; a
 * linked image becomes its fatbins. `bytes`: from fatbin_measure. -EFAULT when a part of the image
 * cannot be read, or its length has changed. */
int fatbin_copy(const void *code, void *to, size_t bytes);

/* Returns the address at which the image lies in one piece in the program's own memory, or NULL. */
const void *fatbin_in_place(const void *code);

/* The length of the fatbin at the beginning of `bytes`; 0: there is none, or it is incomplete. */
size_t fatbin_container_bytes(const void *data, size_t bytes);
/* True if this fatbin, of which `bytes` can be read, has PTX for a device of this capability (90
 * for 9.0). */
bool fatbin_has_ptx(const void *fatbin, size_t bytes, uint32_t capability);

#endif
