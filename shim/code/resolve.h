/* SPDX-License-Identifier: Apache-2.0
 *
 * Names to kernels. What the worker knows about a kernel is asked once and kept.
 */
#ifndef SHIM_CODE_RESOLVE_H
#define SHIM_CODE_RESOLVE_H

#include <stdint.h>

#include "shim/code/function.h"

struct image;

/* The kernel, usable: after a reset the worker has to be asked again. */
CUresult resolve_ready_slow(struct function *f);
static inline CUresult resolve_ready(struct function *f) {
    return __builtin_expect(atom_load_acquire(&f->ready), 1) ? CUDA_SUCCESS : resolve_ready_slow(f);
}

/* Entered (image_enter). */
CUresult resolve_get(struct image *image, const char *name, struct function **out);
/* The first `count` of the image. */
CUresult resolve_all(struct image *image, void **handles, uint32_t count);

#endif
