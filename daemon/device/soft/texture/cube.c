/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/device/soft/texture/cube.h"

#include <math.h>

/* A face: the axis that is perpendicular to it, and the axes along s and t, with their signs. */
static const struct side {
    int8_t axis, s, t;
    int8_t axis_sign, s_sign, t_sign;
} sides[CUBE_FACES] = {
    {0, 2, 1, 1, -1, -1}, {0, 2, 1, -1, 1, -1}, {1, 0, 2, 1, 1, 1},
    {1, 0, 2, -1, 1, -1}, {2, 0, 1, 1, 1, -1},  {2, 0, 1, -1, -1, -1},
};

/* Returns the face that a direction meets. Of equal components the first counts. */
static uint32_t face_of(const float d[3]) {
    float x = fabsf(d[0]), y = fabsf(d[1]), z = fabsf(d[2]);
    uint32_t axis = x >= y && x >= z ? 0 : y >= z ? 1 : 2;
    return 2 * axis + (signbit(d[axis]) != 0);
}

uint32_t cube_face(const float d[3], float at[2]) {
    const uint32_t face = face_of(d);
    const struct side *f = &sides[face];
    const float m = fabsf(d[f->axis]);
    at[0] = ((float)f->s_sign * d[f->s] / m + 1) / 2;
    at[1] = ((float)f->t_sign * d[f->t] / m + 1) / 2;
    return face;
}

/* Computes the derivative by the quotient rule. */
void cube_derivative(const float d[3], const float moves[3], float out[2]) {
    const struct side *f = &sides[face_of(d)];
    const float m = fabsf(d[f->axis]), dm = (float)f->axis_sign * moves[f->axis];
    const float s = (float)f->s_sign * d[f->s], t = (float)f->t_sign * d[f->t];
    out[0] = ((float)f->s_sign * moves[f->s] * m - s * dm) / (m * m) / 2;
    out[1] = ((float)f->t_sign * moves[f->t] * m - t * dm) / (m * m) / 2;
}

static int64_t inside(int64_t i, int64_t n) {
    return i < 0 ? 0 : i < n ? i : n - 1;
}

/* At a corner, where three faces meet, the face across the edge along t is taken. */
void cube_across(uint32_t n, uint32_t *face, int64_t *x, int64_t *y) {
    const struct side *f = &sides[*face];
    if (*x < 0 || *x >= n) *y = inside(*y, n);
    float d[3], at[2];
    d[f->axis] = f->axis_sign;
    d[f->s] = (float)f->s_sign * (2 * ((float)*x + 0.5f) / (float)n - 1);
    d[f->t] = (float)f->t_sign * (2 * ((float)*y + 0.5f) / (float)n - 1);
    *face = cube_face(d, at);
    *x = inside((int64_t)floorf(at[0] * (float)n), n);
    *y = inside((int64_t)floorf(at[1] * (float)n), n);
}
