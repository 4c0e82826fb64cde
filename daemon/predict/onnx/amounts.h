/* SPDX-License-Identifier: Apache-2.0
 *
 * How much a model is once each call of a function is what the function does, so that every array
 * of a graph is had once. Functions that call others twice each make a graph of any size from a
 * short file: each is counted once, and nothing is followed here. What is looked up of a node is
 * counted too: a node of many attributes or long names costs as much as many nodes. Owner: the
 * caller.
 */
#ifndef DAEMON_PREDICT_ONNX_AMOUNTS_H
#define DAEMON_PREDICT_ONNX_AMOUNTS_H

#include "daemon/predict/onnx/functions.h"

#define AMOUNTS_MOST ((uint64_t)1 << 32) /* of each: more is as good as that */
#define AMOUNTS_ATTRIBUTES_MAX 256u      /* of one node */
#define AMOUNTS_NAME_BYTES 4096u         /* of what a node says */
/* Where functions are called: */
#define AMOUNTS_NODES_MAX (1u << 20)
#define AMOUNTS_LOOKS_MAX (1u << 29)

struct amounts {
    uint64_t values, nodes, refs, calls;
    uint64_t binds; /* names that get a value */
    uint64_t asks;  /* attributes that are those of a caller */
    uint64_t looks; /* bytes of names, and some for each, that its nodes are made by */
};

/* 0; -EINVAL, a function calls itself, or there is too much of them or of a node, or -ENOMEM, and
 * why. */
int amounts_count(struct amounts *out, const struct functions *f, const Onnx__GraphProto *top,
                  struct bounded *memory, struct complaint *why);

#endif
