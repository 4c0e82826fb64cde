/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/predict/onnx/functions.h"

#include <stdlib.h>
#include <string.h>

static const char *text(const char *s) {
    return s ? s : "";
}

/* ONNX's default domain has two names. */
static const char *domain_of(const char *s) {
    return strcmp(text(s), "ai.onnx") == 0 ? "" : text(s);
}

static int compare(const Onnx__FunctionProto *f, const char *domain, const char *name) {
    int by_name = strcmp(text(f->name), name);

    return by_name ? by_name : strcmp(domain_of(f->domain), domain_of(domain));
}

static int by_name(const void *a, const void *b) {
    const Onnx__FunctionProto *const *y = b;

    return compare(*(const Onnx__FunctionProto *const *)a, (*y)->domain, text((*y)->name));
}

int functions_take(struct functions *f, struct bounded *memory, const Onnx__ModelProto *m,
                   struct complaint *why) {
    *f = (struct functions){0};
    if (m->n_functions >= FUNCTIONS_NONE) return complaint_memory(why);
    f->at = bounded_alloc(memory, m->n_functions, sizeof(*f->at));
    if (!f->at) return complaint_memory(why);
    for (size_t i = 0; i < m->n_functions; i++)
        f->at[f->count++] = m->functions[i];
    if (f->count) qsort(f->at, f->count, sizeof(*f->at), by_name);
    for (uint32_t i = 1; i < f->count; i++)
        if (by_name(&f->at[i - 1], &f->at[i]) == 0)
            return complaint_say(why, "it has two functions '%.60s'", text(f->at[i]->name));
    return 0;
}

void functions_finish(struct functions *f, struct bounded *memory) {
    bounded_free(memory, f->at);
    *f = (struct functions){0};
}

static int called_by(const void *node, const void *function) {
    const Onnx__NodeProto *n = node;

    return -compare(*(const Onnx__FunctionProto *const *)function, n->domain, text(n->op_type));
}

uint32_t functions_called(const struct functions *f, const Onnx__NodeProto *n) {
    const Onnx__FunctionProto **found =
        f->count ? bsearch(n, f->at, f->count, sizeof(*f->at), called_by) : NULL;

    return found ? (uint32_t)(found - f->at) : FUNCTIONS_NONE;
}
