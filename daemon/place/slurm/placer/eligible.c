/* SPDX-License-Identifier: Apache-2.0
 *
 * Searches lists of words.
 */
#include "daemon/place/slurm/placer/eligible.h"

#include <string.h>

/* Tests whether a list separated by `commas` contains this word. */
static bool has_word(const char *list, const char *commas, const char *word, size_t bytes) {
    while (list && *list) {
        size_t n = strcspn(list, commas);

        if (n == bytes && memcmp(list, word, n) == 0) return true;
        list += n;
        list += strspn(list, commas);
    }
    return false;
}

bool eligible_understands(const char *features) {
    if (!features) return true;
    if (strpbrk(features, "[]()*!,")) return false;
    return !strchr(features, '&') || !strchr(features, '|');
}

/* Tests for all words of "a&b", or one of "a|b". */
static bool has_features(const char *wanted, const char *node) {
    bool one = wanted && strchr(wanted, '|');

    if (!wanted || !*wanted) return true;
    for (const char *p = wanted; *p; p += strspn(p, "&|")) {
        size_t n = strcspn(p, "&|");
        bool has = has_word(node, ",", p, n);

        if (has == one) return one;
        p += n;
    }
    return !one;
}

static void take_partitions(const struct world *w, const struct world_job *job, bool *out) {
    memset(out, 0, w->node_count * sizeof(*out));
    for (size_t k = 0; k < w->partition_count; k++) {
        const struct world_partition *p = &w->partitions[k];

        if (!p->up || !has_word(job->partition, ",", p->name, strlen(p->name))) continue;
        for (size_t i = 0; i < w->node_count; i++)
            out[i] |= p->has[i];
    }
}

size_t eligible_nodes(const struct world *w, const struct world_job *job, bool *out) {
    size_t count = 0, fresh = 0;

    take_partitions(w, job, out);
    for (size_t i = 0; i < w->node_count; i++) {
        out[i] = out[i] && !(job->excluded && job->excluded[i]) &&
                 has_features(job->features, w->nodes[i].features);
        count += out[i];
        fresh += out[i] && !note_tried(&job->note, w->nodes[i].name);
    }
    if (!fresh) return count;
    for (size_t i = 0; i < w->node_count; i++)
        out[i] &= !note_tried(&job->note, w->nodes[i].name);
    return fresh;
}

static bool same(const char *a, const char *b) {
    return strcmp(a ? a : "", b ? b : "") == 0;
}

bool eligible_alike(const struct world_job *a, const struct world_job *b) {
    return !a->excluded && !b->excluded && !*a->note.tried && !*b->note.tried &&
           a->shares == b->shares && same(a->partition, b->partition) &&
           same(a->features, b->features);
}
