/* SPDX-License-Identifier: Apache-2.0
 *
 * Heads of requests: their end, their contents, and the rejection of everything that a proxy in
 * front may read differently.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/serve/http/message/head.h"

static struct refusal why;

/* Parses a copy of the exact size, so that a read beyond it is detected. Returns 0 or the status.
 */
static int parse(const char *head, struct head *h, char **text) {
    size_t bytes = strlen(head), at = 0;

    why = (struct refusal){0};
    *text = malloc(bytes);
    cr_assert_not_null(*text);
    memcpy(*text, head, bytes);
    int found = head_end(*text, bytes, &at, &why);
    cr_assert(found == 0 || found == 1 || found == -EINVAL);
    if (found == 1) cr_expect_eq(at, bytes, "%s: it ends at %zu", head, at);
    if (found == 0) return -1;
    int err = found < 0 ? found : head_parse(h, *text, bytes, &why);
    cr_assert_eq(err != 0, why.status != 0, "%s: %d %d", head, err, why.status);
    return why.status;
}

static void expect(const char *head, int status, const char *part) {
    struct head h;
    char *text;

    int got = parse(head, &h, &text);
    cr_expect_eq(got, status, "%s: %d %s", head, got, why.text);
    cr_expect(strstr(why.text, part), "%s: %s", head, why.text);
    free(text);
}

#define OF(fields) "POST /v2 HTTP/1.1\r\nHost: x\r\n" fields "\r\n"

Test(front_head, says_what_it_says) {
    struct head h;
    char *text;

    cr_assert_eq(
        parse("POST /v2/models/a%20%2fb?c=d%zz HTTP/1.1\r\nhost:\tx \t\r\nCONTENT-length: 0012\r\n"
              "X-Other: y\r\ncontent-type: a; b \r\nSalus-Application:\r\n\r\n",
              &h, &text),
        0, "%s", why.text);
    cr_expect_str_eq(h.method, "POST");
    cr_expect_str_eq(h.path, "/v2/models/a /b");
    cr_expect_str_eq(h.fields[HEAD_HOST], "x");
    cr_expect_str_eq(h.fields[HEAD_TYPE], "a; b");
    cr_expect_str_eq(h.fields[HEAD_APPLICATION], "");
    cr_expect_null(h.fields[HEAD_CODING]);
    cr_expect_eq(h.body_bytes, 12);
    cr_expect(h.keep_alive && !h.http10 && !h.expects);
    free(text);
}

static void expect_path(const char *target, const char *path) {
    char head[200], *text;
    struct head h;

    snprintf(head, sizeof(head), "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", target);
    cr_assert_eq(parse(head, &h, &text), 0, "%s: %s", target, why.text);
    cr_expect_str_eq(h.path, path, "%s: %s", target, h.path);
    free(text);
}

Test(front_head, targets) {
    expect_path("/", "/");
    expect_path("/?/v2", "/");
    expect_path("/v2?a?b", "/v2");
    expect_path("http://host/v2", "/v2");
    expect_path("HTTP://host:80/v2%2F?a=/b", "/v2/");
    expect_path("http://host", "");
    expect_path("http://host?/v2", "");
    expect_path("*", "*");
    expect("GET /%0 HTTP/1.1\r\nHost: x\r\n\r\n", 400, "escape");
    expect("GET /%g0 HTTP/1.1\r\nHost: x\r\n\r\n", 400, "escape");
    expect("GET /%00 HTTP/1.1\r\nHost: x\r\n\r\n", 400, "escape");
    expect("GET /a% HTTP/1.1\r\nHost: x\r\n\r\n", 400, "escape");
    expect("GET v2 HTTP/1.1\r\nHost: x\r\n\r\n", 400, "");
    expect("CONNECT host:80 HTTP/1.1\r\nHost: x\r\n\r\n", 0, "");
}

static bool keeps(const char *head) {
    struct head h;
    char *text;

    cr_assert_eq(parse(head, &h, &text), 0, "%s: %s", head, why.text);
    free(text);
    return h.keep_alive;
}

Test(front_head, connections_that_stay) {
    cr_expect(keeps(OF("")));
    cr_expect(keeps(OF("Connection: keep-alive\r\n")));
    cr_expect(keeps(OF("Connection: upgrade\r\nUpgrade: h2c\r\n")),
              "what is not spoken is passed over");
    cr_expect_not(keeps(OF("Connection: close\r\n")));
    cr_expect_not(keeps(OF("Connection: x, CLOSE , y\r\n")));
    cr_expect_not(keeps("GET /v2 HTTP/1.0\r\n\r\n"));
    cr_expect(keeps("GET /v2 HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"));
}

static bool expects(const char *head) {
    struct head h;
    char *text;

    cr_assert_eq(parse(head, &h, &text), 0, "%s: %s", head, why.text);
    free(text);
    return h.expects;
}

Test(front_head, clients_that_wait_to_be_told) {
    cr_expect(expects(OF("Expect: 100-Continue\r\n")));
    cr_expect_not(expects(OF("Expect: 100\r\n")));
    cr_expect_not(expects(OF("")));
    cr_expect_not(expects("POST /v2 HTTP/1.0\r\nExpect: 100-continue\r\n\r\n"), "RFC 9110, 10.1.1");
}

Test(front_head, lengths) {
    expect(OF("Content-Length: -1\r\n"), 400, "");
    expect(OF("Content-Length: +1\r\n"), 400, "");
    expect(OF("Content-Length: 1 2\r\n"), 400, "");
    expect(OF("Content-Length: 1,1\r\n"), 400, "");
    expect(OF("Content-Length: 0x10\r\n"), 400, "");
    expect(OF("Content-Length:\r\n"), 400, "");
    expect(OF("Content-Length: 99999999999999999999999999\r\n"), 413, "");
    expect(OF("Content-Length: 18446744073709551615\r\n"), 413, "");
    expect(OF("Content-Length: 18446744073709551614\r\n"), 413, "");
    expect(OF("Content-Length: 5\r\nContent-Length: 5\r\n"), 400, "");
    expect(OF("Content-Length:\r\nContent-Length: 5\r\n"), 400, "");
    expect(OF("Content-Length : 5\r\n"), 400, "");
    expect(OF("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), 400, "");
    expect(OF("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"), 400, "");
    expect(OF("Content-Length: 5\r\nTransfer-Encoding: x\r\n"), 400, "");
    expect(OF("Transfer-Encoding: x\r\nTransfer-Encoding: chunked\r\n"), 400, "twice");
}

Test(front_head, chunks_are_seen) {
    static const char *const codings[] = {"chunked", "gzip, chunked", "identity",
                                          "",        "\"chunked\"",   "xchunked"};
    for (size_t i = 0; i < sizeof(codings) / sizeof(codings[0]); i++) {
        char head[200], *text;
        struct head h;
        snprintf(head, sizeof(head), OF("Transfer-Encoding: %s\r\n"), codings[i]);
        cr_expect_eq(parse(head, &h, &text), 0, "%s", why.text);
        cr_expect_str_eq(h.fields[HEAD_CODING], codings[i]);
        free(text);
    }
}

Test(front_head, fields_that_are_none) {
    expect(OF("Host: y\r\n"), 400, "Host is given twice");
    expect(OF("Salus-Application: a\r\nsalus-application: b\r\n"), 400, "twice");
    expect("GET /v2 HTTP/1.1\r\n\r\n", 400, "Host is missing");
    expect(OF("X : y\r\n"), 400, "a space");
    expect(OF("X y: z\r\n"), 400, "a space");
    expect(OF("X\r\n"), 400, "");
    expect(OF(": y\r\n"), 400, "");
    expect(OF("X(: y\r\n"), 400, "");
    expect(OF("X: y\r\n z\r\n"), 400, "second line");
    expect(OF("X: y\r\n\tz\r\n"), 400, "second line");
    expect("GET /v2 HTTP/1.1\r\n Host: x\r\n\r\n", 400, "second line");
    expect(OF("X: y\n"), 400, "CR LF");
    expect(OF("X: y\rz\r\n"), 400, "CR LF");
    expect(OF("X: y\r\r\n"), 400, "CR LF");
    expect(OF("X: \x01\r\n"), 400, "control character");
    expect(OF("X: \x7f\r\n"), 400, "control character");
    expect(OF("X: \xff\r\n"), 0, "");
}

Test(front_head, lines_that_are_none) {
    expect("GET /v2 HTTP/1.1\n\n", 400, "CR LF");
    expect("GET\r\n\r\n", 501, "method");
    expect("GET /v2\r\n\r\n", 505, "HTTP/0.9");
    expect("GET /v2 HTTP/2.0\r\nHost: x\r\n\r\n", 505, "HTTP/2.0");
    expect("GET /v2 HTTP/1.1 \r\nHost: x\r\n\r\n", 400, "");
    expect("GET /v2 HTTP/11\r\nHost: x\r\n\r\n", 400, "");
    expect("GET /v2 http/1.1\r\nHost: x\r\n\r\n", 400, "");
    expect("GET /v2 ICE/1.0\r\nHost: x\r\n\r\n", 400, "");
    expect("GET  /v2 HTTP/1.1\r\nHost: x\r\n\r\n", 400, "");
    expect("GET /v2  HTTP/1.1\r\nHost: x\r\n\r\n", 400, "");
    expect("GET\t/v2 HTTP/1.1\r\nHost: x\r\n\r\n", 501, "method");
    expect("GET /v 2 HTTP/1.1\r\nHost: x\r\n\r\n", 400, "");
    expect(" GET /v2 HTTP/1.1\r\nHost: x\r\n\r\n", 400, "");
    expect("get /v2 HTTP/1.1\r\nHost: x\r\n\r\n", 501, "method");
    expect("FETCH /v2 HTTP/1.1\r\nHost: x\r\n\r\n", 501, "method");
    expect("HTTP/1.1 200 OK\r\nHost: x\r\n\r\n", 501, "method");
}

Test(front_head, its_end_is_found_in_pieces) {
    static const char text[] = OF("X: y\r\n") "POST";
    size_t bytes = strlen(text), end = bytes - 4, at = 0;

    for (size_t n = 0; n < end; n++)
        cr_assert_eq(head_end(text, n, &at, &why), 0, "%zu", n);
    cr_expect_eq(head_end(text, end, &at, &why), 1);
    cr_expect_eq(at, end);
    at = 0;
    cr_expect_eq(head_end(text, bytes, &at, &why), 1);
    cr_expect_eq(at, end, "what is behind it is none of it");
}

Test(front_head, numbers) {
    size_t n;

    cr_expect_eq(head_number("", &n), -EINVAL);
    cr_expect_eq(head_number("1a", &n), -EINVAL);
    cr_expect(head_number("007", &n) == 0 && n == 7);
    cr_expect(head_number("18446744073709551614", &n) == 0 && n == 18446744073709551614u);
    cr_expect(head_number("18446744073709551615", &n) == 0 && n == HEAD_TOO_LONG);
    cr_expect(head_number("99999999999999999999999", &n) == 0 && n == HEAD_TOO_LONG);
    cr_expect_eq(head_number("99999999999999999999999x", &n), -EINVAL);
}
