/* SPDX-License-Identifier: Apache-2.0
 *
 * Elements of a texture, one per lane. A channel is read either as the word that an unfiltered
 * fetch puts into a register, or as the number that a filter takes. Pure.
 */
#ifndef DAEMON_DEVICE_SOFT_ISA_TEXTURE_TEXEL_H
#define DAEMON_DEVICE_SOFT_ISA_TEXTURE_TEXEL_H

#include "daemon/device/soft/code/code.h"
#include "daemon/device/soft/isa/arithmetic/isa.h"
#include "daemon/device/soft/texture/textures.h"

struct texel {
    const struct texture *texture;
    uint64_t at[WARP_LANES]; /* addresses of element_bytes each in the client's memory */
    uint32_t border;         /* lanes that take the border colour instead */
};

/* Reads one channel that the elements have. */
void ISA_FN(texel_words)(const struct texel *t, uint32_t channel, uint32_t out[WARP_LANES]);
/* Reads all channels that the elements have, at once. */
void ISA_FN(texel_all_words)(const struct texel *t, uint32_t out[4][WARP_LANES]);
void ISA_FN(texel_numbers)(const struct texel *t, uint32_t channel, double out[WARP_LANES]);

/* Value of a channel that the elements do not have: 0, or 1 for the fourth. */
uint32_t ISA_FN(texel_missing)(const struct texture *t, uint32_t channel);

#endif
