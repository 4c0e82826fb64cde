/* SPDX-License-Identifier: Apache-2.0
 *
 * See cases.h.
 */
#include "test/random/cases.h"

#include <inttypes.h>
#include <stdlib.h>

#include "test/random/language/inputs.h"

static void die(const char *path, const char *what) {
    fprintf(stderr, "cases: %s: %s\n", path, what);
    exit(2);
}

char *cases_file(const char *path, size_t *bytes) {
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END)) die(path, "cannot be opened");
    const long size = ftell(f);
    rewind(f);
    char *text = malloc((size_t)size + 1);
    if (!text || fread(text, 1, (size_t)size, f) != (size_t)size) die(path, "cannot be read");
    fclose(f);
    text[size] = 0;
    *bytes = (size_t)size;
    return text;
}

static int read_line(FILE *f, struct cases_kernel *k) {
    return fscanf(f, "%15s %u %u %u %u %u %u %u %u %u %u %" SCNx64, k->name, &k->index, &k->grid[0],
                  &k->grid[1], &k->grid[2], &k->block[0], &k->block[1], &k->block[2],
                  &k->shared_bytes, &k->out_words, &k->acc_words, &k->hash) == 12;
}

void cases_read(struct cases *c, const char *path) {
    FILE *f = fopen(path, "r");
    if (!f) die(path, "cannot be opened");
    if (fscanf(f, "seed %" SCNu64, &c->seed) != 1) die(path, "says no seed");
    for (c->count = 0; c->count < CASES_MAX && read_line(f, &c->kernels[c->count]);)
        c->count++;
    if (!c->count) die(path, "names no kernel");
    fclose(f);
}

void cases_prepare(const struct cases *c, const struct cases_kernel *k, uint32_t *in, uint64_t *out,
                   uint64_t *acc, uint64_t scalars[4]) {
    inputs_fill(in, c->seed, k->index);
    inputs_fill_acc(acc, k->acc_words, c->seed, k->index);
    inputs_scalars(scalars, c->seed, k->index);
    for (uint32_t w = 0; w < k->out_words; w++)
        out[w] = INPUTS_UNTOUCHED;
}

int cases_check(const struct cases_kernel *k, const uint64_t *out, const uint64_t *acc,
                FILE *dump) {
    if (dump) {
        fwrite(out, 8, k->out_words, dump);
        fwrite(acc, 8, k->acc_words, dump);
    }
    return inputs_hash(inputs_hash(0, out, k->out_words), acc, k->acc_words) == k->hash;
}
