/* SPDX-License-Identifier: Apache-2.0
 *
 * Library for a model's program, which salus-serve starts: receives batches of requests and answers
 * each. Installed with libsalus_serve.so and .a in lib/salus; needs no other part of the project.
 * For C and C++.
 *
 *     struct salus_serve *s = salus_serve_open();      after the model was loaded
 *     while (salus_serve_next(s) > 0) {
 *         struct salus_serve_tensor x;
 *         float *y;
 *         if (salus_serve_joined(s, "x", &x)) break;
 *         ...                                          y: as many rows as x has
 *         if (salus_serve_answer(s, "y", "FP32", x.rank, x.shape, y)) break;
 *         if (salus_serve_done(s)) break;
 *     }
 *     if (*salus_serve_error(s)) fprintf(stderr, "%s\n", salus_serve_error(s));
 *     salus_serve_close(s);
 *
 * Datatypes have the names of the Open Inference Protocol: BOOL, UINT8 to UINT64, INT8 to INT64,
 * FP16, FP32, FP64, BF16, BYTES. Data is row-major without gaps. An element of BYTES is its length
 * in four bytes, followed by its content.
 *
 * Under Salus each batch is an iteration (salus.h). One thread at a time.
 */
#ifndef SALUS_SERVE_H
#define SALUS_SERVE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SALUS_SERVE_MAX_RANK 16

struct salus_serve;

/* Names and data belong to the library and are read-only. They are valid until the next call of
 * salus_serve_next, salus_serve_done or salus_serve_failed. */
struct salus_serve_tensor {
    const char *name;
    const char *datatype;
    int rank;
    int64_t shape[SALUS_SERVE_MAX_RANK];
    const void *data; /* aligned to 64 bytes */
    uint64_t bytes;
};

/* Tells salus-serve that the model is ready, and waits for the answer. Call it once. Returns NULL
 * only if memory is short. After any other error, salus_serve_error describes it and
 * salus_serve_next returns -1. */
struct salus_serve *salus_serve_open(void);
void salus_serve_close(struct salus_serve *s);

/* The latest error as a sentence; "" if there was none. Also accepts NULL and returns an error
 * then. */
const char *salus_serve_error(const struct salus_serve *s);

/* Waits for a batch. Returns 1 if there is one, to which the calls below refer; 0 if no more follow
 * and the program should end; -1 on error. The previous batch fails unless it was answered. */
int salus_serve_next(struct salus_serve *s);

/* Number of requests in the batch, and number of distinct inputs. */
int salus_serve_size(const struct salus_serve *s);
int salus_serve_inputs(const struct salus_serve *s);
/* Name of an input, counted from 0; NULL past the last. */
const char *salus_serve_input_name(const struct salus_serve *s, int index);

/* One input of one request, counted from 0. Returns 0 or -1. */
int salus_serve_input(struct salus_serve *s, int request, const char *name,
                      struct salus_serve_tensor *tensor);

/* One input of all requests, concatenated along the first dimension, the only one in which they may
 * differ. Nothing is copied if they are already contiguous, that is if the bytes of each are a
 * multiple of 64. Returns 0 or -1. */
int salus_serve_joined(struct salus_serve *s, const char *name, struct salus_serve_tensor *tensor);

/* The first dimension that all inputs of a request have in common; -1 if they differ. */
int64_t salus_serve_rows(struct salus_serve *s, int request);

/* Allocates a zeroed output of one request, aligned to 64 bytes; fill it before salus_serve_done.
 * `bytes` 0: computed from datatype and shape; required for BYTES. NULL on error. */
void *salus_serve_output(struct salus_serve *s, int request, const char *name, const char *datatype,
                         int rank, const int64_t *shape, uint64_t bytes);

/* Copies an output of all requests from one array; each request gets its salus_serve_rows. Not for
 * BYTES. Returns 0 or -1. */
int salus_serve_answer(struct salus_serve *s, const char *name, const char *datatype, int rank,
                       const int64_t *shape, const void *data);

/* Answer the batch, or fail it with the message `why` for the clients. Return 0 or -1. After an
 * error of salus_serve_done, salus_serve_failed is still possible. */
int salus_serve_done(struct salus_serve *s);
int salus_serve_failed(struct salus_serve *s, const char *why);

#ifdef __cplusplus
}
#endif

#endif
