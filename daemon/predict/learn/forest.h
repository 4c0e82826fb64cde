/* SPDX-License-Identifier: Apache-2.0
 *
 * A forest of regression trees whose leaves are summed, the result of gradient boosting. A child
 * follows its parent in the array, so that no walk can loop. Owner: the caller. Pure.
 */
#ifndef DAEMON_PREDICT_LEARN_FOREST_H
#define DAEMON_PREDICT_LEARN_FOREST_H

#include <stdbool.h>

#include "daemon/predict/learn/columns.h"

#define FOREST_TREES_MAX 1000u
#define FOREST_NODES_MAX 1024u /* nodes of one tree */

/* Goes left if the column is below `number`. In a leaf (left 0), `number` is the value. */
struct forest_node {
    uint16_t left, right, column;
    float number;
};

struct forest_tree {
    struct forest_node *nodes;
    uint32_t count;
};

struct forest {
    double base;
    struct forest_tree *trees;
    uint32_t count;
};

void forest_finish(struct forest *f);
/* Appends an empty tree with this many nodes. NULL if memory is short or the forest is full. */
struct forest_tree *forest_add(struct forest *f, uint32_t nodes);
/* Tests that every child follows its parent, every column exists, and every number is finite. */
bool forest_sound(const struct forest_tree *t);
/* Predicts with sound trees. */
double forest_predict(const struct forest *f, const struct columns *c);

#endif
