/* SPDX-License-Identifier: Apache-2.0
 *
 * Sizes, offsets and values of the CUDA driver's ABI as a table, made once from
 * proto/cuda/cuda_abi.h and once from the toolkit's cuda.h. The two headers cannot meet in one
 * file, their tables can.
 */
#ifndef TEST_LIB_CUDA_ABI_ROWS_H
#define TEST_LIB_CUDA_ABI_ROWS_H

#include <stddef.h>

struct cuda_abi_row {
    const char *what;
    long long value;
};

struct cuda_abi_table {
    const struct cuda_abi_row *rows; /* NULL: there is none, `why` says so */
    size_t count;
    int version; /* of the header */
    const char *why;
};

extern const struct cuda_abi_table cuda_abi_ours, cuda_abi_theirs;

#endif
