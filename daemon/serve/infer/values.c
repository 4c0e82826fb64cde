/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory grows with the elements in the text, whatever the shape says: an element has at least two
 * bytes of text.
 */
#include "daemon/serve/infer/values.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "daemon/serve/infer/number.h"
#include "daemon/serve/infer/text.h"

#define SHOWN 40 /* longest excerpt of a wrong value */

enum state {
    STATE_FIRST, /* after an opening bracket: a value or the end */
    STATE_VALUE, /* after a comma */
    STATE_AFTER, /* after a value */
};

struct reader {
    const struct tensor *t;
    const char *at, *end;
    struct buf *out;
    struct refusal *why;
    uint64_t count; /* elements so far */
    uint32_t depth;
    enum state state;
};

static int refuse(const struct reader *r, const char *from, size_t bytes, const char *what) {
    return refusal_say(r->why, 400, "input \"%.64s\", element %" PRIu64 ": %.*s %s (%s)",
                       r->t->name, r->count, (int)(bytes < SHOWN ? bytes : SHOWN), from, what,
                       datatype_name(r->t->type));
}

static int refuse_here(const struct reader *r, const char *what) {
    return refuse(r, r->at, r->end - r->at > 0, what);
}

/* ---- elements -------------------------------------------------------------------------------- */

static int read_number(struct reader *r) {
    const char *from = r->at, *wrong;
    size_t bytes = datatype_bytes(r->t->type);
    void *room;

    while (r->at < r->end && !strchr(",[]{}\" \t\r\n", *r->at))
        r->at++;
    room = buf_extend(r->out, bytes);
    if (!room) return refusal_memory(r->why);
    wrong = number_read(from, (size_t)(r->at - from), r->t->type, room);
    return wrong ? refuse(r, from, (size_t)(r->at - from), wrong) : 0;
}

static int read_string(struct reader *r) {
    const char *from = ++r->at;
    size_t length_at = r->out->len;
    uint32_t length;
    int err;

    while (r->at < r->end && *r->at != '"')
        r->at += *r->at == '\\' ? 2 : 1;
    if (r->at >= r->end) return refuse(r, from, 0, "a string does not end");
    if (!buf_extend(r->out, 4)) return refusal_memory(r->why);
    err = text_read(r->out, from, (size_t)(r->at - from));
    if (err == -EINVAL) return refuse(r, from, (size_t)(r->at - from), "has a wrong escape");
    if (err) return refusal_memory(r->why);
    length = (uint32_t)(r->out->len - length_at - 4);
    memcpy(r->out->data + length_at, &length, 4);
    r->at++;
    return 0;
}

static int read_element(struct reader *r) {
    bool string = *r->at == '"', bytes = r->t->type == DATATYPE_BYTES;
    int err;

    if (r->count == r->t->elements)
        return refusal_say(r->why, 400,
                           "input \"%.64s\": more data than the %" PRIu64
                           " elements of its shape: shape and data must agree",
                           r->t->name, r->t->elements);
    if (string != bytes || *r->at == '{')
        return refuse_here(r, bytes ? "is not a string" : "is not a number");
    err = string ? read_string(r) : read_number(r);
    r->count++;
    r->state = STATE_AFTER;
    return err;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static int open_array(struct reader *r) {
    if (r->state == STATE_AFTER) return refuse_here(r, "is not preceded by a comma");
    if (++r->depth > TENSOR_MAX_RANK) return refuse_here(r, "is nested too deep");
    r->state = STATE_FIRST;
    r->at++;
    return 0;
}

static int close_array(struct reader *r) {
    if (r->state == STATE_VALUE) return refuse_here(r, "is where a value should be");
    r->depth--;
    r->state = STATE_AFTER;
    r->at++;
    return 0;
}

static int step(struct reader *r) {
    switch (*r->at) {
    case ' ':
    case '\t':
    case '\r':
    case '\n': r->at++; return 0;
    case '[': return open_array(r);
    case ']': return close_array(r);
    case ',':
        if (r->state != STATE_AFTER) return refuse_here(r, "is where a value should be");
        r->state = STATE_VALUE;
        r->at++;
        return 0;
    default:
        if (r->state == STATE_AFTER) return refuse_here(r, "is not preceded by a comma");
        return read_element(r);
    }
}

int values_read(const struct tensor *t, const char *text, size_t bytes, struct buf *out,
                struct refusal *why) {
    struct reader r = {
        .t = t, .at = text, .end = text + bytes, .out = out, .why = why, .state = STATE_VALUE};
    uint64_t most = bytes / 2 + 1, expected = t->elements < most ? t->elements : most;

    if (t->type == DATATYPE_BF16)
        return refusal_say(why, 400, "input \"%.64s\": JSON has no form for BF16: send binary data",
                           t->name);
    if (bytes == 0 || *text != '[') return refuse_here(&r, "is not an array");
    if (buf_reserve(out, expected * datatype_bytes(t->type) + 1)) return refusal_memory(why);
    do {
        int err = r.at < r.end ? step(&r) : refuse_here(&r, "the array does not end");
        if (err) return err;
    } while (r.depth);
    if (r.at < r.end) return refuse_here(&r, "follows the array");
    if (r.count == t->elements) return 0;
    return refusal_say(why, 400,
                       "input \"%.64s\": %" PRIu64 " elements of data, but its shape has %" PRIu64
                       ": shape and data must agree",
                       t->name, r.count, t->elements);
}

/* ---- writing --------------------------------------------------------------------------------- */

static int write_strings(struct buf *json, const struct tensor *t, struct refusal *why) {
    uint64_t at = 0;

    for (uint64_t i = 0; i < t->elements; i++) {
        uint32_t bytes;
        const char *content = tensor_element(t, &at, &bytes);
        if (!text_valid(content, bytes))
            return refusal_say(why, 400,
                               "output \"%.64s\", element %" PRIu64
                               ": the value is not UTF-8, as JSON requires: request binary data",
                               t->name, i);
        if (i) buf_append(json, ",", 1);
        text_write(json, content, bytes);
    }
    return 0;
}

static int write_numbers(struct buf *json, const struct tensor *t, struct refusal *why) {
    const unsigned char *p = t->data;
    size_t each = datatype_bytes(t->type);

    for (uint64_t i = 0; i < t->elements; i++) {
        if (i) buf_append(json, ",", 1);
        if (number_write(json, t->type, p + i * each) == -EDOM)
            return refusal_say(
                why, 400,
                "output \"%.64s\", element %" PRIu64
                ": the value is not finite, and JSON has no number for it: request binary data",
                t->name, i);
    }
    return 0;
}

int values_write(struct buf *json, const struct tensor *t, struct refusal *why) {
    int err;

    if (t->type == DATATYPE_BF16)
        return refusal_say(
            why, 400, "output \"%.64s\": JSON has no form for BF16: request binary data", t->name);
    buf_append(json, "[", 1);
    err = t->type == DATATYPE_BYTES ? write_strings(json, t, why) : write_numbers(json, t, why);
    buf_append(json, "]", 1);
    return err;
}
