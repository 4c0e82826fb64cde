/* SPDX-License-Identifier: Apache-2.0
 *
 * A connection as bytes, in pieces of every size: the result is the same, bodies go to their
 * destination, and the data that is buffered while a request is answered is bounded.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/serve/http/message/session.h"

#define BODY_BYTES 100000

struct rig {
    struct session s;
    struct refusal why;
    char scratch[HEAD_MAX_BYTES];
    char body[BODY_BYTES];
    bool pass_over; /* skips bodies */
    char log[4096]; /* the calls that were made */
};

static struct rig *start(void) {
    struct rig *r = calloc(1, sizeof(*r));

    cr_assert_not_null(r);
    session_init(&r->s);
    return r;
}

static void finish(struct rig *r) {
    session_finish(&r->s);
    free(r);
}

static void note(struct rig *r, const char *what, const char *which) {
    size_t n = strlen(r->log);
    snprintf(r->log + n, sizeof(r->log) - n, "%s %s\n", what, which);
}

/* Continues up to a complete request, or the end of the input. */
static enum session_next turn(struct rig *r) {
    enum session_next next;

    while ((next = session_next(&r->s, &r->why)) == SESSION_HEAD) {
        note(r, r->s.head.method, r->s.head.path);
        cr_assert_leq(r->s.head.body_bytes, BODY_BYTES);
        session_body(&r->s, r->pass_over ? NULL : r->body);
    }
    return next;
}

/* Gives the next piece, of which the session takes as much as fits. */
static size_t give(struct rig *r, const char *data, size_t bytes) {
    size_t room;
    void *at = session_room(&r->s, r->scratch, &room);

    if (room < bytes) bytes = room;
    if (bytes == 0) return 0;
    memcpy(at, data, bytes);
    session_came(&r->s, at, bytes);
    return bytes;
}

/* Gives all data; answers each request when it is complete. */
static void take(struct rig *r, const char *data, size_t bytes, size_t piece) {
    while (bytes) {
        size_t n = give(r, data, bytes < piece ? bytes : piece);
        cr_assert_gt(n, 0);
        data += n;
        bytes -= n;
        for (enum session_next next; (next = turn(r)) != SESSION_MORE;) {
            char text[80] = "";
            if (next == SESSION_BAD)
                snprintf(text, sizeof(text), "%d", r->why.status);
            else if (!r->pass_over)
                snprintf(text, sizeof(text), "%.*s", (int)r->s.body_bytes, r->body);
            note(r, next == SESSION_BAD ? "bad" : "body", text);
            r->why.status = 0;
            if (next == SESSION_WHOLE) session_answered(&r->s, false);
        }
        cr_assert_eq(session_keep(&r->s), 0);
        /* the buffer now belongs to another connection */
        memset(r->scratch, '#', sizeof(r->scratch));
    }
}

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"
#define POST(path, bytes) "POST " path " HTTP/1.1\r\nHost: x\r\nContent-Length: " bytes "\r\n\r\n"

Test(front_session, the_same_in_pieces_of_any_size) {
    static const char all[] =
        "\r\n\r\n" GET("/a") POST("/b", "5") "12345" POST("/c", "0") "\r\n" POST(
            "/d", "3") "abc" GET("/e") "GET /f HTTP/1.1\r\n folded\r\n\r\n" GET("/g");
    static const char want[] =
        "GET /a\nbody \nPOST /b\nbody 12345\nPOST /c\nbody \nPOST /d\nbody abc\n"
        "GET /e\nbody \nbad 400\n";
    for (size_t piece = 1; piece <= sizeof(all); piece++) {
        struct rig *r = start();
        take(r, all, sizeof(all) - 1, piece);
        cr_expect_str_eq(r->log, want, "%zu: %s", piece, r->log);
        cr_expect_eq(r->s.state, SESSION_OVER);
        finish(r);
    }
}

Test(front_session, bodies_are_passed_over) {
    static const char all[] = POST("/b", "50000");
    struct rig *r = start();
    char *data = calloc(1, 50000);

    cr_assert_not_null(data);
    r->pass_over = true;
    take(r, all, sizeof(all) - 1, 1000);
    take(r, data, 50000, 7000);
    take(r, GET("/next"), strlen(GET("/next")), 1000);
    cr_expect_str_eq(r->log, "POST /b\nbody \nGET /next\nbody \n");
    free(data);
    finish(r);
}

Test(front_session, a_body_goes_right_to_its_place) {
    static const char head[] = POST("/b", "50000") "123";
    struct rig *r = start();
    size_t room;

    give(r, head, sizeof(head) - 1);
    cr_expect_eq(turn(r), SESSION_MORE);
    cr_expect_eq(memcmp(r->body, "123", 3), 0);
    cr_assert_eq(session_keep(&r->s), 0);
    cr_expect_null(r->s.kept);
    cr_expect_eq(session_room(&r->s, r->scratch, &room), r->body + 3);
    cr_expect_eq(room, 49997, "and no byte of the next request");
    session_came(&r->s, r->body + 3, 49997);
    cr_expect_eq(turn(r), SESSION_WHOLE);
    cr_expect_eq(turn(r), SESSION_MORE, "it is to be answered");
    finish(r);
}

Test(front_session, nothing_is_parsed_while_one_is_answered) {
    static const char two[] = GET("/a") "garbage\n";
    struct rig *r = start();
    size_t room, kept = 0, n;
    char more[1000];

    memset(more, 'x', sizeof(more));
    give(r, two, sizeof(two) - 1);
    cr_expect_eq(turn(r), SESSION_WHOLE);
    do {
        cr_assert_eq(turn(r), SESSION_MORE);
        cr_assert_eq(session_keep(&r->s), 0);
        n = give(r, more, sizeof(more));
        kept += n;
    } while (n);
    cr_expect_leq(kept, HEAD_MAX_BYTES, "a client cannot fill memory");
    session_room(&r->s, r->scratch, &room);
    cr_expect_eq(room, 0);
    session_answered(&r->s, false);
    cr_expect_eq(turn(r), SESSION_BAD);
    cr_expect_eq(r->why.status, 400);
    finish(r);
}

Test(front_session, nothing_is_kept_where_nothing_is_there) {
    struct rig *r = start();

    give(r, "GET", 3);
    cr_expect_eq(turn(r), SESSION_MORE);
    cr_expect(session_begun(&r->s));
    cr_assert_eq(session_keep(&r->s), 0);
    cr_expect_not_null(r->s.kept);
    take(r, GET("/a") + 3, strlen(GET("/a")) - 3, 100);
    cr_expect_null(r->s.kept, "idle connections cost no memory");
    cr_expect_not(session_begun(&r->s));
    take(r, "\r\n", 2, 2);
    cr_expect_not(session_begun(&r->s), "an empty line begins nothing");
    cr_expect_null(r->s.kept);
    finish(r);
}

/* "GET / HTTP/1.1", with a header that makes the head `bytes` long. */
static char *long_head(size_t bytes) {
    char *text = malloc(bytes + 1);
    static const char begin[] = "GET /a HTTP/1.1\r\nHost: x\r\nX: ", end[] = "\r\n\r\n";

    cr_assert_not_null(text);
    memset(text, 'y', bytes);
    memcpy(text, begin, sizeof(begin) - 1);
    memcpy(text + bytes - 4, end, sizeof(end));
    return text;
}

Test(front_session, heads_have_a_limit) {
    for (int more = 0; more < 2; more++) {
        for (size_t piece = 1000; piece <= HEAD_MAX_BYTES; piece += 1923) {
            struct rig *r = start();
            char *text = long_head(HEAD_MAX_BYTES + (size_t)more);
            take(r, text, HEAD_MAX_BYTES + (size_t)more, piece);
            cr_expect_str_eq(r->log, more ? "bad 431\n" : "GET /a\nbody \n", "%zu: %s", piece,
                             r->log);
            free(text);
            finish(r);
        }
    }
}

Test(front_session, what_comes_behind_the_last_request_is_passed_over) {
    struct rig *r = start();
    size_t room;

    take(r, GET("/a"), strlen(GET("/a")), 1000);
    session_answered(&r->s, true);
    for (int i = 0; i < 100; i++) {
        session_room(&r->s, r->scratch, &room);
        cr_expect_eq(room, HEAD_MAX_BYTES);
        take(r, GET("/b"), strlen(GET("/b")), 1000);
    }
    cr_expect_str_eq(r->log, "GET /a\nbody \n");
    cr_expect_null(r->s.kept);
    finish(r);
}
