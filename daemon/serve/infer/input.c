/* SPDX-License-Identifier: Apache-2.0
 *
 * Error messages name an input by its index until its name is known.
 */
#include "daemon/serve/infer/input.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "daemon/serve/infer/values.h"

_Static_assert(SPLIT_MAX_INPUTS <= 100, "two digits");

static int take_type(struct tensor *t, const cJSON *item, const char *owner, struct refusal *why) {
    const char *text;
    int err = field_string(field_get(item, "datatype"), owner, "datatype", TENSOR_MAX_NAME_BYTES,
                           &text, why);

    if (err) return err;
    t->type = datatype_find(text);
    if (t->type < DATATYPE_COUNT) return 0;
    return refusal_say(why, 400,
                       "%s: there is no datatype \"%.64s\": use BOOL, UINT8 to UINT64, INT8 to "
                       "INT64, FP16, FP32, FP64, BF16 or BYTES",
                       owner, text);
}

static int take_shape(struct tensor *t, const cJSON *item, const char *owner, struct refusal *why) {
    const cJSON *shape = field_get(item, "shape");
    uint64_t n;
    int err;

    if (!cJSON_IsArray(shape)) return refusal_say(why, 400, "%s: \"shape\" is not an array", owner);
    for (const cJSON *d = shape->child; d; d = d->next) {
        if (t->rank == TENSOR_MAX_RANK)
            return refusal_say(why, 400, "%s has more than %d dimensions", owner, TENSOR_MAX_RANK);
        err = field_count(d, owner, "shape", &n, why);
        if (err) return err;
        t->shape[t->rank++] = (int64_t)n;
    }
    if (tensor_count(t) == 0) return 0;
    return refusal_say(why, 400, "%s has a shape of more than %" PRIu64 " elements", owner,
                       (uint64_t)TENSOR_MAX_ELEMENTS);
}

/* Takes data by the binary extension. */
static int take_binary(struct tensor *t, uint64_t bytes, const char *owner, struct input_rest *rest,
                       struct refusal *why) {
    if (bytes > rest->bytes)
        return refusal_say(why, 400,
                           "%s: binary_data_size is %" PRIu64
                           ", but %zu bytes of the body are left: check that the body is complete "
                           "and Inference-Header-Content-Length is right",
                           owner, bytes, rest->bytes);
    t->data = rest->at;
    t->bytes = bytes;
    rest->at += bytes;
    rest->bytes -= bytes;
    return 0;
}

static int take_json(struct tensor *t, const struct split_span *data, struct buf *own,
                     struct refusal *why) {
    int err = values_read(t, data->text, data->bytes, own, why);

    t->data = own->data;
    t->bytes = own->len;
    return err;
}

static int take_data(struct tensor *t, const cJSON *item, const char *owner,
                     const struct split_span *data, struct input_rest *rest, struct buf *own,
                     struct refusal *why) {
    const cJSON *parameters, *size;
    uint64_t bytes;
    int err = field_parameters(item, owner, &parameters, why);

    if (err) return err;
    size = parameters ? field_get(parameters, "binary_data_size") : NULL;
    if (!size) {
        if (data->text) return take_json(t, data, own, why);
        return refusal_say(
            why, 400,
            "%s has no data: send an array \"data\", or the parameter \"binary_data_size\"", owner);
    }
    if (field_get(item, "data"))
        return refusal_say(
            why, 400, "%s has data twice, in the JSON and as binary data: send one of them", owner);
    err = field_count(size, owner, "binary_data_size", &bytes, why);
    return err ? err : take_binary(t, bytes, owner, rest, why);
}

/* Formats "input \"%.64s\"" without printf, because each request does this twice even without an
 * error. */
static void name_owner(char *owner, const char *name) {
    size_t bytes = strnlen(name, 64);

    memcpy(owner, "input \"", 7);
    memcpy(owner + 7, name, bytes);
    memcpy(owner + 7 + bytes, "\"", 2);
}

static void number_owner(char *owner, uint32_t index) {
    char digits[] = {(char)('0' + index / 10 % 10), (char)('0' + index % 10), '\0'};

    memcpy(owner, "input ", 6);
    memcpy(owner + 6, index < 10 ? digits + 1 : digits, index < 10 ? 2 : 3);
}

int input_parse(struct tensor *t, const cJSON *item, uint32_t index, const struct split_span *data,
                struct input_rest *rest, struct buf *own, struct refusal *why) {
    char owner[FIELD_OWNER_BYTES];
    int err;

    *t = (struct tensor){0};
    number_owner(owner, index);
    if (!cJSON_IsObject(item)) return refusal_say(why, 400, "%s is not an object", owner);
    err = field_check_keys(item, owner, why);
    if (!err)
        err = field_string(field_get(item, "name"), owner, "name", TENSOR_MAX_NAME_BYTES, &t->name,
                           why);
    if (err) return err;
    name_owner(owner, t->name);
    err = take_type(t, item, owner, why);
    if (!err) err = take_shape(t, item, owner, why);
    if (!err) err = take_data(t, item, owner, data, rest, own, why);
    return err ? err : tensor_check(t, "input", 400, why);
}
