/* SPDX-License-Identifier: Apache-2.0
 *
 * Cubemaps: six faces around the origin, of which a direction meets one. The table is that of the
 * CUDA C++ Programming Guide ("Cubemap Textures"). Pure.
 */
#ifndef DAEMON_DEVICE_SOFT_TEXTURE_CUBE_H
#define DAEMON_DEVICE_SOFT_TEXTURE_CUBE_H

#include <stdint.h>

#define CUBE_FACES 6

/* The face (0 to 5: +x -x +y -y +z -z) and where on it, from 0 to 1. */
uint32_t cube_face(const float direction[3], float at[2]);

/* How fast that place moves on the face where the direction does. */
void cube_derivative(const float direction[3], const float moves[3], float out[2]);

/* The element across the edge of a face of `n` x `n`, for one that is outside of it by less than a
 * face. */
void cube_across(uint32_t n, uint32_t *face, int64_t *x, int64_t *y);

#endif
