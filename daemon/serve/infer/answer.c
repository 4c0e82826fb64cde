/* SPDX-License-Identifier: Apache-2.0
 *
 * Binary data is copied once, behind the JSON, in the order in which outputs were requested.
 */
#include "daemon/serve/infer/answer.h"

#include <errno.h>
#include <string.h>

#include "daemon/serve/infer/text.h"
#include "daemon/serve/infer/values.h"

static const struct tensor *given(const char *name, const struct tensor *outputs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(outputs[i].name, name) == 0) return &outputs[i];
    return NULL;
}

static int check(const struct request *r, const struct request_output *o, const struct tensor *t,
                 struct refusal *why) {
    const struct model *m = r->model;
    int err;

    if (!t)
        return refusal_say(why, 500, "model \"%.64s\" computed no output \"%.64s\"", m->name,
                           o->name);
    err = model_tensor_fits(model_tensor_find(m->outputs, m->outputs_count, o->name), t, "output",
                            500, why);
    return err ? err : tensor_check(t, "output", 500, why);
}

static int write_output(const struct request_output *o, const struct tensor *t, struct buf *body,
                        struct refusal *why) {
    int err = 0;

    text_add(body, "{\"name\":");
    text_write(body, o->name, strlen(o->name));
    text_add(body, ",\"datatype\":\"");
    text_add(body, datatype_name(t->type));
    text_add(body, "\",\"shape\":");
    tensor_write_shape(body, t->shape, t->rank);
    if (o->binary) {
        text_add(body, ",\"parameters\":{\"binary_data_size\":");
        text_decimal(body, (int64_t)t->bytes);
        text_add(body, "}");
    } else {
        text_add(body, ",\"data\":");
        err = values_write(body, t, why);
    }
    text_add(body, "}");
    return err;
}

static void write_head(const struct request *r, struct buf *body) {
    text_add(body, "{");
    if (r->id) {
        text_add(body, "\"id\":");
        text_write(body, r->id, strlen(r->id));
        text_add(body, ",");
    }
    text_add(body, "\"model_name\":");
    text_write(body, r->model->name, strlen(r->model->name));
    text_add(body, ",\"model_version\":");
    text_write(body, r->version, strlen(r->version));
    text_add(body, ",\"outputs\":[");
}

int answer_write(const struct request *r, const struct tensor *outputs, uint32_t count,
                 struct buf *body, size_t *head_bytes, struct refusal *why) {
    bool binary = false;

    write_head(r, body);
    for (uint32_t i = 0; i < r->outputs_count; i++) {
        const struct request_output *o = &r->outputs[i];
        const struct tensor *t = given(o->name, outputs, count);
        int err = check(r, o, t, why);
        if (!err && i) buf_append(body, ",", 1);
        if (!err) err = write_output(o, t, body, why);
        if (err) return err;
        binary |= o->binary;
    }
    buf_append(body, "]}", 2);
    *head_bytes = binary ? body->len : REQUEST_NO_HEADER;
    for (uint32_t i = 0; i < r->outputs_count; i++) {
        const struct tensor *t = given(r->outputs[i].name, outputs, count);
        if (r->outputs[i].binary && t) buf_append(body, t->data, t->bytes);
    }
    return body->failed ? refusal_memory(why) : 0;
}
