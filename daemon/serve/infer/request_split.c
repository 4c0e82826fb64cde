/* SPDX-License-Identifier: Apache-2.0
 *
 * One pass over the text. It tracks only what is needed to recognise inputs[i].data: the open
 * brackets, and which string is a key.
 */
#include "daemon/serve/infer/request_split.h"

#include <errno.h>
#include <string.h>

#include "daemon/serve/infer/text.h"

struct scan {
    const char *at, *end;
    const char *copied; /* text before this is in the rest or was cut */
    struct cut *out;
    struct refusal *why;
    uint32_t depth;
    char open[SPLIT_MAX_NESTING];
    bool key;         /* the next string is a key */
    bool inputs;      /* within the value of the outermost key "inputs" */
    bool inputs_seen; /* the key "inputs" has occurred */
    bool data;        /* within an input whose latest key is "data" */
    uint32_t input;   /* index of the current input */
};

/* ---- strings --------------------------------------------------------------------------------- */

struct string {
    const char *text;
    size_t bytes;
    bool escapes, nul;
};

/* Reads a string from its first quote to after its last. */
static int take_string(struct scan *s, struct string *out) {
    *out = (struct string){.text = ++s->at};
    while (s->at < s->end && *s->at != '"') {
        if ((unsigned char)*s->at < ' ')
            return refusal_say(s->why, 400,
                               "a string in the JSON has a control character: write it as \\u%04x",
                               (unsigned char)*s->at);
        if (*s->at == '\\') {
            out->escapes = true;
            out->nul |= s->end - s->at > 5 && memcmp(s->at, "\\u0000", 6) == 0;
            s->at++;
        }
        if (s->at < s->end) s->at++;
    }
    if (s->at == s->end)
        return refusal_say(s->why, 400,
                           "the JSON ends within a string: check that the body is complete");
    out->bytes = (size_t)(s->at++ - out->text);
    return 0;
}

static bool is(const struct string *k, const char *name) {
    return k->bytes == strlen(name) && memcmp(k->text, name, k->bytes) == 0;
}

static int take_key(struct scan *s, const struct string *k) {
    if (k->escapes)
        return refusal_say(s->why, 400,
                           "the key \"%.*s\" contains escapes: write its characters directly",
                           (int)(k->bytes < 64 ? k->bytes : 64), k->text);
    if (s->depth == 1) {
        s->inputs = is(k, "inputs");
        if (s->inputs && s->inputs_seen)
            return refusal_say(s->why, 400, "\"inputs\" is given twice: send it once");
        s->inputs_seen |= s->inputs;
    }
    if (s->depth == 3) s->data = is(k, "data");
    return 0;
}

static int take_any_string(struct scan *s) {
    struct string string;
    int err = take_string(s, &string);

    if (err) return err;
    if (string.nul)
        return refusal_say(s->why, 400,
                           "a string contains \\u0000: only BYTES data may contain it");
    if (!s->key) return 0;
    s->key = false;
    return take_key(s, &string);
}

/* ---- data ------------------------------------------------------------------------------------ */

static bool is_data(const struct scan *s) {
    return s->depth == 3 && s->inputs && s->data && s->open[1] == '[' && s->open[2] == '{';
}

static int copy(struct scan *s, const char *until) {
    size_t bytes = (size_t)(until - s->copied);

    if (s->out->rest.len + bytes > SPLIT_MAX_BYTES)
        return refusal_say(
            s->why, 400,
            "the JSON has more than %d bytes beside the tensors' data: send fewer inputs",
            SPLIT_MAX_BYTES);
    return buf_append(&s->out->rest, s->copied, bytes) ? refusal_memory(s->why) : 0;
}

/* Skips an array, including its last bracket. */
static int skip_array(struct scan *s) {
    struct string string;
    uint32_t depth = 0;

    do {
        char c = *s->at;
        if (c == '"') {
            int err = take_string(s, &string);
            if (err) return err;
            continue;
        }
        if (c == '[' && ++depth > SPLIT_MAX_NESTING)
            return refusal_say(s->why, 400,
                               "the data of input %u is nested more than %d levels deep", s->input,
                               SPLIT_MAX_NESTING);
        if (c == ']') depth--;
        s->at++;
    } while (depth && s->at < s->end);
    if (depth)
        return refusal_say(
            s->why, 400,
            "the JSON ends within the data of input %u: check that the body is complete", s->input);
    return 0;
}

static int take_data(struct scan *s) {
    struct split_span *span = &s->out->data[s->input];
    const char *begin = s->at;
    int err;

    if (span->text)
        return refusal_say(s->why, 400, "input %u has \"data\" twice: send it once", s->input);
    err = copy(s, begin);
    if (err) return err;
    err = skip_array(s);
    if (err) return err;
    *span = (struct split_span){.text = begin, .bytes = (size_t)(s->at - begin)};
    s->copied = s->at;
    return buf_append(&s->out->rest, "0", 1) ? refusal_memory(s->why) : 0;
}

/* ---- the whole text -------------------------------------------------------------------------- */

static int push(struct scan *s, char c) {
    if (s->depth == SPLIT_MAX_NESTING)
        return refusal_say(s->why, 400, "the JSON is nested more than %d levels deep",
                           SPLIT_MAX_NESTING);
    s->open[s->depth++] = c;
    s->key = c == '{';
    s->at++;
    return 0;
}

static int pop(struct scan *s) {
    if (s->depth == 0)
        return refusal_say(s->why, 400, "the JSON closes a bracket that it did not open");
    s->depth--;
    s->key = false;
    s->at++;
    return 0;
}

static int comma(struct scan *s) {
    s->key = s->depth && s->open[s->depth - 1] == '{';
    s->at++;
    if (s->depth != 2 || !s->inputs || s->open[1] != '[') return 0;
    s->data = false;
    if (++s->input < SPLIT_MAX_INPUTS) return 0;
    return refusal_say(s->why, 400, "the request has more than %d inputs", SPLIT_MAX_INPUTS);
}

static int step(struct scan *s) {
    switch (*s->at) {
    case '"': return take_any_string(s);
    case '[': return is_data(s) ? take_data(s) : push(s, '[');
    case '{': return push(s, '{');
    case ']':
    case '}': return pop(s);
    case ',': return comma(s);
    default: s->at++; return 0;
    }
}

int request_split_json(struct cut *c, const char *text, size_t bytes, struct refusal *why) {
    struct scan s = {.at = text, .end = text + bytes, .copied = text, .out = c, .why = why};
    int err;

    *c = (struct cut){0};
    buf_init(&c->rest);
    if (!text_valid(text, bytes))
        return refusal_say(why, 400,
                           "the JSON is not UTF-8: send such data by the binary tensor extension");
    while (s.at < s.end) {
        err = step(&s);
        if (err) return err;
    }
    if (s.depth)
        return refusal_say(why, 400,
                           "the JSON ends with brackets open: check that the body is complete");
    return copy(&s, s.end);
}

void request_split_finish(struct cut *c) {
    buf_finish(&c->rest);
}
