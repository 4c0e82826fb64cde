/* SPDX-License-Identifier: Apache-2.0
 *
 * The inputs of a link at run time: PTX, fatbins, host objects and archives of these. They are
 * stored as an image with one fatbin for each unit, which the worker joins when the image is
 * loaded. The software GPU runs PTX: an input without PTX for the device is refused with the
 * reason. In an archive such a member is skipped, because a link takes only what it needs. Inputs
 * are copied, and may hold anything. Pure; one thread at a time.
 */
#ifndef SHIM_CODE_LINK_H
#define SHIM_CODE_LINK_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "proto/cuda/cuda_abi.h"

#define LINK_WHY_BYTES 256

struct link {
    uint32_t capability; /* the device's capability, as the linking program is told: 90 for 9.0 */
    struct buf image;    /* a linked image (linked.h), without its end */
};

void link_init(struct link *l, uint32_t capability);
void link_finish(struct link *l);

/* Adds an input. `name`: for messages, or NULL. An error is one that CUDA documents for
 * cuLinkAddData, and adds nothing. `why` has LINK_WHY_BYTES. */
CUresult link_add(struct link *l, CUjitInputType type, const void *data, size_t bytes,
                  const char *name, char *why);

/* Returns the image, in a form that fatbin_measure accepts. The link owns it, until the link
 * changes. NULL when nothing was added, or when out of memory. */
const void *link_image(struct link *l, size_t *bytes);

#endif
