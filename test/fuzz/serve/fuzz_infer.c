/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as the body of an inference request. An accepted request is sound, and is answered with
 * its own inputs in both forms; a rejected one gives a reason. The first two bytes are the length
 * of the JSON plus one, or 0 if that header is missing.
 */
#include <stdlib.h>
#include <string.h>

#include "daemon/serve/infer/answer.h"
#include "daemon/serve/infer/request_bind.h"
#include "daemon/serve/infer/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect_sound(const struct request *r, const uint8_t *body, size_t bytes) {
    struct refusal why = {0};

    if (r->inputs_count == 0) abort();
    for (uint32_t i = 0; i < r->inputs_count; i++) {
        const struct tensor *t = &r->inputs[i];
        const uint8_t *at = t->data;
        if (!*t->name || t->type >= DATATYPE_COUNT || t->rank > TENSOR_MAX_RANK) abort();
        if (tensor_check(t, "input", 400, &why)) abort();
        if (at != r->own[i].data && (at < body || at + t->bytes > body + bytes)) abort();
        if (at == r->own[i].data && t->bytes != r->own[i].len) abort();
    }
}

/* A model with exactly these inputs and outputs. */
static void answer_itself(struct request *r, bool binary) {
    struct model_tensor *list = calloc(r->inputs_count, sizeof(*list));
    const char *version = "1";
    struct model m = {.name = "m",
                      .versions = &version,
                      .versions_count = 1,
                      .inputs = list,
                      .outputs = list,
                      .inputs_count = r->inputs_count,
                      .outputs_count = r->inputs_count};
    struct refusal why = {0};
    struct buf body;
    size_t head = 0;

    if (!list) return;
    for (uint32_t i = 0; i < r->inputs_count; i++) {
        const struct tensor *t = &r->inputs[i];
        list[i] = (struct model_tensor){.name = t->name, .type = t->type, .rank = t->rank};
        memcpy(list[i].shape, t->shape, sizeof(t->shape));
    }
    r->binary_output = binary;
    r->outputs_count = 0;
    buf_init(&body);
    if (request_bind(r, &m, version, &why)) abort();
    int err = answer_write(r, r->inputs, r->inputs_count, &body, &head, &why);
    if (err && (binary || why.status != 400)) abort();
    if (!err && (head != REQUEST_NO_HEADER) != binary) abort();
    if (!err && !text_valid((const char *)body.data, binary ? head : body.len)) abort();
    buf_finish(&body);
    free(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct refusal why = {0};
    struct request r;
    size_t said, bytes;

    if (size < 2) return 0;
    said = (size_t)(data[0] | data[1] << 8);
    bytes = size - 2;
    /* A separate block, so that a read beyond it is detected. */
    uint8_t *body = malloc(bytes ? bytes : 1);
    if (!body) return 0;
    memcpy(body, data + 2, bytes);
    int err = request_parse(
        &r, &(struct request_body){body, bytes, said ? said - 1 : REQUEST_NO_HEADER}, &why);
    if (!err != !*why.text || !err != !why.status) abort();
    if (!err) {
        expect_sound(&r, body, bytes);
        answer_itself(&r, true);
        answer_itself(&r, false);
        request_finish(&r);
    }
    free(body);
    return 0;
}
