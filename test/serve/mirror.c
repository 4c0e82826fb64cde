/* SPDX-License-Identifier: Apache-2.0
 *
 * A model's program that gives each request its inputs back, under their own names.
 */
#include <stdio.h>
#include <string.h>

#include "daemon/serve/model/salus_serve.h"

static int mirror_one(struct salus_serve *s, int request, const char *name) {
    struct salus_serve_tensor in;
    void *out;

    if (salus_serve_input(s, request, name, &in)) return -1;
    out = salus_serve_output(s, request, name, in.datatype, in.rank, in.shape, in.bytes);
    if (!out) return -1;
    memcpy(out, in.data, in.bytes);
    return 0;
}

static int mirror(struct salus_serve *s) {
    for (int i = 0; i < salus_serve_size(s); i++)
        for (int k = 0; k < salus_serve_inputs(s); k++)
            if (mirror_one(s, i, salus_serve_input_name(s, k))) return -1;
    return salus_serve_done(s);
}

int main(void) {
    struct salus_serve *s = salus_serve_open();

    while (salus_serve_next(s) > 0)
        if (mirror(s)) break;
    if (*salus_serve_error(s)) fprintf(stderr, "%s\n", salus_serve_error(s));
    salus_serve_close(s);
    return 0;
}
