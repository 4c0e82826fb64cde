/* SPDX-License-Identifier: Apache-2.0
 *
 * cJSON parses the body without the inputs' data. cJSON stores numbers as doubles and recurses.
 * That is safe, because request_split.h limits the depth and the remaining numbers are sizes and
 * times.
 */
#include "daemon/serve/infer/request.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/serve/infer/input.h"

#define OWNER "the request"

/* ---- JSON ------------------------------------------------------------------------------------ */

static bool only_space(const char *s, const char *end) {
    while (s < end && strchr(" \t\r\n", *s))
        s++;
    return s == end;
}

static int parse_tree(struct request *r, const struct buf *text, struct refusal *why) {
    const char *begin = (const char *)text->data, *end, *stop = NULL;

    if (text->len == 0)
        return refusal_say(why, 400, "the body has no JSON: send an inference request");
    end = begin + text->len;
    r->tree = cJSON_ParseWithLengthOpts(begin, text->len, &stop, 0);
    if (!r->tree || !only_space(stop, end)) {
        if (!stop || stop > end) stop = end;
        return refusal_say(why, 400, "the body is not valid JSON from here on: '%.*s'",
                           (int)(end - stop < 40 ? end - stop : 40), stop);
    }
    if (!cJSON_IsObject(r->tree)) return refusal_say(why, 400, "the JSON is not an object");
    return field_check_keys(r->tree, OWNER, why);
}

/* ---- members --------------------------------------------------------------------------------- */

static int take_deadline(struct request *r, const cJSON *item, struct refusal *why) {
    double ms = cJSON_IsNumber(item) ? item->valuedouble : 0;

    if (!(ms > 0 && ms <= REQUEST_MAX_DEADLINE_MS))
        return refusal_say(why, 400,
                           "deadline_ms is not a number of milliseconds above 0 and up to a day, "
                           "counted from the request's arrival");
    r->deadline_ns = (uint64_t)(ms * 1e6);
    if (r->deadline_ns == 0) r->deadline_ns = 1;
    return 0;
}

static int take_parameters(struct request *r, struct refusal *why) {
    const cJSON *p, *item;
    int err = field_parameters(r->tree, OWNER, &p, why);

    if (err || !p) return err;
    if ((item = field_get(p, "deadline_ms"))) err = take_deadline(r, item, why);
    if (!err && (item = field_get(p, "application")))
        err = field_string(item, OWNER, "application", REQUEST_MAX_APPLICATION_BYTES,
                           &r->application, why);
    if (!err && (item = field_get(p, "binary_data_output")))
        err = field_bool(item, OWNER, "binary_data_output", &r->binary_output, why);
    return err;
}

static int take_id(struct request *r, struct refusal *why) {
    const cJSON *id = field_get(r->tree, "id");

    if (!id || (cJSON_IsString(id) && !*id->valuestring)) return 0;
    return field_string(id, OWNER, "id", REQUEST_MAX_ID_BYTES, &r->id, why);
}

static int take_output(struct request *r, const cJSON *item, struct refusal *why) {
    struct request_output *o = &r->outputs[r->outputs_count];
    const cJSON *parameters, *binary;
    int err;

    if (!cJSON_IsObject(item)) return refusal_say(why, 400, "an output is not an object");
    err = field_check_keys(item, "an output", why);
    if (!err)
        err = field_string(field_get(item, "name"), "an output", "name", TENSOR_MAX_NAME_BYTES,
                           &o->name, why);
    if (!err) err = field_parameters(item, "an output", &parameters, why);
    if (err) return err;
    for (uint32_t i = 0; i < r->outputs_count; i++)
        if (strcmp(r->outputs[i].name, o->name) == 0)
            return refusal_say(why, 400, "output \"%.64s\" is requested twice", o->name);
    o->binary = r->binary_output;
    r->outputs_count++;
    binary = parameters ? field_get(parameters, "binary_data") : NULL;
    return binary ? field_bool(binary, "an output", "binary_data", &o->binary, why) : 0;
}

static int take_outputs(struct request *r, struct refusal *why) {
    const cJSON *list = field_get(r->tree, "outputs");
    int count = list ? cJSON_GetArraySize(list) : 0, err = 0;

    if (!list) return 0;
    if (!cJSON_IsArray(list)) return refusal_say(why, 400, "\"outputs\" is not an array");
    if (count > REQUEST_MAX_OUTPUTS)
        return refusal_say(why, 400, "the request has more than %d outputs", REQUEST_MAX_OUTPUTS);
    r->outputs = calloc((size_t)count + 1, sizeof(*r->outputs));
    if (!r->outputs) return refusal_memory(why);
    for (const cJSON *item = list->child; item && !err; item = item->next)
        err = take_output(r, item, why);
    return err;
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static int same_name(const struct request *r, const char *name, struct refusal *why) {
    for (uint32_t i = 0; i < r->inputs_count; i++)
        if (strcmp(r->inputs[i].name, name) == 0)
            return refusal_say(why, 400, "input \"%.64s\" is given twice", name);
    return 0;
}

static int take_inputs(struct request *r, const struct cut *cut, struct input_rest *rest,
                       struct refusal *why) {
    const cJSON *list = field_get(r->tree, "inputs"), *item;
    int count = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;

    if (count == 0)
        return refusal_say(why, 400, "\"inputs\" is not an array of at least one input");
    if (count > SPLIT_MAX_INPUTS)
        return refusal_say(why, 400, "the request has more than %d inputs", SPLIT_MAX_INPUTS);
    r->inputs = calloc((size_t)count, sizeof(*r->inputs));
    r->own = calloc((size_t)count, sizeof(*r->own));
    if (!r->inputs || !r->own) return refusal_memory(why);
    for (item = list->child; item; item = item->next) {
        uint32_t i = r->inputs_count;
        struct tensor t;
        int err = input_parse(&t, item, i, &cut->data[i], rest, &r->own[i], why);
        if (!err) err = same_name(r, t.name, why);
        if (err) {
            buf_finish(&r->own[i]);
            return err;
        }
        r->inputs[r->inputs_count++] = t;
    }
    if (rest->bytes == 0) return 0;
    return refusal_say(why, 400,
                       "the body has %zu bytes after the inputs' binary data: correct their "
                       "binary_data_size, or the body",
                       rest->bytes);
}

/* ---- the whole request ----------------------------------------------------------------------- */

static int parse_cut(struct request *r, const struct cut *cut, struct input_rest *rest,
                     struct refusal *why) {
    int err = parse_tree(r, &cut->rest, why);

    if (!err) err = take_id(r, why);
    if (!err) err = take_parameters(r, why);
    if (!err) err = take_outputs(r, why);
    return err ? err : take_inputs(r, cut, rest, why);
}

int request_parse(struct request *r, const struct request_body *body, struct refusal *why) {
    size_t head = body->head_bytes == REQUEST_NO_HEADER ? body->bytes : body->head_bytes;
    struct input_rest rest;
    struct cut cut;
    int err;

    *r = (struct request){0};
    if (head > body->bytes)
        return refusal_say(why, 400,
                           "Inference-Header-Content-Length is %zu, but the body has %zu bytes",
                           head, body->bytes);
    rest = (struct input_rest){(const unsigned char *)body->data + head, body->bytes - head};
    err = request_split_json(&cut, body->data, head, why);
    if (!err) err = parse_cut(r, &cut, &rest, why);
    request_split_finish(&cut);
    if (err) request_finish(r);
    return err;
}

void request_finish(struct request *r) {
    for (uint32_t i = 0; i < r->inputs_count; i++)
        buf_finish(&r->own[i]);
    cJSON_Delete(r->tree);
    free(r->inputs);
    free(r->own);
    free(r->outputs);
    *r = (struct request){0};
}
