/* SPDX-License-Identifier: Apache-2.0
 *
 * A model's program that takes the time that its requests name: "y" is "ms" doubled, INT32, after
 * the largest "ms" of the batch in milliseconds. -1: the batch fails; -2: the program ends. For a
 * request alone in its batch, -3: it fails; -4: the program ends; -5: it is never answered.
 * slow [MS]: the first batch takes this much longer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "daemon/serve/model/salus_serve.h"

/* Fails a batch that must not be alone. Returns whether it did. */
static int is_lonely(struct salus_serve *s, int32_t ms) {
    if (salus_serve_size(s) > 1 || ms > -3) return 0;
    if (ms == -4) abort();
    while (ms == -5)
        pause();
    return salus_serve_failed(s, "it was told to fail alone") == 0;
}

static void wait_ms(long ms) {
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL);
}

static int wait_and_double(struct salus_serve *s) {
    struct salus_serve_tensor ms;
    int32_t longest = 0, *y;
    int err = salus_serve_joined(s, "ms", &ms);
    size_t count = ms.bytes / sizeof(*y);
    const int32_t *x = ms.data;

    if (err || is_lonely(s, *x)) return err;
    if (!(y = malloc(ms.bytes))) return -1;
    for (size_t i = 0; i < count; i++) {
        if (x[i] == -1) {
            free(y);
            return salus_serve_failed(s, "it was told to fail");
        }
        if (x[i] == -2) abort();
        if (x[i] > longest) longest = x[i];
        y[i] = 2 * x[i];
    }
    wait_ms(longest);
    err = salus_serve_answer(s, "y", "INT32", ms.rank, ms.shape, y);
    free(y);
    return err ? err : salus_serve_done(s);
}

int main(int argc, char **argv) {
    struct salus_serve *s = salus_serve_open();
    long more_ms = argc > 1 ? atol(argv[1]) : 0;
    int err = 0;

    while (!err && salus_serve_next(s) > 0) {
        wait_ms(more_ms);
        more_ms = 0;
        err = wait_and_double(s);
    }
    if (*salus_serve_error(s)) fprintf(stderr, "%s\n", salus_serve_error(s));
    err = *salus_serve_error(s) != 0;
    salus_serve_close(s);
    return err;
}
