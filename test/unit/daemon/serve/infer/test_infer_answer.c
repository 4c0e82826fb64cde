/* SPDX-License-Identifier: Apache-2.0
 *
 * Models, checks of requests against them, and answers: golden bytes in both forms.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "daemon/serve/infer/answer.h"
#include "daemon/serve/infer/request_bind.h"

static const char *const versions[] = {"1", "3"};
static const struct model_tensor inputs[] = {
    {.name = "a", .type = DATATYPE_UINT8, .rank = 2, .shape = {-1, 2}},
    {.name = "t", .type = DATATYPE_BYTES, .rank = 1, .shape = {1}},
};
static const struct model_tensor outputs[] = {
    {.name = "sum", .type = DATATYPE_FP32, .rank = 1, .shape = {-1}},
    {.name = "text", .type = DATATYPE_BYTES, .rank = 1, .shape = {1}},
};
static const struct model models[] = {
    {.name = "other", .versions = versions, .versions_count = 1},
    {.name = "m\"1",
     .versions = versions,
     .versions_count = 2,
     .inputs = inputs,
     .outputs = outputs,
     .inputs_count = 2,
     .outputs_count = 2},
};
static const struct model *const m = &models[1];

#define A "{\"name\":\"a\",\"datatype\":\"UINT8\",\"shape\":[1,2],\"data\":[1,2]}"
#define T "{\"name\":\"t\",\"datatype\":\"BYTES\",\"shape\":[1],\"data\":[\"x\"]}"

/* A request for model m with these members besides its inputs. */
static struct request ask(const char *json) {
    struct request r;
    struct refusal why = {0};
    struct request_body body = {json, strlen(json), REQUEST_NO_HEADER};

    cr_assert_eq(request_parse(&r, &body, &why), 0, "%s", why.text);
    cr_assert_eq(request_bind(&r, m, model_version(m, NULL), &why), 0, "%s", why.text);
    return r;
}

static const struct tensor given[] = {
    {.name = "unasked", .type = DATATYPE_BF16},
    {.name = "text",
     .type = DATATYPE_BYTES,
     .rank = 1,
     .shape = {1},
     .elements = 1,
     .data = "\2\0\0\0\"z",
     .bytes = 6},
    {.name = "sum",
     .type = DATATYPE_FP32,
     .rank = 1,
     .shape = {2},
     .elements = 2,
     .data = "\0\0\x80\x3f\0\0\0\xc0",
     .bytes = 8},
};

static void expect_answer(const char *json, size_t head, const char *expected, size_t bytes) {
    struct request r = ask(json);
    struct refusal why = {0};
    struct buf body;
    size_t head_bytes = 0;

    buf_init(&body);
    cr_assert_eq(answer_write(&r, given, 3, &body, &head_bytes, &why), 0, "%s", why.text);
    cr_expect_eq(head_bytes, head, "%zu", head_bytes);
    cr_expect_eq(body.len, bytes, "%zu: %s", body.len, buf_str(&body));
    cr_expect(body.len == bytes && memcmp(body.data, expected, bytes) == 0, "%s", buf_str(&body));
    buf_finish(&body);
    request_finish(&r);
}

Test(infer_answer, json) {
    const char *all =
        "{\"id\":\"q\\\"1\",\"model_name\":\"m\\\"1\",\"model_version\":\"3\",\"outputs\":["
        "{\"name\":\"sum\",\"datatype\":\"FP32\",\"shape\":[2],\"data\":[1,-2]},"
        "{\"name\":\"text\",\"datatype\":\"BYTES\",\"shape\":[1],\"data\":[\"\\\"z\"]}]}";
    expect_answer("{\"id\":\"q\\\"1\",\"inputs\":[" A "," T "]}", REQUEST_NO_HEADER, all,
                  strlen(all));
}

Test(infer_answer, binary_follows_in_the_order_asked_for) {
    static const char head[] =
        "{\"model_name\":\"m\\\"1\",\"model_version\":\"3\",\"outputs\":["
        "{\"name\":\"text\",\"datatype\":\"BYTES\",\"shape\":[1],\"parameters\":"
        "{\"binary_data_size\":6}},{\"name\":\"sum\",\"datatype\":\"FP32\",\"shape\":[2],"
        "\"parameters\":{\"binary_data_size\":8}}]}\2\0\0\0\"z\0\0\x80\x3f\0\0\0\xc0";
    expect_answer("{\"parameters\":{\"binary_data_output\":true},\"outputs\":[{\"name\":\"text\"},"
                  "{\"name\":\"sum\"}],\"inputs\":[" T "," A "]}",
                  sizeof(head) - 1 - 14, head, sizeof(head) - 1);
}

Test(infer_answer, some_of_each) {
    static const char head[] =
        "{\"model_name\":\"m\\\"1\",\"model_version\":\"3\",\"outputs\":["
        "{\"name\":\"sum\",\"datatype\":\"FP32\",\"shape\":[2],\"data\":[1,-2]},"
        "{\"name\":\"text\",\"datatype\":\"BYTES\",\"shape\":[1],\"parameters\":"
        "{\"binary_data_size\":6}}]}\2\0\0\0\"z";
    expect_answer("{\"outputs\":[{\"name\":\"sum\"},{\"name\":\"text\",\"parameters\":"
                  "{\"binary_data\":true}}],\"inputs\":[" A "," T "]}",
                  sizeof(head) - 1 - 6, head, sizeof(head) - 1);
}

static void expect_failed(const struct tensor *list, uint32_t count, int status, const char *part) {
    struct request r = ask("{\"outputs\":[{\"name\":\"sum\"}],\"inputs\":[" A "," T "]}");
    struct refusal why = {0};
    struct buf body;
    size_t head;

    buf_init(&body);
    cr_expect_eq(answer_write(&r, list, count, &body, &head, &why), -EINVAL, "%s", part);
    cr_expect_eq(why.status, status, "%s", part);
    cr_expect(strstr(why.text, part), "%s", why.text);
    buf_finish(&body);
    request_finish(&r);
}

Test(infer_answer, a_model_keeps_to_what_it_says) {
    struct tensor t = given[2];
    expect_failed(given, 2, 500, "computed no output \"sum\"");
    t.bytes = 7;
    expect_failed(&t, 1, 500, "7 bytes of data, but 2 elements");
    t.type = DATATYPE_INT32;
    expect_failed(&t, 1, 500, "has datatype INT32, and must have FP32");
    t = given[2];
    t.rank = 2;
    expect_failed(&t, 1, 500, "has shape [2,0], and must have shape [-1] (-1: any)");
    t = given[2];
    t.data = "\0\0\x80\x3f\0\0\xc0\x7f";
    expect_failed(&t, 1, 400, "element 1: the value is not finite");
}

static void expect_unbound(const char *json, const char *part) {
    struct request r;
    struct refusal why = {0};
    struct request_body body = {json, strlen(json), REQUEST_NO_HEADER};

    cr_assert_eq(request_parse(&r, &body, &why), 0, "%s", why.text);
    cr_expect_eq(request_bind(&r, m, "3", &why), -EINVAL, "%s", json);
    cr_expect_eq(why.status, 400);
    cr_expect(strstr(why.text, part), "%s", why.text);
    request_finish(&r);
}

Test(infer_answer, requests_are_held_against_their_model) {
    expect_unbound("{\"inputs\":[" A "]}", "the request has 1 inputs, but model");
    expect_unbound("{\"inputs\":[" A "," T ",{\"name\":\"z\",\"datatype\":\"BOOL\",\"shape\":[0],"
                   "\"data\":[]}]}",
                   "has no input \"z\"");
    expect_unbound("{\"inputs\":[" T ",{\"name\":\"a\",\"datatype\":\"INT8\",\"shape\":[1,2],"
                   "\"data\":[1,2]}]}",
                   "input \"a\" has datatype INT8, and must have UINT8");
    expect_unbound("{\"inputs\":[" T ",{\"name\":\"a\",\"datatype\":\"UINT8\",\"shape\":[2,1],"
                   "\"data\":[1,2]}]}",
                   "has shape [2,1], and must have shape [-1,2] (-1: any)");
    expect_unbound("{\"inputs\":[" T ",{\"name\":\"a\",\"datatype\":\"UINT8\",\"shape\":[2],"
                   "\"data\":[1,2]}]}",
                   "has shape [2], and must have shape [-1,2]");
    expect_unbound("{\"outputs\":[{\"name\":\"a\"}],\"inputs\":[" A "," T "]}",
                   "has no output \"a\"");
}

Test(infer_answer, models_are_found) {
    cr_expect_eq(model_find(models, 2, "m\"1"), m);
    cr_expect_null(model_find(models, 2, "m"));
    cr_expect_str_eq(model_version(m, NULL), "3", "the newest");
    cr_expect_str_eq(model_version(m, "1"), "1");
    cr_expect_null(model_version(m, "2"));
}

Test(infer_answer, models_are_shown) {
    struct buf b;

    buf_init(&b);
    model_write_metadata(m, &b);
    cr_expect_str_eq(buf_str(&b),
                     "{\"name\":\"m\\\"1\",\"versions\":[\"1\",\"3\"],\"platform\":\"salus\","
                     "\"inputs\":[{\"name\":\"a\",\"datatype\":\"UINT8\",\"shape\":[-1,2]},"
                     "{\"name\":\"t\",\"datatype\":\"BYTES\",\"shape\":[1]}],"
                     "\"outputs\":[{\"name\":\"sum\",\"datatype\":\"FP32\",\"shape\":[-1]},"
                     "{\"name\":\"text\",\"datatype\":\"BYTES\",\"shape\":[1]}]}");
    buf_clear(&b);
    model_write_config(m, &b);
    cr_expect_str_eq(
        buf_str(&b),
        "{\"name\":\"m\\\"1\",\"platform\":\"salus\",\"backend\":\"salus\","
        "\"max_batch_size\":0,\"input\":[{\"name\":\"a\",\"data_type\":\"TYPE_UINT8\","
        "\"dims\":[-1,2]},{\"name\":\"t\",\"data_type\":\"TYPE_STRING\",\"dims\":[1]}],"
        "\"output\":[{\"name\":\"sum\",\"data_type\":\"TYPE_FP32\",\"dims\":[-1]},"
        "{\"name\":\"text\",\"data_type\":\"TYPE_STRING\",\"dims\":[1]}]}");
    buf_clear(&b);
    model_write_index(m, false, &b);
    cr_expect_str_eq(buf_str(&b),
                     "{\"name\":\"m\\\"1\",\"version\":\"1\",\"state\":\"UNAVAILABLE\",\"reason\":"
                     "\"not ready yet\"},{\"name\":\"m\\\"1\",\"version\":\"3\",\"state\":"
                     "\"UNAVAILABLE\",\"reason\":\"not ready yet\"}");
    buf_finish(&b);
}

Test(infer_answer, the_first_refusal_stays) {
    struct refusal why = {0};
    struct buf b;

    buf_init(&b);
    refusal_say(&why, 429, "a\"b");
    refusal_say(&why, 500, "later");
    cr_expect_eq(why.status, 429);
    refusal_write(&why, &b);
    cr_expect_str_eq(buf_str(&b), "{\"error\":\"a\\\"b\"}");
    buf_finish(&b);
}
