/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a program's kernels on the host and prints the expected result of each: one line per kernel,
 * which cases.h reads. Also writes all results to a file, if one is named.
 */
#ifndef TEST_RANDOM_REFERENCE_H
#define TEST_RANDOM_REFERENCE_H

#include "test/random/language/inputs.h"

struct reference {
    const char *name;
    void (*kernel)(PARAMETERS);
    dim grid, block;
    u32 shared_bytes, out_words, acc_words, index;
};

static struct {
    void (*kernel)(PARAMETERS);
    alignas(16) u32 in[INPUTS_WORDS];
    uint64_t *out, *acc;
    uint64_t scalars[4];
    mixed m;
} reference_call;

static void reference_thread(void) {
    reference_call.kernel(reference_call.in, (u64 *)reference_call.out, (u64 *)reference_call.acc,
                          (u8)reference_call.scalars[0], (u16)reference_call.scalars[1],
                          reference_call.m, reference_call.scalars[3]);
}

static void reference_run(const reference &r, u64 seed, FILE *dump) {
    reference_call.kernel = r.kernel;
    reference_call.out = (uint64_t *)malloc(r.out_words * 8);
    reference_call.acc = (uint64_t *)aligned_alloc(64, (r.acc_words * 8 + 63) / 64 * 64);
    inputs_fill(reference_call.in, seed, r.index);
    inputs_fill_acc(reference_call.acc, r.acc_words, seed, r.index);
    inputs_scalars(reference_call.scalars, seed, r.index);
    memcpy((void *)&reference_call.m, &reference_call.scalars[2], sizeof(mixed));
    for (u32 k = 0; k < r.out_words; k++)
        reference_call.out[k] = INPUTS_UNTOUCHED;
    model_grid(r.grid, r.block, reference_thread);
    uint64_t hash = inputs_hash(0, reference_call.out, r.out_words);
    hash = inputs_hash(hash, reference_call.acc, r.acc_words);
    printf("%s %u %u %u %u %u %u %u %u %u %u %016llx\n", r.name, r.index, r.grid.x, r.grid.y,
           r.grid.z, r.block.x, r.block.y, r.block.z, r.shared_bytes, r.out_words, r.acc_words,
           (u64)hash);
    if (dump) {
        fwrite(reference_call.out, 8, r.out_words, dump);
        fwrite(reference_call.acc, 8, r.acc_words, dump);
    }
    free(reference_call.out);
    free(reference_call.acc);
}

static int reference_main(const reference *all, u32 count, u64 seed, const char *dump_path) {
    FILE *dump = dump_path ? fopen(dump_path, "wb") : NULL;
    printf("seed %llu\n", seed);
    for (u32 k = 0; k < count; k++)
        reference_run(all[k], seed, dump);
    return dump && fclose(dump) ? 1 : 0;
}

#endif
