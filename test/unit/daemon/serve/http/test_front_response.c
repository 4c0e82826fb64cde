/* SPDX-License-Identifier: Apache-2.0
 *
 * Response heads, byte for byte, and their date.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "daemon/serve/http/message/date.h"
#include "daemon/serve/http/message/response.h"

static void expect(const struct response *r, const char *want) {
    char text[RESPONSE_HEAD_BYTES + 1];
    size_t n = response_write(r, "DATE", text);

    text[n] = '\0';
    cr_expect_str_eq(text, want, "%s", text);
}

Test(front_response, heads) {
    expect(&(struct response){.status = 200, .json_bytes = RESPONSE_NO_JSON},
           "HTTP/1.1 200 OK\r\nDate: DATE\r\nContent-Length: 0\r\n\r\n");
    expect(
        &(struct response){
            .status = 200, .type = "a/b", .body_bytes = 12, .json_bytes = 7, .http10 = true},
        "HTTP/1.1 200 OK\r\nDate: DATE\r\nContent-Length: 12\r\nContent-Type: a/b\r\n"
        "Inference-Header-Content-Length: 7\r\nConnection: keep-alive\r\n\r\n");
    expect(&(struct response){.status = 405,
                              .allow = "GET, HEAD",
                              .json_bytes = RESPONSE_NO_JSON,
                              .last = true,
                              .http10 = true},
           "HTTP/1.1 405 Method Not Allowed\r\nDate: DATE\r\nContent-Length: 0\r\nAllow: GET, "
           "HEAD\r\nConnection: close\r\n\r\n");
    expect(&(struct response){.status = 429, .retry_after_s = 7, .json_bytes = RESPONSE_NO_JSON},
           "HTTP/1.1 429 Too Many Requests\r\nDate: DATE\r\nContent-Length: 0\r\nRetry-After: "
           "7\r\n\r\n");
}

Test(front_response, the_longest_fits) {
    struct response r = {.status = 431,
                         .type = "text/plain; version=0.0.4; charset=utf-8",
                         .allow = "GET, HEAD",
                         .body_bytes = SIZE_MAX,
                         .json_bytes = SIZE_MAX - 1,
                         .retry_after_s = UINT32_MAX,
                         .last = true};
    char text[RESPONSE_HEAD_BYTES];
    size_t n = response_write(&r, "Sun, 06 Nov 1994 08:49:37 GMT", text);

    cr_expect_lt(n, RESPONSE_HEAD_BYTES);
    cr_expect_eq(memcmp(text + n - 4, "\r\n\r\n", 4), 0);
}

Test(front_response, dates) {
    struct date d = {0};

    cr_expect_str_eq(date_text(&d, 0), "Thu, 01 Jan 1970 00:00:00 GMT");
    cr_expect_str_eq(date_text(&d, 784111777),
                     "Sun, 06 Nov 1994 08:49:37 GMT"); /* RFC 9110, 5.6.7 */
    const char *before = date_text(&d, 1793715372);
    cr_expect_str_eq(before, "Tue, 03 Nov 2026 14:16:12 GMT");
    d.text[0] = 'X';
    cr_expect_str_eq(date_text(&d, 1793715372), "Xue, 03 Nov 2026 14:16:12 GMT",
                     "made once a second");
    cr_expect_str_eq(date_text(&d, 1793715373), "Tue, 03 Nov 2026 14:16:13 GMT");
}
