/* SPDX-License-Identifier: Apache-2.0
 *
 * The request of request_bench, and its answer: "y" is "a" + "b", each of REQUEST_NUMBERS floats in
 * binary form (64 bytes), after a header as tritonclient writes it. The gateway's floor (relay.c)
 * and the client share this format.
 */
#ifndef TEST_BENCH_REQUEST_H
#define TEST_BENCH_REQUEST_H

#include <stddef.h>
#include <string.h>

#define REQUEST_NUMBERS 16
#define REQUEST_TENSOR (REQUEST_NUMBERS * sizeof(float))
#define REQUEST_MOST 4096 /* largest size of a request or an answer, header and body */

static const char request_json[] =
    "{\"inputs\":[{\"name\":\"a\",\"shape\":[16],\"datatype\":\"FP32\",\"parameters\":"
    "{\"binary_data_size\":64}},{\"name\":\"b\",\"shape\":[16],\"datatype\":\"FP32\","
    "\"parameters\":{\"binary_data_size\":64}}],\"outputs\":[{\"name\":\"y\",\"parameters\":"
    "{\"binary_data\":true}}]}";

/* The size of the whole message once its header has arrived; 0: it has not. */
static inline size_t request_bytes(const char *text, size_t have) {
    const char *end = memmem(text, have, "\r\n\r\n", 4), *at;
    size_t length = 0;

    if (!end) return 0;
    at = memmem(text, (size_t)(end - text), "\nContent-Length: ", 17);
    for (at = at ? at + 17 : end; *at >= '0' && *at <= '9'; at++)
        length = length * 10 + (size_t)(*at - '0');
    return (size_t)(end - text) + 4 + length;
}

#endif
