/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/predict/learn/forest.h"

#include <math.h>
#include <stdlib.h>

void forest_finish(struct forest *f) {
    for (uint32_t i = 0; i < f->count; i++)
        free(f->trees[i].nodes);
    free(f->trees);
    *f = (struct forest){0};
}

struct forest_tree *forest_add(struct forest *f, uint32_t nodes) {
    struct forest_tree *t;

    if (f->count == FOREST_TREES_MAX || nodes == 0 || nodes > FOREST_NODES_MAX) return NULL;
    if (!f->trees) f->trees = calloc(FOREST_TREES_MAX, sizeof(*f->trees));
    if (!f->trees) return NULL;
    t = &f->trees[f->count];
    t->nodes = calloc(nodes, sizeof(*t->nodes));
    if (!t->nodes) return NULL;
    t->count = nodes;
    f->count++;
    return t;
}

bool forest_sound(const struct forest_tree *t) {
    for (uint32_t i = 0; i < t->count; i++) {
        const struct forest_node *n = &t->nodes[i];

        if (!isfinite(n->number)) return false;
        if (n->left == 0 && n->right == 0) continue;
        if (n->left <= i || n->right <= i || n->left >= t->count || n->right >= t->count ||
            n->column >= COLUMNS)
            return false;
    }
    return true;
}

static float leaf(const struct forest_tree *t, const struct columns *c) {
    const struct forest_node *n = t->nodes;

    while (n->left)
        n = &t->nodes[c->x[n->column] < n->number ? n->left : n->right];
    return n->number;
}

double forest_predict(const struct forest *f, const struct columns *c) {
    double sum = f->base;

    for (uint32_t i = 0; i < f->count; i++)
        sum += (double)leaf(&f->trees[i], c);
    return sum;
}
