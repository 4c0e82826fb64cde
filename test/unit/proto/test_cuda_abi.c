/* SPDX-License-Identifier: Apache-2.0
 *
 * proto/cuda/cuda_abi.h against the toolkit's header, and the names and texts of result codes.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "proto/cuda/cuda_abi.h"
#include "proto/cuda/cuda_result.h"
#include "test/lib/cuda/cuda_abi_rows.h"

Test(cuda_abi, equals_the_toolkits_header) {
    const struct cuda_abi_table *ours = &cuda_abi_ours, *theirs = &cuda_abi_theirs;

    cr_assert_gt(ours->count, 600);
    if (!theirs->rows) {
        fprintf(stderr, "  SKIP    cuda_abi: %s: ABI not compared\n", theirs->why);
        cr_skip_test("%s", theirs->why);
    }
    cr_assert(theirs->version < ours->version ? theirs->count < ours->count
                                              : theirs->count == ours->count);
    for (size_t i = 0; i < theirs->count; i++) {
        cr_expect_str_eq(ours->rows[i].what, theirs->rows[i].what);
        cr_expect_eq(ours->rows[i].value, theirs->rows[i].value, "%s: %lld here, %lld in cuda.h",
                     ours->rows[i].what, ours->rows[i].value, theirs->rows[i].value);
    }
}

Test(cuda_abi, result_codes_have_names_and_texts) {
    const struct cuda_result *r = cuda_result_find(CUDA_ERROR_ILLEGAL_ADDRESS);
    cr_assert_not_null(r);
    cr_assert_str_eq(r->name, "CUDA_ERROR_ILLEGAL_ADDRESS");
    cr_assert(strstr(r->text, "illegal memory access"));
    cr_assert_str_eq(cuda_result_find(0)->name, "CUDA_SUCCESS");
    cr_assert_null(cuda_result_find(998));
    cr_assert_null(cuda_result_find(-1));
}
