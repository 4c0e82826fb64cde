/* SPDX-License-Identifier: Apache-2.0
 *
 * One entry per node, found by its name.
 */
#include "daemon/place/slurm/placer/report_age.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/place/slurm/job_note.h"

struct report_age_node {
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

static struct report_age_node *find(struct report_age *f, const char *node) {
    for (size_t i = 0; i < f->count; i++)
        if (strcmp(f->nodes[i].name, node) == 0) return &f->nodes[i];
    return NULL;
}

static struct report_age_node *add(struct report_age *f, const char *node) {
    struct report_age_node *more;

    if (f->count == f->cap) {
        size_t cap = f->cap ? 2 * f->cap : 64;
        more = realloc(f->nodes, cap * sizeof(*more));
        if (!more) return NULL;
        f->nodes = more;
        f->cap = cap;
    }
    more = &f->nodes[f->count++];
    *more = (struct report_age_node){0};
    strncpy(more->name, node, sizeof(more->name) - 1);
    return more;
}

int64_t report_age_ns(struct report_age *f, const char *node, const char *report, int64_t now_ns) {
    struct report_age_node *n = find(f, node);
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

void report_age_finish(struct report_age *f) {
    free(f->nodes);
    *f = (struct report_age){0};
}
