/* SPDX-License-Identifier: Apache-2.0
 *
 * Access to a batch's inputs, per request and joined.
 */
#include <stdlib.h>
#include <string.h>

#include "daemon/serve/model/connection.h"

int salus_serve_size(const struct salus_serve *s) {
    return s ? (int)s->requests : 0;
}

int salus_serve_inputs(const struct salus_serve *s) {
    return s ? (int)s->in.groups_count : 0;
}

const char *salus_serve_input_name(const struct salus_serve *s, int index) {
    if (!s || index < 0 || (uint32_t)index >= s->in.groups_count) return NULL;
    return s->in.tensors[s->in.groups[index].first].name;
}

static void show(const struct serve_memory_tensor *t, struct salus_serve_tensor *out) {
    *out = (struct salus_serve_tensor){.name = t->name,
                                       .datatype = datatype_name(t->type),
                                       .rank = (int)t->rank,
                                       .data = t->data,
                                       .bytes = t->bytes};
    memcpy(out->shape, t->shape, sizeof(t->shape));
}

int salus_serve_input(struct salus_serve *s, int request, const char *name,
                      struct salus_serve_tensor *tensor) {
    const struct serve_memory_tensor *t;

    if (connection_check(s, request)) return -1;
    t = serve_memory_get(&s->in, (uint32_t)request, name);
    if (!t) return connection_say(s, "request %d has no input \"%.64s\"", request, name);
    show(t, tensor);
    return 0;
}

int64_t salus_serve_rows(struct salus_serve *s, int request) {
    const struct serve_memory_tensor *first = NULL, *t;

    if (connection_check(s, request)) return -1;
    for (uint32_t i = 0; i < s->in.groups_count; i++) {
        t = serve_memory_get(&s->in, (uint32_t)request, salus_serve_input_name(s, (int)i));
        if (!t) continue;
        if (!first) first = t;
        if (t->rank == 0 || t->shape[0] != first->shape[0])
            return connection_say(s,
                                  "the inputs of request %d have different first dimensions: "
                                  "answer each request by itself",
                                  request);
    }
    return first ? first->shape[0] : connection_say(s, "request %d has no inputs", request);
}

/* ---- joined inputs --------------------------------------------------------------------------- */

static bool is_alike(const struct serve_memory_tensor *a, const struct serve_memory_tensor *b) {
    return a->type == b->type && a->rank == b->rank && a->rank > 0 &&
           memcmp(a->shape + 1, b->shape + 1, (a->rank - 1) * sizeof(a->shape[0])) == 0;
}

/* Describes all tensors of a group as one; `data` is the first tensor's. */
static int sum(struct salus_serve *s, const struct serve_memory_group *g,
               struct salus_serve_tensor *out) {
    const struct serve_memory_tensor *t = &s->in.tensors[g->first];

    show(t, out);
    if (g->count != s->requests)
        return connection_say(
            s, "only %u of %u requests have an input \"%.64s\": read it request by request",
            g->count, s->requests, t->name);
    for (uint32_t i = 0; i < g->count; i++) {
        if (!is_alike(t, &t[i]))
            return connection_say(s,
                                  "input \"%.64s\" of request %u differs from that of request 0 in "
                                  "more than the first dimension: read it request by request",
                                  t->name, i);
        if (i > 0 && (__builtin_add_overflow(out->shape[0], t[i].shape[0], &out->shape[0]) ||
                      __builtin_add_overflow(out->bytes, t[i].bytes, &out->bytes)))
            return connection_say(
                s, "input \"%.64s\" is too large to be joined: read it request by request",
                t->name);
    }
    return 0;
}

static bool is_one_array(const struct serve_memory_tensor *t, uint32_t count) {
    for (uint32_t i = 1; i < count; i++)
        if ((const char *)t[i - 1].data + t[i - 1].bytes != (const char *)t[i].data) return false;
    return true;
}

static void *copy(const struct serve_memory_tensor *t, uint32_t count, uint64_t bytes) {
    char *at, *all = NULL;

    if (posix_memalign((void **)&all, SERVE_WIRE_ALIGN, bytes ? bytes : 1)) return NULL;
    at = all;
    for (uint32_t i = 0; i < count; i++) {
        memcpy(at, t[i].data, t[i].bytes);
        at += t[i].bytes;
    }
    return all;
}

int salus_serve_joined(struct salus_serve *s, const char *name, struct salus_serve_tensor *tensor) {
    const struct serve_memory_group *g;
    const struct serve_memory_tensor *t;
    void **joined;

    if (connection_check(s, 0)) return -1;
    g = serve_memory_find(&s->in, name);
    if (!g) return connection_say(s, "the batch has no input \"%.64s\"", name);
    if (sum(s, g, tensor)) return -1;
    t = &s->in.tensors[g->first];
    if (is_one_array(t, g->count)) return 0;
    joined = &s->joined[g - s->in.groups];
    if (!*joined) *joined = copy(t, g->count, tensor->bytes);
    if (!*joined) return connection_say(s, "out of memory while joining input \"%.64s\"", name);
    tensor->data = *joined;
    return 0;
}
