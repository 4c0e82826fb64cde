/* SPDX-License-Identifier: Apache-2.0
 *
 * The HTTP front in its loop, with its client in the same thread. Answers come at every point of a
 * turn of the loop. Every allocation that the front makes for a connection fails once: its client
 * gets a 503, or its connection is closed; nothing leaks, and the next connection is served.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/serve/http/advance.h"
#include "daemon/serve/http/exchange.h"
#include "daemon/serve/http/front.h"
#include "daemon/serve/http/front_parts.h"
#include "daemon/serve/http/front_reply.h"

/* Wraps the front's allocations (--wrap). fail_in: which of the next fails, 1 for the first; 0:
 * none. */
static int fail_in, failed;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);

static int fails(void) {
    if (!fail_in || --fail_in) return 0;
    failed++;
    return 1;
}

void *__wrap_malloc(size_t bytes) {
    return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes) {
    return fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *old, size_t bytes) {
    return fails() ? NULL : __real_realloc(old, bytes);
}

/* ---- a model that returns its input, at once or on request
 * -------------------------------------- */

static uv_loop_t loop;
static struct front *front;
static bool later, by_hand, stopped;
static struct front_reply *waits;
static const struct request *waiting;

static const char *const versions[] = {"1"};
static const struct model_tensor in[] = {
    {.name = "x", .type = DATATYPE_UINT8, .rank = 1, .shape = {-1}}};
static const struct model_tensor out[] = {
    {.name = "y", .type = DATATYPE_UINT8, .rank = 1, .shape = {-1}}};
static const struct model model = {.name = "m",
                                   .versions = versions,
                                   .versions_count = 1,
                                   .inputs = in,
                                   .inputs_count = 1,
                                   .outputs = out,
                                   .outputs_count = 1};

static const struct model *list_models(void *arg, size_t *count) {
    *count = 1;
    return &model;
}

static bool is_ready(void *arg, const struct model *m) {
    return true;
}

static void answer(struct front_reply *reply, const struct request *r) {
    struct tensor y = r->inputs[0];

    y.name = "y";
    waits = NULL;
    front_answer(reply, &y, 1);
}

static void infer(void *arg, const struct request *r, struct front_reply *reply) {
    if (!later) {
        answer(reply, r);
        return;
    }
    waits = reply;
    waiting = r;
}

static void answer_now(void) {
    if (waits) answer(waits, waiting);
}

static void on_prepare(uv_prepare_t *p) {
    answer_now();
}

static void on_check(uv_check_t *c) {
    answer_now();
}

static void gone(void *arg, struct front_reply *reply) {
    waits = NULL;
}

static const struct front_ops ops = {
    .version = "0", .models = list_models, .ready = is_ready, .infer = infer, .gone = gone};

/* ---- its client, in the same thread ------------------------------------------------------------
 */

static void turn_loop(void) {
    for (int i = 0; i < 5; i++) {
        uv_run(&loop, UV_RUN_NOWAIT);
        if (waits && !by_hand) answer(waits, waiting);
    }
}

static int dial(void) {
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons(front_port(front)),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    cr_assert_eq(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    turn_loop();
    return fd;
}

/* Sends three requests in five pieces; the third piece also has the next request's first bytes.
 * Returns the number of answers with status 200; any other is a 503. */
static int ask(void) {
    static const char *const pieces[] = {
        "POST /v2/models/m/infer HTTP/1.1\r\nHo",
        "st: x\r\nContent-Length: 69\r\n\r\n{\"inputs\":[",
        "{\"name\":\"x\",\"datatype\":\"UINT8\",\"shape\":[2],\"data\":[1,2]}]}GET /v2 HTT",
        "P/1.1\r\nHost: x\r\n\r\nGET ", "/v2/models/m HTTP/1.1\r\nHost: x\r\n\r\n"};
    int fd = dial(), right = 0;
    char text[8192];
    size_t bytes = 0;
    ssize_t n;

    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        send(fd, pieces[i], strlen(pieces[i]), MSG_NOSIGNAL);
        turn_loop();
    }
    while ((n = recv(fd, text + bytes, sizeof(text) - 1 - bytes, MSG_DONTWAIT)) > 0)
        bytes += (size_t)n;
    text[bytes] = '\0';
    for (const char *at = text; (at = strstr(at, "HTTP/1.1 ")); at += 9) {
        int status = atoi(at + 9);
        cr_expect(status == 200 || status == 503, "%s", text);
        right += status == 200;
    }
    close(fd);
    turn_loop();
    return right;
}

static void on_stopped(void *arg) {
    stopped = true;
    front_destroy(front);
}

static void every_allocation(bool answered_later) {
    struct front_config config = {.limits = front_default_limits(), .ops = &ops};
    char why[256] = "";
    int trial = 0;

    later = answered_later;
    uv_loop_init(&loop);
    cr_assert_eq(front_create(&front, &loop, &config, why, sizeof(why)), 0, "%s", why);
    cr_assert_eq(ask(), 3, "all is well before");
    do {
        failed = 0;
        fail_in = ++trial;
        ask();
        fail_in = 0;
        cr_expect_eq(front->bodies_bytes, 0, "trial %d", trial);
        cr_expect_eq(front->conns.count, 0, "trial %d", trial);
        cr_assert_eq(ask(), 3, "trial %d", trial);
    } while (failed);
    cr_expect_gt(trial, 10);
    front_stop(front, on_stopped, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_expect(stopped);
    cr_expect_eq(uv_loop_close(&loop), 0);
}

Test(front_loop, every_allocation_fails_once) {
    every_allocation(false);
}

Test(front_loop, and_where_the_answer_comes_later) {
    every_allocation(true);
}

/* Several connections at once, beyond the limit. */
Test(front_loop, connections_are_turned_away) {
    struct front_config config = {.limits = front_default_limits(), .ops = &ops};
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char why[256] = "", c;
    int fds[8];

    uv_loop_init(&loop);
    cr_assert_eq(front_create(&front, &loop, &config, why, sizeof(why)), 0, "%s", why);
    a.sin_port = htons(front_port(front));
    for (int i = 0; i < 8; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM, 0);
        cr_assert_eq(connect(fds[i], (struct sockaddr *)&a, sizeof(a)), 0);
    }
    for (int i = 0; i < 8; i++) {
        fail_in = 1;
        uv_run(&loop, UV_RUN_NOWAIT);
    }
    fail_in = 0;
    turn_loop();
    int closed = 0;
    for (int i = 0; i < 8; i++) {
        closed += recv(fds[i], &c, 1, MSG_DONTWAIT) == 0;
        close(fds[i]);
    }
    cr_expect_gt(closed, 0);
    turn_loop();
    cr_expect_eq(ask(), 3);
    front_stop(front, on_stopped, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_expect(stopped);
    cr_expect_eq(uv_loop_close(&loop), 0);
}

static size_t answers_in(int fd) {
    char text[8192];
    ssize_t n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);
    size_t count = 0;

    text[n > 0 ? n : 0] = '\0';
    for (const char *at = text; (at = strstr(at, "HTTP/1.1 200")); at += 9)
        count++;
    return count;
}

/* Two requests of one connection are answered in one turn of the loop: the second one's bytes
 * arrive in between, and a third one's after them. */
Test(front_loop, two_answers_in_a_turn) {
    static const char one[] =
        "POST /v2/models/m/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 69\r\n\r\n"
        "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"UINT8\",\"shape\":[2],\"data\":[1,2]}]}";
    struct front_config config = {.limits = front_default_limits(), .ops = &ops};
    uv_prepare_t prepare;
    uv_check_t check;
    char why[256] = "";

    later = by_hand = true;
    uv_loop_init(&loop);
    cr_assert_eq(front_create(&front, &loop, &config, why, sizeof(why)), 0, "%s", why);
    int fd = dial();
    send(fd, one, strlen(one), MSG_NOSIGNAL);
    send(fd, "GET", 3, MSG_NOSIGNAL); /* buffered after the request */
    turn_loop();
    cr_assert_not_null(waits);
    send(fd, " /v2 HTTP/1.1\r\nHost: x\r\n\r\n", strlen(" /v2 HTTP/1.1\r\nHost: x\r\n\r\n"),
         MSG_NOSIGNAL);
    send(fd, one, strlen(one), MSG_NOSIGNAL);
    send(fd, "GET /v2 HTTP/1.1\r\nHost: x\r\n\r\n", strlen("GET /v2 HTTP/1.1\r\nHost: x\r\n\r\n"),
         MSG_NOSIGNAL);
    uv_prepare_init(&loop, &prepare);
    uv_check_init(&loop, &check);
    uv_prepare_start(&prepare, on_prepare);
    uv_check_start(&check, on_check);
    /* the first is answered, the others are read, the third is answered */
    uv_run(&loop, UV_RUN_NOWAIT);
    turn_loop();
    cr_expect_eq(answers_in(fd), 4);
    close(fd);
    uv_close((uv_handle_t *)&prepare, NULL);
    uv_close((uv_handle_t *)&check, NULL);
    front_stop(front, on_stopped, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_expect(stopped);
}

/* ---- a client that is gone, beside others
 * ------------------------------------------------------ */

#define CLIENTS 4

static struct front_reply *all[CLIENTS];
static int all_count;

static void infer_all(void *arg, const struct request *r, struct front_reply *reply) {
    all[all_count++] = reply;
}

/* Other waiting requests are answered within the call. */
static void gone_all(void *arg, struct front_reply *reply) {
    struct refusal why = {0};

    refusal_say(&why, 503, "not today");
    for (int i = 0; i < CLIENTS; i++) {
        struct front_reply *other = all[i];
        all[i] = NULL;
        if (other && other != reply) front_refuse(other, &why);
    }
}

static const struct front_ops ops_all = {
    .version = "0", .models = list_models, .ready = is_ready, .infer = infer_all, .gone = gone_all};

/* Requests with so much pipelined data behind them that their sockets are no longer read, so
 * that only a check finds clients that hung up. All but the last do. */
static void gone_beside_others(const char *connection) {
    static char behind[2 * HEAD_MAX_BYTES];
    struct front_config config = {.limits = front_default_limits(), .ops = &ops_all};
    char why[256] = "", request[512];
    int fds[CLIENTS];

    memset(behind, 'x', sizeof(behind));
    snprintf(request, sizeof(request),
             "POST /v2/models/m/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 69\r\n%s\r\n"
             "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"UINT8\",\"shape\":[2],\"data\":[1,2]}]}",
             connection);
    signal(SIGPIPE, SIG_IGN); /* as in salus-serve */
    uv_loop_init(&loop);
    cr_assert_eq(front_create(&front, &loop, &config, why, sizeof(why)), 0, "%s", why);
    for (int i = 0; i < CLIENTS; i++) {
        fds[i] = dial();
        send(fds[i], request, strlen(request), MSG_NOSIGNAL);
        send(fds[i], behind, sizeof(behind), MSG_NOSIGNAL);
        turn_loop();
    }
    cr_assert_eq(all_count, CLIENTS);
    for (int i = 0; i + 1 < CLIENTS; i++)
        close(fds[i]);
    advance_look(front);
    turn_loop();
    memset(request, 0, sizeof(request));
    recv(fds[CLIENTS - 1], request, sizeof(request) - 1, MSG_DONTWAIT);
    cr_expect_eq(strncmp(request, "HTTP/1.1 503", 12), 0, "%s", request);
    close(fds[CLIENTS - 1]);
    front_stop(front, on_stopped, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_expect(stopped);
    cr_expect_eq(uv_loop_close(&loop), 0);
}

Test(front_loop, one_is_gone_and_others_are_answered, .timeout = 20) {
    gone_beside_others("");
}

Test(front_loop, one_is_gone_and_others_are_answered_and_closed, .timeout = 20) {
    gone_beside_others("Connection: close\r\n");
}

/* ---- a socket that is full ---------------------------------------------------------------------
 */

/* Sends the answer, and then other bytes, until the socket is full. */
static void on_prepare_fill(uv_prepare_t *p) {
    static const char zeros[1024];
    uv_os_fd_t fd;

    if (!waits) return;
    uv_fileno((uv_handle_t *)&exchange_of(waits)->tcp.handle, &fd);
    answer_now();
    while (send(fd, zeros, sizeof(zeros), MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
        continue;
}

/* Reads until the front hangs up; returns how many of its answers have that status. */
static int drain(int fd, const char *status) {
    static char text[1 << 16];
    size_t kept = 0;
    int count = 0;

    for (int i = 0; i < 10000; i++) {
        char *from = text + kept;
        ssize_t n = recv(fd, from, sizeof(text) - 1 - kept, MSG_DONTWAIT);
        if (n == 0) break;
        for (ssize_t k = 0; k < n; k++) /* skips zeros, of which there may be many */
            if (from[k]) text[kept++] = from[k];
        turn_loop();
    }
    text[kept] = '\0';
    for (const char *at = text; (at = strstr(at, status)); at++)
        count++;
    return count;
}

/* An answer and, in the same turn, the next request's head, which is refused at once while the
 * socket is full. The head after it is not read. */
Test(front_loop, a_refusal_that_waits_is_not_overwritten, .timeout = 60) {
    static const char request[] =
        "POST /v2/models/m/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 69\r\n\r\n"
        "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"UINT8\",\"shape\":[2],\"data\":[1,2]}]}";
    static const char next[] = " /v2/models/m/infer HTTP/1.1\r\nHost: x\r\n"
                               "Transfer-Encoding: chunked\r\n\r\n"
                               "POST /v2/models/m/infer HTTP/1.1\r\nHost: x\r\n"
                               "Transfer-Encoding: chunked\r\n\r\n";
    struct front_config config = {.limits = front_default_limits(), .ops = &ops};
    char why[256] = "";
    uv_prepare_t prepare;
    int on = 1;

    later = by_hand = true;
    uv_loop_init(&loop);
    cr_assert_eq(front_create(&front, &loop, &config, why, sizeof(why)), 0, "%s", why);
    uv_prepare_init(&loop, &prepare);
    int fd = dial();
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    send(fd, request, strlen(request), MSG_NOSIGNAL);
    send(fd, "POST", 4, MSG_NOSIGNAL); /* buffered after the request */
    turn_loop();
    cr_assert_not_null(waits);
    send(fd, next, strlen(next), MSG_NOSIGNAL);
    uv_prepare_start(&prepare, on_prepare_fill);
    uv_run(&loop, UV_RUN_NOWAIT);
    uv_close((uv_handle_t *)&prepare, NULL);
    turn_loop();
    cr_expect_not(list_empty(&front->conns.phases[CONN_SENDING]), "the refusal waits");
    cr_expect_eq(drain(fd, "HTTP/1.1 411"), 1);
    close(fd);
    front_stop(front, on_stopped, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_expect(stopped);
    cr_expect_eq(uv_loop_close(&loop), 0);
}
