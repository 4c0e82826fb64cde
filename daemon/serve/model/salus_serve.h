/* SPDX-License-Identifier: Apache-2.0
 *
 * The library of a model's program that salus-serve starts: it takes batches of requests, and gives
 * an answer to each. Installed, with libsalus_serve.so and .a in lib/salus; needs nothing else of
 * the project. C and C++.
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
 * Datatypes are the names of the Open Inference Protocol: BOOL, UINT8 to UINT64, INT8 to INT64,
 * FP16, FP32, FP64, BF16, BYTES. Data is in row-major order without gaps; an element of BYTES is
 * its length in four bytes and then its content.
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

/* Names and data are the library's, not to be written, and stay until the next call of
 * salus_serve_next, salus_serve_done or salus_serve_failed. */
struct salus_serve_tensor {
    const char *name;
    const char *datatype;
    int rank;
    int64_t shape[SALUS_SERVE_MAX_RANK];
    const void *data; /* at a multiple of 64 */
    uint64_t bytes;
};

/* Tells salus-serve that the model is ready, and waits for its answer. Never more than one. NULL:
 * there is no memory; what else may be wrong is in salus_serve_error, and salus_serve_next returns
 * -1. */
struct salus_serve *salus_serve_open(void);
void salus_serve_close(struct salus_serve *s);

/* What went wrong latest, as a sentence; "" where nothing did. NULL has an error, too. */
const char *salus_serve_error(const struct salus_serve *s);

/* Waits for a batch: 1, and the calls below are about it; 0: there are no more, and the program
 * should end; -1: an error. A batch that was neither done nor failed has failed. */
int salus_serve_next(struct salus_serve *s);

/* Of the batch: how many requests, and how many inputs by name. */
int salus_serve_size(const struct salus_serve *s);
int salus_serve_inputs(const struct salus_serve *s);
/* The name of an input, from 0; NULL beyond the last one. */
const char *salus_serve_input_name(const struct salus_serve *s, int index);

/* One input of one request, from 0. 0 or -1. */
int salus_serve_input(struct salus_serve *s, int request, const char *name,
                      struct salus_serve_tensor *tensor);

/* An input of all requests, one behind another along the first dimension, in which alone they may
 * differ. Nothing is copied where they are one array already: where the bytes of each are a
 * multiple of 64. 0 or -1. */
int salus_serve_joined(struct salus_serve *s, const char *name, struct salus_serve_tensor *tensor);

/* The first dimension of a request's inputs, which all have the same; -1 where they do not. */
int64_t salus_serve_rows(struct salus_serve *s, int request);

/* Room for an output of a request, zeroed, at a multiple of 64; to be filled before
 * salus_serve_done. `bytes` 0: what datatype and shape say; of BYTES it has to be said. NULL: an
 * error. */
void *salus_serve_output(struct salus_serve *s, int request, const char *name, const char *datatype,
                         int rank, const int64_t *shape, uint64_t bytes);

/* An output of all requests as one array, of which each gets its salus_serve_rows; copied. Not of
 * BYTES. 0 or -1. */
int salus_serve_answer(struct salus_serve *s, const char *name, const char *datatype, int rank,
                       const int64_t *shape, const void *data);

/* The batch is answered, or cannot be: `why` is what clients are told. 0 or -1. After an error of
 * salus_serve_done it can still have failed. */
int salus_serve_done(struct salus_serve *s);
int salus_serve_failed(struct salus_serve *s, const char *why);

#ifdef __cplusplus
}
#endif

#endif
