/* SPDX-License-Identifier: Apache-2.0
 *
 * One element of a texture: the words that a fetch without a filter puts into registers, or the
 * numbers that a filter takes. Channels that it does not have are 0, the fourth is 1. Pure.
 */
#ifndef DAEMON_DEVICE_SOFT_EXEC_TEXEL_H
#define DAEMON_DEVICE_SOFT_EXEC_TEXEL_H

#include "daemon/device/soft/exec/textures.h"

/* `at`: element_bytes of the client's memory. */
void texel_words(const struct texture *t, uint64_t at, uint32_t out[4]);
void texel_numbers(const struct texture *t, uint64_t at, double out[4]);

/* What lies around the texture. */
void texel_border_words(const struct texture *t, uint32_t out[4]);
void texel_border_numbers(const struct texture *t, double out[4]);

#endif
