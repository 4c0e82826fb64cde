/* SPDX-License-Identifier: Apache-2.0
 *
 * How long the code is that a program points to. The driver's interface passes no length: it has to
 * be read from the image's own headers, which may reach beyond what the program can read. Any
 * thread.
 */
#ifndef SHIM_CODE_FATBIN_H
#define SHIM_CODE_FATBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FATBIN_BYTES_MAX (4ull << 30)

/* Bytes that fatbin_copy writes for a wrapper, a fatbin, a linked image (linked.h), an ELF file or
 * PTX text (its NUL counted);
 * 0 when it is none of these, its headers cannot be, or its end cannot be read. */
size_t fatbin_measure(const void *code);

/* The same for bytes that came from a file, where headers may say anything: 0 when the image is not
 * whole within `bytes`. No wrappers. A NUL must stand behind the bytes. */
size_t fatbin_measure_within(const void *code, size_t bytes);

/* Whether it is NVIDIA's Tile IR, which a driver from 13.1 on compiles: cuBLAS has it beside PTX.
 */
bool fatbin_is_tile(const void *code);
/* Of several devices' code, as fatbin_copy has it. */
bool fatbin_is_one(const void *code);

/* The image as it travels: a wrapper is replaced by the fatbins it names, one behind the other, a
 * linked image by its fatbins. `bytes`: by fatbin_measure. -EFAULT where a part of it cannot be
 * read, or its length is another one by now. */
int fatbin_copy(const void *code, void *to, size_t bytes);

/* Where the image stands in one piece in the program's own memory, or NULL. */
const void *fatbin_in_place(const void *code);

/* The length of the fatbin at the beginning of `bytes`; 0: there is none, or not all of it. */
size_t fatbin_container_bytes(const void *data, size_t bytes);
/* True if this fatbin, of which `bytes` can be read, has PTX for a device of this capability (90
 * for 9.0). */
bool fatbin_has_ptx(const void *fatbin, size_t bytes, uint32_t capability);

#endif
