/* SPDX-License-Identifier: Apache-2.0
 *
 * The expected results of a program's kernels, as its host reference printed them (reference.h):
 * reads them from a file, prepares inputs, and compares results. Read errors print a message and
 * end the program with status 2.
 */
#ifndef TEST_RANDOM_CASES_H
#define TEST_RANDOM_CASES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define CASES_MAX 64

struct cases_kernel {
    char name[16];
    uint32_t index; /* determines the kernel's inputs, together with the seed */
    uint32_t grid[3], block[3];
    uint32_t shared_bytes; /* dynamic shared memory */
    uint32_t out_words, acc_words;
    uint64_t hash;
};

struct cases {
    uint64_t seed;
    uint32_t count;
    struct cases_kernel kernels[CASES_MAX];
};

void cases_read(struct cases *c, const char *path);
/* Reads a whole file and appends a 0 byte; the caller frees it. */
char *cases_file(const char *path, size_t *bytes);
/* Fills a kernel's memory: INPUTS_WORDS input words, its output, its words for atomics. */
void cases_prepare(const struct cases *c, const struct cases_kernel *k, uint32_t *in, uint64_t *out,
                   uint64_t *acc, uint64_t scalars[4]);
/* Returns whether the results are correct; also writes them to `dump` unless it is NULL. */
int cases_check(const struct cases_kernel *k, const uint64_t *out, const uint64_t *acc, FILE *dump);

#endif
