/* SPDX-License-Identifier: Apache-2.0
 *
 * What a link at run time is given: PTX, fatbins, host objects and archives of these, kept as an
 * image with one fatbin for each unit, which the worker joins when it is loaded. The software GPU
 * runs PTX: an input that has none for the device is refused with the reason, but in an archive,
 * of which a link takes what it needs, it is passed over. Inputs are copied, and may hold anything.
 * Pure; one thread at a time.
 */
#ifndef SHIM_CODE_LINK_H
#define SHIM_CODE_LINK_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "proto/cuda/cuda_abi.h"

#define LINK_WHY_BYTES 256

struct link {
    uint32_t capability; /* of the device, as whoever links is told: 90 for 9.0 */
    struct buf image;    /* a linked image (linked.h), without its end */
};

void link_init(struct link *l, uint32_t capability);
void link_finish(struct link *l);

/* `name`: for people, or NULL. An error is one of those that CUDA documents for cuLinkAddData, and
 * adds nothing; `why` has LINK_WHY_BYTES. */
CUresult link_add(struct link *l, CUjitInputType type, const void *data, size_t bytes,
                  const char *name, char *why);

/* What fatbin_measure takes for an image; the link's, until it changes. NULL when nothing was
 * added, or without memory. */
const void *link_image(struct link *l, size_t *bytes);

#endif
