/* SPDX-License-Identifier: Apache-2.0
 *
 * Solves (X'X + ridge) w = X'y by Cholesky decomposition. The ridge makes the system solvable where
 * columns are linearly dependent.
 */
#include "daemon/predict/learn/linear.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define RIDGE 1.0 /* for columns with a deviation of 1; equals the weight of one more row */

struct system {
    double a[COLUMNS][COLUMNS], b[COLUMNS];
};

static void scale(struct linear *l, const struct columns *x, uint32_t rows) {
    for (unsigned i = 0; i < COLUMNS; i++) {
        double sum = 0, squares = 0;

        for (uint32_t r = 0; r < rows; r++)
            sum += (double)x[r].x[i];
        l->means[i] = sum / rows;
        for (uint32_t r = 0; r < rows; r++)
            squares += pow((double)x[r].x[i] - l->means[i], 2);
        l->scales[i] = squares > 0 ? sqrt(squares / rows) : 1;
    }
}

static double scaled(const struct linear *l, const struct columns *c, unsigned i) {
    return ((double)c->x[i] - l->means[i]) / l->scales[i];
}

static void fill(struct system *s, const struct linear *l, const struct columns *x, const double *y,
                 uint32_t rows) {
    memset(s, 0, sizeof(*s));
    for (unsigned i = 0; i < COLUMNS; i++)
        s->a[i][i] = RIDGE;
    for (uint32_t r = 0; r < rows; r++)
        for (unsigned i = 0; i < COLUMNS; i++) {
            s->b[i] += scaled(l, &x[r], i) * (y[r] - l->intercept);
            for (unsigned k = 0; k < COLUMNS; k++)
                s->a[i][k] += scaled(l, &x[r], i) * scaled(l, &x[r], k);
        }
}

/* Factorises in place: the lower triangle becomes the factor. */
static void factor(struct system *s) {
    for (unsigned i = 0; i < COLUMNS; i++)
        for (unsigned k = 0; k <= i; k++) {
            double sum = s->a[i][k];

            for (unsigned m = 0; m < k; m++)
                sum -= s->a[i][m] * s->a[k][m];
            s->a[i][k] = i == k ? sqrt(fmax(sum, 1e-12)) : sum / s->a[k][k];
        }
}

static void solve(struct system *s, double *w) {
    for (unsigned i = 0; i < COLUMNS; i++) {
        w[i] = s->b[i];
        for (unsigned k = 0; k < i; k++)
            w[i] -= s->a[i][k] * w[k];
        w[i] /= s->a[i][i];
    }
    for (unsigned i = COLUMNS; i-- > 0;) {
        for (unsigned k = i + 1; k < COLUMNS; k++)
            w[i] -= s->a[k][i] * w[k];
        w[i] /= s->a[i][i];
    }
}

int linear_fit(struct linear *l, const struct columns *x, const double *y, uint32_t rows) {
    struct system s;

    if (rows == 0) return -EINVAL;
    *l = (struct linear){0};
    scale(l, x, rows);
    for (uint32_t r = 0; r < rows; r++)
        l->intercept += y[r] / rows;
    fill(&s, l, x, y, rows);
    factor(&s);
    solve(&s, l->weights);
    return 0;
}

double linear_predict(const struct linear *l, const struct columns *c) {
    double sum = l->intercept;

    for (unsigned i = 0; i < COLUMNS; i++)
        sum += l->weights[i] * scaled(l, c, i);
    return sum;
}
