/* SPDX-License-Identifier: Apache-2.0
 *
 * A network as lines of text, which network.cu trains and netonnx.c writes as ONNX:
 *
 *   batch N                      examples in a step
 *   dispatch US                  microseconds of the host for each operator, forward or backward
 *   load NS                      nanoseconds of the host for each byte of input before a step
 *   input SIZE...                C H W, or T F (a sequence), or F: layer 0
 *   OP FROM[,FROM] NUMBER...     layer 1 and on; FROM is the number of a layer
 *
 * Operators:
 *
 *   conv k: OUT KERNEL STRIDE PAD GROUPS      maxpool, avgpool: KERNEL STRIDE
 *   gap, flatten, relu, bn                    fc: OUT (of the last axis)
 *   lstm, gru: HIDDEN                         add A,B    concat A,B    ln, softmax
 *   scores A,B: [T F] by [T F] to [T T]       mix A,B: [T T] by [T F] to [T F]
 *   mean: [T F] to [F]
 *
 * For C and CUDA. Owner: the caller.
 */
#ifndef TEST_PREDICT_LAYERS_H
#define TEST_PREDICT_LAYERS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAYERS_MAX 512

struct layer {
    char op[12];
    int from, from2; /* from2 0: none */
    int p[5];
    int rank, size[3]; /* sizes of an example */
};

struct layers {
    int batch, dispatch_us, load_ns;
    int count;
    struct layer layer[LAYERS_MAX];
};

static inline int layer_elements(const struct layer *l) {
    int n = 1;

    for (int i = 0; i < l->rank; i++)
        n *= l->size[i];
    return n;
}

static inline void layers_bad(int line, const char *text) {
    fprintf(stderr, "line %d is no layer: %s", line, text);
    exit(2);
}

static inline int layer_is(const struct layer *l, const char *op) {
    return strcmp(l->op, op) == 0;
}

/* Computes an operator's output sizes from its input's; returns 0 if they do not fit. */
static inline int layers_shape(struct layer *l, const struct layer *x, const struct layer *y) {
    l->rank = x->rank;
    memcpy(l->size, x->size, sizeof(l->size));
    if (layer_is(l, "conv") || layer_is(l, "maxpool") || layer_is(l, "avgpool")) {
        int conv = layer_is(l, "conv"), k = l->p[conv], s = l->p[conv + 1],
            pad = conv ? l->p[3] : 0;

        if (x->rank != 3 || k < 1 || s < 1) return 0;
        if (conv) l->size[0] = l->p[0];
        for (int i = 1; i < 3; i++)
            l->size[i] = (x->size[i] + 2 * pad - k) / s + 1;
        return l->size[1] > 0 && l->size[2] > 0 &&
               (!conv || (l->p[4] > 0 && x->size[0] % l->p[4] == 0));
    }
    if (layer_is(l, "gap")) {
        l->size[1] = l->size[2] = 1;
        return x->rank == 3;
    }
    if (layer_is(l, "flatten")) {
        l->rank = 1;
        l->size[0] = layer_elements(x);
        return 1;
    }
    if (layer_is(l, "fc")) {
        l->size[l->rank - 1] = l->p[0];
        return x->rank < 3;
    }
    if (layer_is(l, "lstm") || layer_is(l, "gru")) {
        l->size[1] = l->p[0];
        return x->rank == 2;
    }
    if (layer_is(l, "mean")) {
        l->rank = 1;
        l->size[0] = x->size[1];
        return x->rank == 2;
    }
    if (layer_is(l, "concat")) {
        l->size[0] += y->size[0];
        return l->from2 > 0 && x->rank == 3;
    }
    if (layer_is(l, "scores")) {
        l->size[1] = y->size[0];
        return x->rank == 2 && y->size[1] == x->size[1];
    }
    if (layer_is(l, "mix")) {
        l->size[1] = y->size[1];
        return x->rank == 2 && y->size[0] == x->size[1];
    }
    if (layer_is(l, "add")) return layer_elements(x) == layer_elements(y);
    return layer_is(l, "relu") || layer_is(l, "bn") || layer_is(l, "ln") || layer_is(l, "softmax");
}

static inline void layers_line(struct layers *n, int number, const char *text) {
    struct layer *l = &n->layer[n->count];
    char from[32] = "";
    int fields;

    memset(l, 0, sizeof(*l));
    if (sscanf(text, "batch %d", &n->batch) == 1 ||
        sscanf(text, "dispatch %d", &n->dispatch_us) == 1 ||
        sscanf(text, "load %d", &n->load_ns) == 1 || text[0] == '#' || text[0] == '\n')
        return;
    if (n->count == LAYERS_MAX) layers_bad(number, text);
    if (strncmp(text, "input ", 6) == 0) {
        strcpy(l->op, "input");
        l->rank = sscanf(text, "input %d %d %d", &l->size[0], &l->size[1], &l->size[2]);
        if (n->count || l->rank < 1) layers_bad(number, text);
        n->count++;
        return;
    }
    fields = sscanf(text, "%11s %31s %d %d %d %d %d", l->op, from, &l->p[0], &l->p[1], &l->p[2],
                    &l->p[3], &l->p[4]);
    if (fields < 2 || sscanf(from, "%d,%d", &l->from, &l->from2) < 1 || l->from >= n->count ||
        l->from < 0 || l->from2 >= n->count || l->from2 < 0)
        layers_bad(number, text);
    if (!layers_shape(l, &n->layer[l->from], &n->layer[l->from2])) layers_bad(number, text);
    n->count++;
}

static inline void layers_read(struct layers *n, const char *path) {
    FILE *f = fopen(path, "r");
    char text[256];

    memset(n, 0, sizeof(*n));
    n->batch = 1;
    if (!f) {
        perror(path);
        exit(2);
    }
    for (int line = 1; fgets(text, sizeof(text), f); line++)
        layers_line(n, line, text);
    fclose(f);
    if (n->count < 2 || n->batch < 1) layers_bad(0, "too few layers\n");
}

#endif
