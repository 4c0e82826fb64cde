/* SPDX-License-Identifier: Apache-2.0
 *
 * A complete head is parsed by http_parser in one call. Some input is rejected before, because
 * http_parser accepts it and RFC 9112 does not: lines without CR, a CR within a line, folded lines,
 * control characters. Other input is rejected afterwards: an empty length, a repeated field.
 */
#include "daemon/serve/http/message/head.h"

#include <errno.h>
#include <http_parser.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

struct span {
    size_t at, bytes;
};

struct reading {
    char *text;
    struct head *head;
    struct refusal *why;
    int field; /* field of the next value; HEAD_FIELDS: a field that is not used */
    struct span target, values[HEAD_FIELDS];
    bool there[HEAD_FIELDS], whole;
};

/* ---- end of a head --------------------------------------------------------------------------- */

int head_end(const char *text, size_t bytes, size_t *at, struct refusal *why) {
    for (size_t i = *at; i < bytes; i++) {
        unsigned char c = (unsigned char)text[i], before = i ? (unsigned char)text[i - 1] : '\n';
        if (c > ' ' && c != 127 && before != '\r') continue; /* true for nearly all characters */
        if ((c == '\n') != (before == '\r'))
            return refusal_say(why, 400, "a line of the request's head does not end in CR LF");
        if (before == '\n' && (c == ' ' || c == '\t'))
            return refusal_say(why, 400, "a header continues in a second line, or has no name");
        if (c == 127 || (c < ' ' && c != '\r' && c != '\n' && c != '\t'))
            return refusal_say(why, 400, "the request's head contains a control character");
        if (c == '\n' && i >= 3 && text[i - 2] == '\n') {
            *at = i + 1;
            return 1;
        }
    }
    *at = bytes;
    return 0;
}

/* ---- callbacks of http_parser ---------------------------------------------------------------- */

static int on_target(http_parser *p, const char *at, size_t bytes) {
    struct reading *r = p->data;

    r->target = (struct span){(size_t)(at - r->text), bytes};
    return 0;
}

static int on_field(http_parser *p, const char *at, size_t bytes) {
    static const struct {
        const char *name;
        size_t bytes;
    } names[] = {
#define X(field, name) {name, sizeof(name) - 1},
        HEAD_LIST(X)
#undef X
    };
    struct reading *r = p->data;
    int i = 0;

    /* http_parser accepts "Content-Length : 5" */
    if (memchr(at, ' ', bytes)) return refusal_say(r->why, 400, "a header's name contains a space");
    while (i < HEAD_FIELDS &&
           (names[i].bytes != bytes || strncasecmp(names[i].name, at, bytes) != 0))
        i++;
    r->field = i;
    if (i == HEAD_FIELDS || !r->there[i]) return 0;
    return refusal_say(r->why, 400, "the header %s is given twice: send it once", names[i].name);
}

static int on_value(http_parser *p, const char *at, size_t bytes) {
    struct reading *r = p->data;

    if (r->field == HEAD_FIELDS) return 0;
    while (bytes && (at[bytes - 1] == ' ' || at[bytes - 1] == '\t'))
        bytes--;
    r->there[r->field] = true;
    r->values[r->field] = (struct span){(size_t)(at - r->text), bytes};
    return 0;
}

static int on_whole(http_parser *p) {
    struct reading *r = p->data;

    r->whole = true;
    r->head->keep_alive = http_should_keep_alive(p) != 0;
    http_parser_pause(p, 1); /* http_parser does not read bodies */
    return 0;
}

/* ---- request target -------------------------------------------------------------------------- */

static int digit_of(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* Decodes percent escapes in place. */
static int unescape(char *s) {
    char *out = s;

    for (; *s; s++, out++) {
        *out = *s;
        if (*s != '%') continue;
        int high = digit_of(s[1]), low = high < 0 ? -1 : digit_of(s[2]);
        if (low < 0 || high + low == 0) return -EINVAL;
        *out = (char)(high << 4 | low);
        s += 2;
    }
    *out = '\0';
    return 0;
}

/* Extracts the path of "/path?query" or of "http://host/path?query". Proxies send the latter, and
 * every server must accept it (RFC 9112, 3.2.2). */
static int take_path(struct head *h, char *target, size_t bytes, struct refusal *why) {
    struct http_parser_url url;
    char *path = target;

    target[bytes] = '\0';
    if (*target != '/' && *target != '*') {
        http_parser_url_init(&url);
        if (http_parser_parse_url(target, bytes, strcmp(h->method, "CONNECT") == 0, &url))
            return refusal_say(why, 400, "the request's target is neither a path nor a URL");
        /* without a path: an empty one, which matches no route */
        path = target + (url.field_set & 1 << UF_PATH ? url.field_data[UF_PATH].off : bytes);
    }
    path[strcspn(path, "?")] = '\0';
    if (unescape(path))
        return refusal_say(
            why, 400,
            "the request's path has an invalid %% escape: write %% and two hexadecimal digits");
    h->path = path;
    return 0;
}

/* ---- whole head ------------------------------------------------------------------------------ */

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

int head_number(const char *text, size_t *number) {
    size_t n = 0;

    if (!*text) return -EINVAL;
    for (; *text; text++) {
        if (!is_digit(*text)) return -EINVAL;
        size_t digit = (size_t)(*text - '0');
        n = n > (SIZE_MAX - 1 - digit) / 10 ? HEAD_TOO_LONG : n * 10 + digit;
    }
    *number = n;
    return 0;
}

/* Reports http_parser's error at `at`. A length too large for http_parser is still a valid number,
 * and gets status 413. */
static int complain(const struct reading *r, const http_parser *p, size_t at, size_t bytes) {
    enum http_errno e = HTTP_PARSER_ERRNO(p);
    const char *c = r->text + at;

    if (r->why->status) return -EINVAL;
    if (e == HPE_INVALID_CONTENT_LENGTH && at && at < bytes && is_digit(c[-1]) && is_digit(*c))
        return refusal_say(r->why, 413, "the value of Content-Length is too large");
    if (e == HPE_INVALID_METHOD)
        return refusal_say(r->why, 501, "the request's method is not one of HTTP");
    return refusal_say(r->why, 400, "the request's head is not valid HTTP: %s",
                       http_errno_description(e));
}

/* Requires one space before and after the target; http_parser accepts several. */
static int check_spaces(const struct reading *r) {
    size_t end = r->target.at + r->target.bytes;

    if (r->target.at == strlen(r->head->method) + 1 && r->text[end + 1] == 'H') return 0;
    return refusal_say(r->why, 400,
                       "the request line must have exactly one space before and after the target");
}

static int check_fields(struct head *h, struct refusal *why) {
    const char *const *f = (const char *const *)h->fields;

    if (!h->http10 && !f[HEAD_HOST])
        return refusal_say(why, 400, "the header Host is missing: HTTP/1.1 requires it");
    if (f[HEAD_BODY_BYTES] && head_number(f[HEAD_BODY_BYTES], &h->body_bytes))
        return refusal_say(why, 400, "Content-Length '%.32s' is not a number of bytes",
                           f[HEAD_BODY_BYTES]);
    h->expects = !h->http10 && f[HEAD_EXPECT] && strcasecmp(f[HEAD_EXPECT], "100-continue") == 0;
    return 0;
}

int head_parse(struct head *h, char *text, size_t bytes, struct refusal *why) {
    static const http_parser_settings settings = {.on_url = on_target,
                                                  .on_header_field = on_field,
                                                  .on_header_value = on_value,
                                                  .on_headers_complete = on_whole};
    struct reading r = {.text = text, .head = h, .why = why};
    http_parser p;
    size_t done;

    *h = (struct head){0};
    http_parser_init(&p, HTTP_REQUEST);
    p.data = &r;
    done = http_parser_execute(&p, &settings, text, bytes);
    if (!r.whole) return complain(&r, &p, done, bytes);
    if (p.http_major != 1)
        return refusal_say(why, 505, "HTTP/%d.%d is not supported: use HTTP/1.1", p.http_major,
                           p.http_minor);
    h->method = http_method_str((enum http_method)p.method);
    h->http10 = p.http_minor == 0;
    if (check_spaces(&r)) return -EINVAL;
    for (int i = 0; i < HEAD_FIELDS; i++) {
        if (!r.there[i]) continue;
        text[r.values[i].at + r.values[i].bytes] = '\0';
        h->fields[i] = text + r.values[i].at;
    }
    if (check_fields(h, why)) return -EINVAL;
    return take_path(h, text + r.target.at, r.target.bytes, why);
}
