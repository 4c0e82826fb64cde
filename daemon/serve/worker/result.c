/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/serve/worker/result.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int convert(struct tensor *out, const struct serve_memory_tensor *t) {
    *out = (struct tensor){
        .name = t->name, .type = t->type, .rank = t->rank, .data = t->data, .bytes = t->bytes};
    memcpy(out->shape, t->shape, sizeof(out->shape));
    return tensor_count(out);
}

/* Sorts the tensors by request; the memory has them by name. */
static int sort(struct result *r, struct serve_memory_why *why) {
    const struct serve_memory *m = &r->memory;
    uint32_t *next = r->first + 1; /* after counting: the slot of each request's next tensor */

    for (uint32_t i = 0; i < m->tensors_count; i++)
        if (m->tensors[i].request + 1 < m->requests) next[m->tensors[i].request + 1]++;
    for (uint32_t i = 1; i < m->requests; i++)
        next[i] += next[i - 1];
    for (uint32_t i = 0; i < m->tensors_count; i++) {
        const struct serve_memory_tensor *t = &m->tensors[i];
        if (convert(&r->tensors[next[t->request]++], t))
            return serve_memory_say(why, "tensor %u (%.32s) has too many elements", i, t->name);
    }
    return 0;
}

static int make(struct result *r, uint32_t requests, struct serve_memory_why *why) {
    if (r->memory.requests != requests)
        return serve_memory_say(why, "the answer has %u requests, and the batch has %u",
                                r->memory.requests, requests);
    r->tensors = calloc(r->memory.tensors_count, sizeof(*r->tensors));
    r->first = calloc(requests + 1, sizeof(*r->first));
    if (r->tensors && r->first) return sort(r, why);
    serve_memory_say(why, "out of memory");
    return -ENOMEM;
}

int result_create(struct result **out, const struct serve_message *msg, int fd, uint32_t requests,
                  struct serve_memory_why *why) {
    struct result *r = calloc(1, sizeof(*r));
    int err = r ? serve_message_open(&r->memory, msg, fd, false, why) : -ENOMEM;

    if (!r) serve_memory_say(why, "out of memory");
    if (!err) err = make(r, requests, why);
    if (err) {
        result_destroy(r);
        r = NULL;
    }
    *out = r;
    return err;
}

void result_destroy(struct result *r) {
    if (!r) return;
    serve_memory_finish(&r->memory);
    free(r->tensors);
    free(r->first);
    free(r);
}

const struct tensor *result_outputs(const struct result *r, uint32_t request, uint32_t *count) {
    *count = r->first[request + 1] - r->first[request];
    return r->tensors + r->first[request];
}
