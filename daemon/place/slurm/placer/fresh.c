/* SPDX-License-Identifier: Apache-2.0
 *
 * One entry per node, found by its name.
 */
#include "daemon/place/slurm/placer/fresh.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/place/slurm/note.h"

struct fresh_node {
    char name[NOTE_NODE_BYTES];
    uint64_t hash;
    int64_t since_ns;
};

/* FNV-1a. A changed report with an equal hash counts as old, once. */
static uint64_t hash_of(const char *text) {
    uint64_t h = 0xcbf29ce484222325u;

    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 0x100000001b3u;
    return h;
}

static struct fresh_node *find(struct fresh *f, const char *node) {
    for (size_t i = 0; i < f->count; i++)
        if (strcmp(f->nodes[i].name, node) == 0) return &f->nodes[i];
    return NULL;
}

static struct fresh_node *add(struct fresh *f, const char *node) {
    struct fresh_node *more;

    if (f->count == f->cap) {
        size_t cap = f->cap ? 2 * f->cap : 64;
        more = realloc(f->nodes, cap * sizeof(*more));
        if (!more) return NULL;
        f->nodes = more;
        f->cap = cap;
    }
    more = &f->nodes[f->count++];
    *more = (struct fresh_node){0};
    strncpy(more->name, node, sizeof(more->name) - 1);
    return more;
}

int64_t fresh_age_ns(struct fresh *f, const char *node, const char *report, int64_t now_ns) {
    struct fresh_node *n = find(f, node);
    uint64_t hash = hash_of(report);

    if (!n) {
        n = add(f, node);
        if (!n) return -ENOMEM;
    } else if (n->hash == hash) {
        return now_ns - n->since_ns;
    }
    n->hash = hash;
    n->since_ns = now_ns;
    return 0;
}

void fresh_finish(struct fresh *f) {
    free(f->nodes);
    *f = (struct fresh){0};
}
