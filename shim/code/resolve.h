/* SPDX-License-Identifier: Apache-2.0
 *
 * Resolves names to kernels. The worker is asked once for a kernel's attributes, which are then
 * stored.
 */
#ifndef SHIM_CODE_RESOLVE_H
#define SHIM_CODE_RESOLVE_H

#include <stdint.h>

#include "shim/code/function.h"

struct image;

/* Makes the kernel usable: after a reset the worker must be asked again. */
CUresult resolve_ready_slow(struct function *f);
static inline CUresult resolve_ready(struct function *f) {
    return __builtin_expect(atom_load_acquire(&f->ready), 1) ? CUDA_SUCCESS : resolve_ready_slow(f);
}

/* Finds or creates the kernel of this name. The caller has entered (image_enter). */
CUresult resolve_get(struct image *image, const char *name, struct function **out);
/* Finds the first `count` kernels of the image. */
CUresult resolve_all(struct image *image, void **handles, uint32_t count);

#endif
