/* SPDX-License-Identifier: Apache-2.0
 *
 * Cubemaps: six faces around the origin; a direction meets one of them. The table is that of the
 * CUDA C++ Programming Guide ("Cubemap Textures"). Pure.
 */
#ifndef DAEMON_DEVICE_SOFT_TEXTURE_CUBE_H
#define DAEMON_DEVICE_SOFT_TEXTURE_CUBE_H

#include <stdint.h>

#define CUBE_FACES 6

/* Returns the face (0 to 5: +x -x +y -y +z -z), and in `at` the position on it, from 0 to 1. */
uint32_t cube_face(const float direction[3], float at[2]);

/* Derivative of the position on the face, for a derivative of the direction. */
void cube_derivative(const float direction[3], const float moves[3], float out[2]);

/* Finds the element of the neighbouring face for a position that is less than `n` elements beyond
 * the edge of a face of `n` x `n` elements. */
void cube_across(uint32_t n, uint32_t *face, int64_t *x, int64_t *y);

#endif
