/* SPDX-License-Identifier: Apache-2.0
 *
 * Sizes, offsets and values of the CUDA driver's ABI as a table, built once from
 * proto/cuda/cuda_abi.h and once from the toolkit's cuda.h. One file cannot include both headers,
 * but their tables can be compared.
 */
#ifndef TEST_LIB_CUDA_ABI_ROWS_H
#define TEST_LIB_CUDA_ABI_ROWS_H

#include <stddef.h>

struct cuda_abi_row {
    const char *what;
    long long value;
};

struct cuda_abi_table {
    const struct cuda_abi_row *rows; /* NULL: there is no table, and `why` gives the reason */
    size_t count;
    int version; /* version of the header */
    const char *why;
};

extern const struct cuda_abi_table cuda_abi_ours, cuda_abi_theirs;

#endif
