/* SPDX-License-Identifier: Apache-2.0
 *
 * A request whose JSON equals the previous one's: it gives the same as if it were parsed, and only
 * equal ones are taken over.
 */
#include "daemon/serve/infer/previous_request.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/serve/infer/request_bind.h"

static const struct model_tensor inputs[] = {
    {.name = "a", .type = DATATYPE_INT32, .rank = 1, .shape = {-1}},
    {.name = "b", .type = DATATYPE_BYTES, .rank = 1, .shape = {-1}},
};
static const struct model_tensor outputs[] = {
    {.name = "y", .type = DATATYPE_INT32, .rank = 1, .shape = {-1}},
};
static const char *const versions[] = {"1", "2"};
static const struct model model = {"m", versions, 2, inputs, outputs, 2, 1},
                          other = {"n", versions, 2, inputs, outputs, 2, 1};

#define INPUTS                                                                         \
    "\"inputs\":[{\"name\":\"a\",\"datatype\":\"INT32\",\"shape\":[2],\"parameters\":" \
    "{\"binary_data_size\":8}},{\"name\":\"b\",\"datatype\":\"BYTES\",\"shape\":[1],"  \
    "\"parameters\":{\"binary_data_size\":7}}]"
static const char said[] = "{\"id\":\"i\",\"parameters\":{\"deadline_ms\":5}," INPUTS "}";
static const char data[] = "\1\0\0\0\2\0\0\0\3\0\0\0abc";
static const char other_data[] = "\7\0\0\0\x9\0\0\0\3\0\0\0xyz";
#define DATA_BYTES 15

/* A new body, to be freed after the request. */
static struct request_body body_of(const char *json, const char *rest, size_t bytes) {
    size_t head = strlen(json);
    char *b = malloc(head + bytes);

    cr_assert(b);
    memcpy(b, json, head);
    memcpy(b + head, rest, bytes);
    return (struct request_body){b, head + bytes, head};
}

static void parse(struct request *r, const struct request_body *body) {
    struct refusal why = {0};

    cr_assert_eq(request_parse(r, body, &why), 0, "%s", why.text);
    cr_assert_eq(request_bind(r, &model, versions[1], &why), 0, "%s", why.text);
}

/* State after a request with this JSON. */
static struct previous_request after(const char *json, const char *rest, size_t bytes) {
    struct request_body body = body_of(json, rest, bytes);
    struct previous_request a = {0};
    struct request r;

    parse(&r, &body);
    previous_request_keep(&a, &r, &body);
    cr_assert_null(r.inputs);
    free((void *)body.data);
    return a;
}

static void expect_same(const struct request *r, const struct request *as) {
    cr_expect_eq(r->model, as->model);
    cr_expect_eq(r->version, as->version);
    cr_expect_str_eq(r->id, as->id);
    cr_expect_eq(r->deadline_ns, as->deadline_ns);
    cr_expect_eq(r->outputs_count, as->outputs_count);
    cr_expect_str_eq(r->outputs[0].name, as->outputs[0].name);
    cr_assert_eq(r->inputs_count, as->inputs_count);
    for (uint32_t i = 0; i < r->inputs_count; i++) {
        const struct tensor *t = &r->inputs[i], *u = &as->inputs[i];
        cr_expect_str_eq(t->name, u->name);
        cr_expect_eq(t->bytes, u->bytes);
        cr_expect_eq(t->data, u->data);
        cr_expect_eq(t->elements, u->elements);
        cr_expect_arr_eq(t->shape, u->shape, sizeof(t->shape));
    }
}

Test(infer_again, is_as_if_it_were_parsed) {
    /* Allocated first, so that the two bodies are at different addresses. */
    struct request_body body = body_of(said, other_data, DATA_BYTES);
    struct previous_request a = after(said, data, DATA_BYTES);
    struct request r, parsed;

    parse(&parsed, &body);
    for (int i = 0; i < 3; i++) {
        cr_assert(previous_request_take(&a, &body, &model, versions[1], &r));
        expect_same(&r, &parsed);
        cr_expect_not(previous_request_take(&a, &body, &model, versions[1], &parsed),
                      "it is given once");
        previous_request_keep(&a, &r, &body);
    }
    request_finish(&parsed);
    previous_request_finish(&a);
    free((void *)body.data);
}

static bool takes(struct previous_request *a, const char *json, const char *rest, size_t bytes) {
    struct request_body body = body_of(json, rest, bytes);
    struct request r;
    bool taken = previous_request_take(a, &body, &model, versions[1], &r);

    if (taken) previous_request_keep(a, &r, &body);
    free((void *)body.data);
    return taken;
}

Test(infer_again, only_what_is_the_same) {
    struct previous_request a = after(said, data, DATA_BYTES);
    struct request_body body = body_of(said, data, DATA_BYTES), short_head = body;
    char *changed = strdup(said);
    struct request r;

    cr_assert(changed);
    for (size_t i = 0; changed[i]; i++) {
        changed[i] ^= 1;
        cr_expect_not(takes(&a, changed, data, DATA_BYTES), "%zu", i);
        changed[i] ^= 1;
    }
    cr_expect_not(takes(&a, said, data, DATA_BYTES - 1), "too little");
    cr_expect_not(takes(&a, said, data, DATA_BYTES + 1), "too much");
    cr_expect_not(takes(&a, said, "\1\0\0\0\2\0\0\0\4\0\0\0abc", DATA_BYTES), "a wrong length");
    cr_expect_not(previous_request_take(&a, &body, &other, versions[1], &r), "another model");
    cr_expect_not(previous_request_take(&a, &body, &model, versions[0], &r), "another version");
    short_head.head_bytes--;
    cr_expect_not(previous_request_take(&a, &short_head, &model, versions[1], &r), "a part of it");
    short_head.head_bytes = REQUEST_NO_HEADER;
    cr_expect_not(previous_request_take(&a, &short_head, &model, versions[1], &r),
                  "all of it JSON");
    cr_expect(takes(&a, said, data, DATA_BYTES), "and it is kept through all that");
    free(changed);
    free((void *)body.data);
    previous_request_finish(&a);
}

/* The second tensor has no data, and no memory follows the body. */
Test(infer_again, what_is_shorter_is_not_read_beyond_its_end) {
    struct previous_request a = after(said, data, DATA_BYTES);
    size_t page = (size_t)sysconf(_SC_PAGESIZE), head = strlen(said), bytes = head + 8;
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *at = pages + page - bytes;
    struct request_body body = {at, bytes, head};
    struct request r;

    cr_assert_neq(pages, MAP_FAILED);
    cr_assert_eq(mprotect(pages + page, page, PROT_NONE), 0);
    memcpy(at, said, head);
    memcpy(at + head, data, 8);
    cr_expect_not(previous_request_take(&a, &body, &model, versions[1], &r));
    munmap(pages, 2 * page);
    previous_request_finish(&a);
}

Test(infer_again, what_was_json_is_read_anew) {
    static const char json[] = "{\"inputs\":[{\"name\":\"a\",\"datatype\":\"INT32\",\"shape\":[1],"
                               "\"data\":[5]},{\"name\":\"b\",\"datatype\":\"BYTES\",\"shape\":[1],"
                               "\"parameters\":{\"binary_data_size\":7}}]}";
    struct previous_request a = after(json, data + 8, 7);

    cr_expect_null(a.request.inputs);
    cr_expect_not(takes(&a, json, data + 8, 7));
    previous_request_finish(&a);
}

Test(infer_again, what_is_long_is_not_kept) {
    char *json = malloc(PREVIOUS_REQUEST_MAX_JSON_BYTES + sizeof(said));
    struct previous_request a;

    cr_assert(json);
    memset(json, ' ', PREVIOUS_REQUEST_MAX_JSON_BYTES);
    strcpy(json + PREVIOUS_REQUEST_MAX_JSON_BYTES, said);
    a = after(json, data, DATA_BYTES);
    cr_expect_null(a.request.inputs);
    cr_expect_null(a.json);
    a = after(json + sizeof(said), data, DATA_BYTES);
    cr_expect(takes(&a, json + sizeof(said), data, DATA_BYTES));
    previous_request_finish(&a);
    free(json);
}

Test(infer_again, nothing_is_never_the_same) {
    struct previous_request a = {0};

    cr_expect_not(takes(&a, said, data, DATA_BYTES));
    previous_request_finish(&a);
}
