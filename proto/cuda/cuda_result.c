/* SPDX-License-Identifier: Apache-2.0
 *
 * Names and texts of the driver's result codes.
 */
#include "proto/cuda/cuda_result.h"

#include <stddef.h>

#include "proto/cuda/cuda_values.h"

static const struct cuda_result results[] = {
#define X(name, value, text) {value, #name, text},
    CUDA_RESULTS(X)
#undef X
};

const struct cuda_result *cuda_result_find(int code) {
    for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++)
        if (results[i].code == code) return &results[i];
    return NULL;
}
