/* SPDX-License-Identifier: Apache-2.0
 *
 * Inputs take their binary data in order, so that equal lengths mean equal offsets. Contents are
 * checked again for types that can be invalid (BYTES contains lengths).
 */
#include "daemon/serve/infer/previous_request.h"

#include <stdlib.h>
#include <string.h>

void previous_request_finish(struct previous_request *a) {
    request_finish(&a->request);
    free(a->json);
    *a = (struct previous_request){0};
}

static bool same_json(const struct previous_request *a, const struct request_body *body) {
    return a->json && body->head_bytes == a->json_bytes && body->bytes >= a->json_bytes &&
           memcmp(a->json, body->data, a->json_bytes) == 0;
}

/* Points the inputs at the body. Returns true if they use all of the body and are valid. */
static bool place_inputs(struct request *r, const struct request_body *body) {
    const unsigned char *at = (const unsigned char *)body->data + body->head_bytes;
    size_t left = body->bytes - body->head_bytes;
    struct refusal why;

    for (uint32_t i = 0; i < r->inputs_count; i++) {
        struct tensor *t = &r->inputs[i];
        if (t->bytes > left) return false;
        t->data = at;
        at += t->bytes;
        left -= t->bytes;
        if (tensor_check(t, "input", 400, &why)) return false;
    }
    return left == 0;
}

bool previous_request_take(struct previous_request *a, const struct request_body *body,
                           const struct model *m, const char *version, struct request *r) {
    if (a->request.model != m || a->request.version != version || !same_json(a, body)) return false;
    if (!place_inputs(&a->request, body)) return false;
    *r = a->request;
    a->request = (struct request){0};
    return true;
}

/* Tests that no input was given as JSON. */
static bool is_binary(const struct request *r) {
    for (uint32_t i = 0; i < r->inputs_count; i++)
        if (r->own[i].len) return false;
    return r->inputs_count > 0;
}

/* Stores the JSON. Returns false if memory is short; a->json is then unchanged. */
static bool keep_json(struct previous_request *a, const struct request_body *body) {
    unsigned char *json;

    if (same_json(a, body)) return true;
    json = realloc(a->json, body->head_bytes);
    if (!json) return false;
    memcpy(json, body->data, body->head_bytes);
    a->json = json;
    a->json_bytes = body->head_bytes;
    return true;
}

void previous_request_keep(struct previous_request *a, struct request *r,
                           const struct request_body *body) {
    request_finish(&a->request);
    if (r->model && is_binary(r) && body->head_bytes <= PREVIOUS_REQUEST_MAX_JSON_BYTES &&
        keep_json(a, body)) {
        a->request = *r;
        *r = (struct request){0};
    } else {
        request_finish(r);
    }
}
