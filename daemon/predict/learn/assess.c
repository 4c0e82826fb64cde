/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/predict/learn/assess.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/predict/learn/boost.h"
#include "daemon/predict/learn/linear.h"

/* Scratch for assessing a regressor: the selected rows, and the predictions for all rows. */
struct assess {
    const struct rows *r;
    struct complaint *why;
    struct columns *x;
    double *y;
    double *boost, *linear, *mean; /* predicted utilisation, 0 to 1 */
    double *some;                  /* values for a median, or of one family */
};

double assess_rmsle(const double *predicted, const double *measured, uint32_t count) {
    double sum = 0;

    for (uint32_t i = 0; i < count; i++)
        sum += pow(predictor_logarithm(predicted[i]) - predictor_logarithm(measured[i]), 2);
    return count ? sqrt(sum / count) : 0;
}

/* Copies the rows of all families except `but` into x and y. */
static uint32_t gather(struct assess *a, uint32_t but) {
    uint32_t count = 0;

    for (uint32_t i = 0; i < a->r->count; i++)
        if (a->r->family[i] != but) {
            a->x[count] = a->r->x[i];
            a->y[count++] = predictor_logarithm(a->r->utilisation[i]);
        }
    return count;
}

static int leave_out(struct assess *a, uint32_t family) {
    uint32_t count = gather(a, family);
    struct forest f = {0};
    struct linear l;
    double mean = 0;
    int err = boost_train(&f, a->x, a->y, count, NULL, a->why);

    if (!err) err = linear_fit(&l, a->x, a->y, count);
    for (uint32_t i = 0; i < count; i++)
        mean += a->y[i] / count;
    for (uint32_t i = 0; i < a->r->count && !err; i++) {
        if (a->r->family[i] != family) continue;
        a->boost[i] = predictor_part(forest_predict(&f, &a->r->x[i]));
        a->linear[i] = predictor_part(linear_predict(&l, &a->r->x[i]));
        a->mean[i] = predictor_part(mean);
    }
    forest_finish(&f);
    return err;
}

static void describe_family(struct assess *a, struct predictor *p, uint32_t family) {
    struct predictor_family *f = &p->families[p->families_count++];
    double squares = 0;

    memcpy(f->name, a->r->families[family], sizeof(f->name));
    for (uint32_t i = 0; i < a->r->count; i++)
        if (a->r->family[i] == family) {
            squares += pow(assess_rmsle(&a->boost[i], &a->r->utilisation[i], 1), 2);
            f->rows++;
        }
    f->rmsle = f->rows ? sqrt(squares / f->rows) : 0;
}

/* ---- memory -----------------------------------------------------------------------------------
 */

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *numbers, uint32_t count) {
    if (count == 0) return 0;
    qsort(numbers, count, sizeof(*numbers), by_size);
    return numbers[count / 2];
}

static void describe_memory(struct assess *a, struct predictor *p) {
    const struct rows *r = a->r;
    uint32_t count = 0;

    for (uint32_t i = 0; i < r->count; i++)
        if (r->persistent[i] > 0 && r->persistent_2[i] > 0)
            a->some[count++] = fmax(0, r->persistent[i] - r->persistent_2[i]);
    p->delta_bytes = floor(median(a->some, count));
    count = 0;
    for (uint32_t i = 0; i < r->count; i++)
        if (r->ephemeral[i] > 0 && r->ephemeral_2[i] > 0)
            a->some[count++] = r->ephemeral[i] - r->ephemeral_2[i];
    p->ephemeral_delta_bytes = floor(median(a->some, count));
}

static void describe(struct assess *a, struct predictor *p) {
    const struct rows *r = a->r;

    memcpy(p->device, r->device, sizeof(p->device));
    p->rows = r->count;
    p->rmsle = assess_rmsle(a->boost, r->utilisation, r->count);
    p->linear_rmsle = assess_rmsle(a->linear, r->utilisation, r->count);
    p->mean_rmsle = assess_rmsle(a->mean, r->utilisation, r->count);
    for (uint32_t i = 0; i < r->families_count; i++)
        describe_family(a, p, i);
    for (unsigned k = 0; k < COLUMNS; k++) {
        p->least[k] = p->most[k] = r->x[0].x[k];
        for (uint32_t i = 1; i < r->count; i++) {
            if (r->x[i].x[k] < p->least[k]) p->least[k] = r->x[i].x[k];
            if (r->x[i].x[k] > p->most[k]) p->most[k] = r->x[i].x[k];
        }
    }
    describe_memory(a, p);
}

static int train(struct assess *a, struct predictor *p) {
    uint32_t count;
    int err = 0;

    for (uint32_t i = 0; i < a->r->families_count && !err; i++)
        err = leave_out(a, i);
    if (err) return err;
    count = gather(a, UINT32_MAX);
    err = boost_train(&p->forest, a->x, a->y, count, NULL, a->why);
    if (!err) describe(a, p);
    return err;
}

int assess_train(struct predictor *p, const struct rows *r, double *each, struct complaint *why) {
    struct assess a = {.r = r, .why = why};
    double *numbers = calloc(r->count + 1, 5 * sizeof(*numbers));
    int err = -EINVAL;

    *p = (struct predictor){0};
    a.x = calloc(r->count + 1, sizeof(*a.x));
    if (r->families_count < 2)
        complaint_say(why, "the table must have models of at least two families, so that each can "
                           "be left out once");
    else if (!a.x || !numbers)
        err = complaint_memory(why);
    else {
        a.y = numbers;
        a.boost = a.y + r->count;
        a.linear = a.boost + r->count;
        a.mean = a.linear + r->count;
        a.some = a.mean + r->count;
        err = train(&a, p);
    }
    if (!err && each) memcpy(each, a.boost, r->count * sizeof(*each));
    free(a.x);
    free(numbers);
    return err;
}
