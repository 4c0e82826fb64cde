/* SPDX-License-Identifier: Apache-2.0
 *
 * The expected results of a program's kernels, as its host reference printed them (reference.h):
 * read from a file, prepared, compared. Failures to read print and end the program with status 2.
 */
#ifndef TEST_RANDOM_CASES_H
#define TEST_RANDOM_CASES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define CASES_MAX 64

struct cases_kernel {
    char name[16];
    uint32_t index; /* determines its inputs, together with the seed */
    uint32_t grid[3], block[3];
    uint32_t shared_bytes; /* dynamic */
    uint32_t out_words, acc_words;
    uint64_t hash;
};

struct cases {
    uint64_t seed;
    uint32_t count;
    struct cases_kernel kernels[CASES_MAX];
};

void cases_read(struct cases *c, const char *path);
/* A whole file, a 0 behind it; the caller frees. */
char *cases_file(const char *path, size_t *bytes);
/* Fills what a kernel is given: INPUTS_WORDS words, its output, its words for atomics. */
void cases_prepare(const struct cases *c, const struct cases_kernel *k, uint32_t *in, uint64_t *out,
                   uint64_t *acc, uint64_t scalars[4]);
/* Returns whether the results are right; they go to `dump` as well, unless that is NULL. */
int cases_check(const struct cases_kernel *k, const uint64_t *out, const uint64_t *acc, FILE *dump);

#endif
