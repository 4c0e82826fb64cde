/* SPDX-License-Identifier: Apache-2.0
 *
 * Bodies of requests: both forms, optional parts, and the wording of each complaint.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/serve/infer/request.h"
#include "daemon/serve/infer/request_split.h"

#define INPUT(name, type, shape, data) \
    "{\"name\":\"" name "\",\"datatype\":\"" type "\",\"shape\":" shape ",\"data\":" data "}"
#define BINARY(name, type, shape, bytes)                                                   \
    "{\"name\":\"" name "\",\"datatype\":\"" type "\",\"shape\":" shape ",\"parameters\":" \
    "{\"binary_data_size\":" bytes "}}"

/* The caller frees *body after the request. */
static int parse(struct request *r, const char *json, const char *rest, size_t rest_bytes,
                 char **body, struct refusal *why) {
    size_t head = strlen(json);
    /* A copy of exactly this size, so that a sanitizer detects reads beyond it. */
    char *b = *body = malloc(head + rest_bytes + !(head + rest_bytes));

    cr_assert(b);
    memcpy(b, json, head);
    if (rest_bytes) memcpy(b + head, rest, rest_bytes);
    return request_parse(
        r, &(struct request_body){b, head + rest_bytes, rest ? head : REQUEST_NO_HEADER}, why);
}

static void expect_refused(const char *json, const char *rest, size_t rest_bytes,
                           const char *part) {
    struct request r;
    struct refusal why = {0};
    char *body;

    cr_expect_eq(parse(&r, json, rest, rest_bytes, &body, &why), -EINVAL, "%s", json);
    cr_expect_eq(why.status, 400, "%s", json);
    cr_expect(strstr(why.text, part), "%s: %s", json, why.text);
    free(body);
}

static void expect_bad(const char *json, const char *part) {
    expect_refused(json, NULL, 0, part);
}

Test(infer_request, json) {
    struct request r;
    struct refusal why = {0};
    char *body;
    const char *json =
        "{ \"id\" : \"r1\", \"parameters\":{\"deadline_ms\":12.5,\"application\":"
        "\"bert\",\"other\":[1]},\"outputs\":[{\"name\":\"sum\"}],\"inputs\":[" INPUT(
            "a", "INT32", "[2,2]", "[[1,-2],[3,4]]") "," INPUT("b", "BYTES", "[]",
                                                               "[\"]}\\\"\"]") "] } ";

    cr_assert_eq(parse(&r, json, NULL, 0, &body, &why), 0, "%s", why.text);
    cr_expect_str_eq(r.id, "r1");
    cr_expect_str_eq(r.application, "bert");
    cr_expect_eq(r.deadline_ns, 12500000u);
    cr_assert_eq(r.inputs_count, 2);
    cr_expect_str_eq(r.inputs[0].name, "a");
    cr_expect_eq(r.inputs[0].type, DATATYPE_INT32);
    cr_expect_eq(r.inputs[0].rank, 2);
    cr_expect_eq(r.inputs[0].shape[1], 2);
    cr_expect_eq(r.inputs[0].bytes, 16);
    cr_expect_eq(memcmp(r.inputs[0].data, "\1\0\0\0\xfe\xff\xff\xff\3\0\0\0\4\0\0\0", 16), 0);
    cr_expect_eq(r.inputs[1].rank, 0);
    cr_expect_eq(r.inputs[1].elements, 1);
    cr_expect_eq(memcmp(r.inputs[1].data, "\3\0\0\0]}\"", 7), 0);
    cr_assert_eq(r.outputs_count, 1);
    cr_expect_str_eq(r.outputs[0].name, "sum");
    cr_expect_not(r.outputs[0].binary);
    request_finish(&r);
    free(body);
}

Test(infer_request, binary_lies_in_the_body) {
    struct request r;
    struct refusal why = {0};
    const char *json =
        "{\"parameters\":{\"binary_data_output\":true},\"outputs\":[{\"name\":\"x\"},"
        "{\"name\":\"y\",\"parameters\":{\"binary_data\":false}}],\"inputs\":[" BINARY(
            "a", "BF16", "[3]",
            "6") "," INPUT("j", "UINT8", "[1]",
                           "[7]") "," BINARY("b", "BYTES", "[2]",
                                             "11") "," BINARY("c", "FP32", "[0,4]", "0") "]}";
    char body[1024];
    size_t head = strlen(json);

    memcpy(body, json, head);
    memcpy(body + head, "abcdef\1\0\0\0z\2\0\0\0\0\0", 17);
    cr_assert_eq(request_parse(&r, &(struct request_body){body, head + 17, head}, &why), 0, "%s",
                 why.text);
    cr_expect_eq(r.inputs[0].data, body + head, "not copied");
    cr_expect_eq(r.inputs[1].bytes, 1);
    cr_expect_eq(r.inputs[2].data, body + head + 6);
    cr_expect_eq(r.inputs[2].bytes, 11);
    cr_expect_eq(r.inputs[3].elements, 0);
    cr_expect(r.outputs[0].binary);
    cr_expect_not(r.outputs[1].binary);
    cr_expect_null(r.id);
    cr_expect_null(r.application);
    cr_expect_eq(r.deadline_ns, 0);
    request_finish(&r);
}

Test(infer_request, sizes_disagree) {
    expect_refused("{\"inputs\":[" BINARY("a", "FP32", "[2]", "8") "]}", "1234567", 7,
                   "binary_data_size is 8, but 7 bytes of the body are left");
    expect_refused("{\"inputs\":[" BINARY("a", "FP32", "[2]", "8") "]}", "123456789", 9,
                   "the body has 1 bytes after the inputs' binary data");
    expect_refused("{\"inputs\":[" BINARY("a", "FP32", "[3]", "8") "]}", "12345678", 8,
                   "8 bytes of data, but 3 elements of FP32 are 12");
    expect_refused("{\"inputs\":[" BINARY("a", "FP32", "[2]", "-8") "]}", "12345678", 8,
                   "not a whole number");
    expect_refused("{\"inputs\":[" BINARY("a", "FP32", "[2]", "1e30") "]}", "12345678", 8,
                   "not a whole number");
    expect_refused("{\"inputs\":[" BINARY("a", "BOOL", "[2]", "2") "]}", "\1\2", 2, "0 or 1");
    expect_bad("{\"inputs\":[" BINARY("a", "BOOL", "[2]", "2") "]}",
               "0 bytes of the body are left");
}

Test(infer_request, elements_of_bytes_stay_within) {
    const char *json = "{\"inputs\":[" BINARY("a", "BYTES", "[2]", "9") "]}";
    expect_refused(json, "\1\0\0\0z\1\0\0\0", 9, "element 1 of 2 exceeds its 9 bytes");
    expect_refused(json, "\xff\xff\xff\xff\0\0\0\0\0", 9, "element 0 of 2 exceeds");
    expect_refused(json, "\2\0\0\0zz\0\0\0", 9, "element 1 of 2 exceeds");
    expect_refused(json, "\0\0\0\0\0\0\0\0z", 9, "1 bytes follow its 2 elements");
}

Test(infer_request, header_length_beyond_the_body) {
    struct request r;
    struct refusal why = {0};
    cr_expect_eq(request_parse(&r, &(struct request_body){"{}", 2, 3}, &why), -EINVAL);
    cr_expect(strstr(why.text, "Inference-Header-Content-Length is 3"), "%s", why.text);
}

Test(infer_request, every_truncated_prefix_is_refused) {
    const char *json = "{\"id\":\"q\",\"inputs\":[" INPUT(
        "a", "BYTES", "[2]", "[\"x\\\"\",\"y\"]") "],\"outputs\":[{\"name\":\"o\"}]}";
    for (size_t n = 0; n < strlen(json); n++) {
        char *cut = malloc(n ? n : 1);
        struct request r;
        struct refusal why = {0};
        memcpy(cut, json, n);
        cr_expect_eq(request_parse(&r, &(struct request_body){cut, n, REQUEST_NO_HEADER}, &why),
                     -EINVAL, "%.*s", (int)n, json);
        cr_expect(*why.text);
        free(cut);
    }
}

Test(infer_request, shapes) {
    expect_bad("{\"inputs\":[" INPUT("a", "UINT8", "[4294967296,4294967296,16]", "[1]") "]}",
               "more than 4294967296 elements");
    expect_bad("{\"inputs\":[" INPUT("a", "UINT8", "[9007199254740992]", "[1]") "]}",
               "more than 4294967296 elements");
    expect_bad("{\"inputs\":[" INPUT("a", "UINT8", "[-1]", "[1]") "]}", "not a whole number");
    expect_bad("{\"inputs\":[" INPUT("a", "UINT8", "[1.5]", "[1]") "]}", "not a whole number");
    expect_bad("{\"inputs\":[" INPUT("a", "UINT8", "[\"1\"]", "[1]") "]}", "not a whole number");
    expect_bad("{\"inputs\":[" INPUT("a", "UINT8", "1", "[1]") "]}", "\"shape\" is not an array");
    expect_bad(
        "{\"inputs\":[" INPUT("a", "UINT8", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "[1]") "]}",
        "more than 16 dimensions");
}

Test(infer_request, members) {
    expect_bad("", "the body has no JSON");
    expect_bad("[]", "not an object");
    expect_bad("{}", "\"inputs\" is not an array");
    expect_bad("{\"inputs\":[]}", "at least one");
    expect_bad("{\"inputs\":{}}", "\"inputs\" is not an array");
    expect_bad("{\"inputs\":[1]}", "input 0 is not an object");
    expect_bad("{\"inputs\":[{}]}", "\"name\" is missing");
    expect_bad("{\"inputs\":[{\"name\":1}]}", "\"name\" is not a string");
    expect_bad("{\"inputs\":[{\"name\":\"\"}]}", "\"name\" has 0 bytes");
    expect_bad("{\"inputs\":[{\"name\":\"a\"}]}", "\"datatype\" is missing");
    expect_bad("{\"inputs\":[" INPUT("a", "FP33", "[1]", "[1]") "]}", "no datatype \"FP33\"");
    expect_bad("{\"inputs\":[{\"name\":\"a\",\"datatype\":\"FP32\",\"shape\":[1]}]}",
               "has no data");
    expect_bad("{\"inputs\":[{\"name\":\"a\",\"datatype\":\"FP32\",\"shape\":[1],\"data\":0}]}",
               "has no data");
    expect_bad("{\"inputs\":[" INPUT("a", "UINT8", "[1]", "[1]") "," INPUT("a", "UINT8", "[1]",
                                                                           "[1]") "]}",
               "\"a\" is given twice");
    expect_bad("{\"inputs\":[" INPUT("a", "UINT8", "[1]", "[1],\"data\":[2]") "]}", "twice");
    expect_bad("{\"inputs\":[" INPUT("a", "UINT8", "[1]", "[1],\"name\":\"b\"") "]}", "twice");
    expect_bad("{\"inputs\":[],\"inputs\":[" INPUT("a", "UINT8", "[1]", "[1]") "]}", "twice");
    expect_bad("{\"inputs\":[" INPUT("a", "UINT8", "[1]",
                                     "[1],\"parameters\":{\"binary_data_size\":1}") "]}",
               "data twice");
    expect_bad("{\"inputs\":[" INPUT("a", "UINT8", "[1]",
                                     "[1],\"parameters\":{\"shared_memory_region\":\"m\"}") "]}",
               "not supported");
}

#define WITH(member) "{" member ",\"inputs\":[" INPUT("a", "UINT8", "[1]", "[1]") "]}"

Test(infer_request, parameters) {
    expect_bad(WITH("\"id\":1"), "\"id\" is not a string");
    expect_bad(WITH("\"id\":\"a\\nb\""), "control character");
    expect_bad(WITH("\"parameters\":1"), "\"parameters\" is not an object");
    expect_bad(WITH("\"parameters\":{\"deadline_ms\":0}"), "deadline_ms");
    expect_bad(WITH("\"parameters\":{\"deadline_ms\":-1}"), "deadline_ms");
    expect_bad(WITH("\"parameters\":{\"deadline_ms\":\"5\"}"), "deadline_ms");
    expect_bad(WITH("\"parameters\":{\"deadline_ms\":1e300}"), "deadline_ms");
    expect_bad(WITH("\"parameters\":{\"application\":7}"), "\"application\" is not a string");
    expect_bad(WITH("\"parameters\":{\"application\":\""
                    "0123456789012345678901234567890123456789012345678901234567890123\"}"),
               "has 64 bytes: it must have 1 to 63");
    expect_bad(WITH("\"parameters\":{\"binary_data_output\":1}"), "neither true nor false");
    expect_bad(WITH("\"parameters\":{\"sequence_id\":1}"), "not supported");
    expect_bad(WITH("\"outputs\":1"), "\"outputs\" is not an array");
    expect_bad(WITH("\"outputs\":[{\"name\":\"o\"},{\"name\":\"o\"}]"), "requested twice");
    expect_bad(WITH("\"outputs\":[{\"name\":\"o\",\"parameters\":{\"binary_data\":1}}]"),
               "neither true nor false");
    expect_bad(WITH("\"outputs\":[{\"name\":\"o\",\"parameters\":{\"classification\":3}}]"),
               "not supported");
}

Test(infer_request, text) {
    expect_bad(WITH("\"id\":\"\xff\""), "not UTF-8");
    expect_bad(WITH("\"id\":\"a\nb\""), "control character");
    expect_bad(WITH("\"id\":\"a\\u0000b\""), "\\u0000");
    expect_bad(WITH("\"i\\u0064\":\"a\""), "contains escapes");
    expect_bad(WITH("\"id\":nonsense"), "the body is not valid JSON from here on: 'nonsense");
    expect_bad(WITH("\"id\":\"a\"") "x", "not valid JSON");
    expect_bad(WITH("\"id\":\"a\"") "}", "closes a bracket");
    expect_bad(WITH("\"x\":[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]"), "nested more than 16 levels deep");
    expect_bad(
        "{\"inputs\":[" INPUT("a", "UINT8", "[1]", "[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]") "]}",
        "nested more than 16 levels deep");
}

/* Keys that look like data in other places are left unchanged. */
Test(infer_request, only_inputs_are_cut) {
    const char *json =
        "{\"data\":[1],\"x\":{\"inputs\":[{\"data\":[2]}]},\"outputs\":[{\"data\":[3]}]"
        ",\"inputs\":[{\"y\":{\"data\":[4]},\"data\" : [5] }]}";
    struct refusal why = {0};
    struct cut c;

    cr_assert_eq(request_split_json(&c, json, strlen(json), &why), 0, "%s", why.text);
    cr_expect_str_eq(
        buf_str(&c.rest),
        "{\"data\":[1],\"x\":{\"inputs\":[{\"data\":[2]}]},\"outputs\":[{\"data\":[3]}]"
        ",\"inputs\":[{\"y\":{\"data\":[4]},\"data\" : 0 }]}");
    cr_expect_eq(c.data[0].bytes, 3);
    cr_expect_eq(memcmp(c.data[0].text, "[5]", 3), 0);
    request_split_finish(&c);
}

static char *repeated(const char *begin, const char *each, int count, const char *end) {
    char *text = malloc(strlen(begin) + strlen(each) * (size_t)count + strlen(end) + 1), *p = text;
    cr_assert(text);
    p = stpcpy(p, begin);
    for (int i = 0; i < count; i++)
        p = stpcpy(p, each);
    stpcpy(p, end);
    return text;
}

Test(infer_request, what_is_too_much) {
    char *many = repeated("{\"inputs\":[1", ",1", 64, "]}");
    char *outputs = repeated("{\"outputs\":[1", ",1", 64, "],\"inputs\":[1]}");
    char *keys = repeated("{\"a\":1", ",\"a\":1", 1, "}");
    char *large = repeated("{\"x\":\"", "0123456789", 6554, "\"}");
    expect_bad(many, "more than 64 inputs");
    expect_bad(outputs, "more than 64 outputs");
    expect_bad(keys, "\"a\" is given twice");
    expect_bad(large, "more than 65536 bytes beside the tensors' data");
    free(many);
    free(outputs);
    free(keys);
    free(large);
}

/* Data may be arbitrarily long. */
Test(infer_request, long_data) {
    char *json = repeated("{\"inputs\":[{\"name\":\"a\",\"datatype\":\"INT8\",\"shape\":[100001],"
                          "\"data\":[0",
                          ",-1", 100000, "]}]}");
    struct refusal why = {0};
    struct request r;
    char *body;

    cr_assert_eq(parse(&r, json, NULL, 0, &body, &why), 0, "%s", why.text);
    cr_expect_eq(r.inputs[0].bytes, 100001);
    cr_expect_eq(((const signed char *)r.inputs[0].data)[100000], -1);
    request_finish(&r);
    free(body);
    free(json);
}
