/* SPDX-License-Identifier: Apache-2.0
 *
 * Regression trees whose leaves are summed: what gradient boosting gives. A child stands behind its
 * parent, so that no walk goes in a circle. Owner: the caller. Pure.
 */
#ifndef DAEMON_PREDICT_LEARN_FOREST_H
#define DAEMON_PREDICT_LEARN_FOREST_H

#include <stdbool.h>

#include "daemon/predict/learn/columns.h"

#define FOREST_TREES_MAX 1000u
#define FOREST_NODES_MAX 1024u /* of a tree */

/* Left where the column is below `number`; a leaf (left 0) gives it. */
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
/* An empty tree of so many nodes behind the others; NULL: memory is short, or there are too many.
 */
struct forest_tree *forest_add(struct forest *f, uint32_t nodes);
/* Whether every child stands behind its parent, every column is one, every number is finite. */
bool forest_sound(const struct forest_tree *t);
/* Of sound trees. */
double forest_predict(const struct forest *f, const struct columns *c);

#endif
