/* SPDX-License-Identifier: Apache-2.0
 *
 * Common parts of the example programs: error checks, a deterministic generator, and the checksum
 * that shows whether a shared run computed bit for bit the same as a run alone.
 */
#ifndef E2E_COMMON_H
#define E2E_COMMON_H

#include <cuda_runtime.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call)                                                            \
    do {                                                                       \
        cudaError_t check_err = (call);                                        \
        if (check_err != cudaSuccess) {                                        \
            fprintf(stderr, "%s:%d: %s: %s (%d)\n", __FILE__, __LINE__, #call, \
                    cudaGetErrorString(check_err), (int)check_err);            \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

/* Ends the program: a wrong result must never look like a finished run. */
#define REQUIRE(cond, ...)                                                \
    do {                                                                  \
        if (!(cond)) {                                                    \
            fprintf(stderr, "%s:%d: wrong result: ", __FILE__, __LINE__); \
            fprintf(stderr, __VA_ARGS__);                                 \
            fprintf(stderr, "\n");                                        \
            exit(1);                                                      \
        }                                                                 \
    } while (0)

static inline uint32_t random_next(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Returns a number, uniform in [-1, 1). */
static inline float random_unit(uint32_t *state) {
    return (float)random_next(state) / 8388608.0f - 1.0f;
}

/* Adds the bytes of a result to a checksum (FNV-1a). */
static inline uint64_t checksum_add(uint64_t sum, const void *data, size_t bytes) {
    const unsigned char *p = (const unsigned char *)data;
    for (size_t i = 0; i < bytes; i++)
        sum = (sum ^ p[i]) * 1099511628211ull;
    return sum;
}

#define CHECKSUM_START 1469598103934665603ull

static inline void checksum_print(const char *name, uint64_t sum) {
    printf("%s checksum %016llx\n", name, (unsigned long long)sum);
}

/* Returns the first argument as a count, or the default: demos run longer than tests. */
static inline int rounds_arg(int argc, char **argv, int fallback) {
    return argc > 1 ? atoi(argv[1]) : fallback;
}

/* Marks the begin of an iteration: calls salus_iteration() if a library exports it and
 * SALUS_MARK=1. */
static inline void mark(void) {
    static void (*iteration)(void);
    static bool looked;
    const char *wanted = getenv("SALUS_MARK");
    if (!looked && wanted && strcmp(wanted, "1") == 0)
        iteration = (void (*)(void))dlsym(RTLD_DEFAULT, "salus_iteration");
    looked = true;
    if (iteration) iteration();
}

#endif
