/* SPDX-License-Identifier: Apache-2.0
 *
 * A model's program on libsalus-serve: "y" is "a" + "b", FP32, for all requests of a batch at once.
 * It fails a batch with a first element below zero.
 */
#include <stdio.h>
#include <stdlib.h>

#include "daemon/serve/model/salus_serve.h"

static int add(struct salus_serve *s) {
    struct salus_serve_tensor a, b;
    const float *x, *z;
    float *y;
    int err;

    if (salus_serve_joined(s, "a", &a) || salus_serve_joined(s, "b", &b)) return -1;
    x = a.data;
    z = b.data;
    if (x[0] < 0) return salus_serve_failed(s, "it is negative");
    y = malloc(a.bytes);
    if (!y) return -1;
    for (size_t i = 0; i < a.bytes / sizeof(*y); i++)
        y[i] = x[i] + z[i];
    err = salus_serve_answer(s, "y", "FP32", a.rank, a.shape, y);
    free(y);
    return err ? err : salus_serve_done(s);
}

int main(void) {
    struct salus_serve *s = salus_serve_open();
    int err = 0;

    while (!err && salus_serve_next(s) > 0)
        err = add(s);
    if (*salus_serve_error(s)) fprintf(stderr, "%s\n", salus_serve_error(s));
    err = *salus_serve_error(s) != 0;
    salus_serve_close(s);
    return err;
}
