/* SPDX-License-Identifier: Apache-2.0
 *
 * Names and texts of the driver's result codes. Static data; any thread.
 */
#ifndef PROTO_CUDA_CUDA_RESULT_H
#define PROTO_CUDA_CUDA_RESULT_H

struct cuda_result {
    int code;
    const char *name; /* "CUDA_ERROR_INVALID_VALUE" */
    const char *text; /* "invalid argument" */
};

/* Returns NULL for a code that the driver does not have. */
const struct cuda_result *cuda_result_find(int code);

#endif
