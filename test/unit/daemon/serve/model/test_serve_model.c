/* SPDX-License-Identifier: Apache-2.0
 *
 * The library of a model's program, with a salus-serve that the test plays before the program
 * listens.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "daemon/serve/model/salus_serve.h"
#include "proto/serve/serve_memory_make.h"
#include "proto/serve/serve_message.h"
#include "test/lib/patience.h"

static int iterations;
void salus_iteration(void); /* the shim's function, as the program would find it */
void salus_iteration(void) {
    iterations++;
}

static int gateway;
static struct salus_serve *s;

static void tell(enum serve_wire_kind kind, uint64_t number, uint32_t requests, uint64_t bytes,
                 int fd) {
    struct serve_wire_msg m = {.magic = SERVE_WIRE_MAGIC,
                               .version = SERVE_WIRE_VERSION,
                               .kind = (uint16_t)kind,
                               .number = number,
                               .requests = requests,
                               .bytes = bytes};
    cr_assert_eq(fdutil_send(gateway, &m, sizeof(m), &fd, fd >= 0), 0);
}

static struct serve_message *heard;

static struct serve_wire_msg hear(int *fd) {
    const char *why;

    if (!heard) heard = serve_message_create();
    cr_assert_eq(serve_message_receive(gateway, heard, fd, &why), SERVE_MESSAGE_SOUND);
    return heard->m;
}

static struct serve_wire_msg hear_answer(struct serve_memory *memory) {
    struct serve_memory_why why;
    int fd;
    struct serve_wire_msg m = hear(&fd);

    cr_assert_eq(m.kind, SERVE_WIRE_DONE);
    cr_assert_eq(serve_message_open(memory, heard, fd, 1, &why), 0, "%s", why.text);
    if (fd >= 0) close(fd);
    return m;
}

static struct serve_wire_msg hear_only(enum serve_wire_kind kind) {
    int fd;
    struct serve_wire_msg m = hear(&fd);

    cr_assert_eq(m.kind, kind);
    cr_assert_eq(fd, -1);
    return m;
}

static void connect_pair(void) {
    struct timeval patience = {.tv_sec = patience_ms() / 1000};
    char text[16];
    int ends[2];

    cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    for (int i = 0; i < 2; i++)
        setsockopt(ends[i], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    gateway = ends[0];
    snprintf(text, sizeof(text), "%d", ends[1]);
    setenv("SALUS_SERVE_FD", text, 1);
}

static void open_it(void) {
    connect_pair();
    tell(SERVE_WIRE_HELLO, 0, 0, 0, -1);
    s = salus_serve_open();
    cr_assert_str_eq(salus_serve_error(s), "");
    hear_only(SERVE_WIRE_HELLO);
}

static const int64_t one[] = {1, 2}, two[] = {2, 2};

/* Request 0 has one row of x, request 1 two rows of `bytes` each. Odd requests pass files, even
 * ones carry their data in the message. */
static void give(uint64_t number, uint64_t bytes) {
    static char data[2][256];
    int64_t wide = (int64_t)(bytes / 4);
    struct serve_memory_tensor t[] = {
        {0, "x", DATATYPE_FP32, 2, {1, wide}, data[0], bytes},
        {1, "x", DATATYPE_FP32, 2, {2, wide}, data[1], 2 * bytes},
        {1, "only", DATATYPE_UINT8, 1, {2}, data[1], 2},
    };
    struct serve_memory_why why;
    uint64_t size;

    memset(data[0], 3, sizeof(data[0]));
    memset(data[1], 5, sizeof(data[1]));
    if (number % 2) {
        int fd = serve_memory_make(t, 3, 2, &size, &why);
        cr_assert_geq(fd, 0, "%s", why.text);
        tell(SERVE_WIRE_BATCH, number, 2, size, fd);
        close(fd);
    } else {
        struct serve_wire_msg m = {.kind = SERVE_WIRE_BATCH, .number = number, .requests = 2};
        cr_assert_eq(serve_message_send_memory(gateway, &m, t, 3, &why), 0, "%s", why.text);
    }
}

static void expect_error(const char *part) {
    cr_expect(strstr(salus_serve_error(s), part), "\"%s\" without \"%s\"", salus_serve_error(s),
              part);
}

Test(serve_model, is_told_how_it_is_started) {
    unsetenv("SALUS_SERVE_FD");
    s = salus_serve_open();
    expect_error("only salus-serve can start");
    cr_expect_eq(salus_serve_next(s), -1);
    expect_error("only salus-serve can start");
    salus_serve_close(s);
    setenv("SALUS_SERVE_FD", "3x", 1);
    s = salus_serve_open();
    expect_error("not the number");
    salus_serve_close(s);
    setenv("SALUS_SERVE_FD", "0", 1);
    s = salus_serve_open();
    expect_error("not a socket");
    salus_serve_close(s);
    cr_expect_str_eq(salus_serve_error(NULL), "out of memory");
    cr_expect_eq(salus_serve_next(NULL), -1);
    salus_serve_close(NULL);
}

Test(serve_model, a_batch_is_answered) {
    struct salus_serve_tensor x;
    struct serve_memory m;
    const struct serve_memory_tensor *y;
    struct serve_wire_msg done;
    float *room;

    open_it();
    give(7, 64);
    tell(SERVE_WIRE_STOP, 0, 0, 0, -1);
    cr_assert_eq(salus_serve_next(s), 1);
    cr_expect_eq(iterations, 1);
    cr_expect_eq(salus_serve_size(s), 2);
    cr_expect_eq(salus_serve_inputs(s), 2);
    cr_expect_str_eq(salus_serve_input_name(s, 1), "x");
    cr_expect_null(salus_serve_input_name(s, 2));
    cr_assert_eq(salus_serve_input(s, 1, "x", &x), 0);
    cr_expect_str_eq(x.datatype, "FP32");
    cr_expect_eq(x.rank, 2);
    cr_expect_eq(x.shape[0], 2);
    cr_expect_eq(x.shape[1], 16);
    cr_expect_eq(x.bytes, 128);
    cr_expect_eq(((const char *)x.data)[127], 5);
    room = salus_serve_output(s, 1, "y", "FP32", 2, one, 0);
    cr_assert(room);
    cr_expect_eq(room[0], 0);
    room[1] = 4;
    cr_assert(salus_serve_output(s, 0, "t", "BYTES", 0, NULL, 4));
    cr_assert_eq(salus_serve_done(s), 0, "%s", salus_serve_error(s));
    done = hear_answer(&m);
    cr_expect_eq(done.number, 7);
    cr_expect_eq(done.requests, 2);
    y = serve_memory_get(&m, 1, "y");
    cr_assert(y);
    cr_expect_eq(y->shape[1], 2);
    cr_expect_eq(((const float *)y->data)[1], 4);
    cr_expect_eq(serve_memory_get(&m, 0, "t")->bytes, 4);
    serve_memory_finish(&m);
    cr_expect_eq(salus_serve_next(s), 0);
    cr_expect_eq(salus_serve_next(s), 0);
    cr_expect_str_eq(salus_serve_error(s), "");
    salus_serve_close(s);
}

Test(serve_model, joined_with_and_without_a_copy) {
    struct salus_serve_tensor x, first, again;

    open_it();
    give(1, 64);
    cr_assert_eq(salus_serve_next(s), 1);
    cr_assert_eq(salus_serve_joined(s, "x", &x), 0);
    cr_assert_eq(salus_serve_input(s, 0, "x", &first), 0);
    cr_expect_eq(x.data, first.data);
    cr_expect_eq(x.shape[0], 3);
    cr_expect_eq(x.bytes, 192);
    give(2, 8);
    cr_assert_eq(salus_serve_next(s), 1);
    hear_only(SERVE_WIRE_FAILED);
    cr_assert_eq(salus_serve_joined(s, "x", &x), 0);
    cr_assert_eq(salus_serve_input(s, 0, "x", &first), 0);
    cr_expect_neq(x.data, first.data);
    cr_expect_eq((uintptr_t)x.data % 64, 0);
    cr_expect_eq(x.bytes, 24);
    cr_expect_eq(((const char *)x.data)[7], 3);
    cr_expect_eq(((const char *)x.data)[8], 5);
    cr_expect_eq(((const char *)x.data)[23], 5);
    cr_assert_eq(salus_serve_joined(s, "x", &again), 0);
    cr_expect_eq(again.data, x.data);
    cr_expect_eq(salus_serve_joined(s, "only", &x), -1);
    expect_error("only 1 of 2 requests");
    cr_expect_eq(salus_serve_joined(s, "z", &x), -1);
    expect_error("no input \"z\"");
    cr_expect_eq(iterations, 2);
    salus_serve_close(s);
}

Test(serve_model, a_joined_answer_is_divided) {
    static const char all[] = {1, 2, 3};
    struct serve_memory m;
    struct serve_memory_why why;
    uint64_t bytes;
    struct serve_memory_tensor t[] = {
        {0, "x", DATATYPE_UINT8, 1, {1}, "a", 1},
        {1, "x", DATATYPE_UINT8, 1, {2}, "bc", 2},
    };
    int fd;

    open_it();
    fd = serve_memory_make(t, 2, 2, &bytes, &why);
    tell(SERVE_WIRE_BATCH, 3, 2, bytes, fd);
    close(fd);
    cr_assert_eq(salus_serve_next(s), 1);
    cr_expect_eq(salus_serve_rows(s, 0), 1);
    cr_expect_eq(salus_serve_rows(s, 1), 2);
    cr_expect_eq(salus_serve_answer(s, "y", "INT8", 2, two, all), -1);
    expect_error("has 2 rows, but the batch's inputs have 3");
    cr_expect_eq(salus_serve_answer(s, "y", "INT8", 1, (const int64_t[]){3}, all), 0);
    cr_expect_eq(salus_serve_answer(s, "b", "BYTES", 1, (const int64_t[]){3}, all), -1);
    expect_error("by itself");
    cr_assert_eq(salus_serve_done(s), 0);
    hear_answer(&m);
    cr_expect_eq(serve_memory_get(&m, 0, "y")->shape[0], 1);
    cr_expect_eq(*(const char *)serve_memory_get(&m, 0, "y")->data, 1);
    cr_expect_eq(memcmp(serve_memory_get(&m, 1, "y")->data, "\2\3", 2), 0);
    serve_memory_finish(&m);
    salus_serve_close(s);
}

Test(serve_model, mistakes_are_told) {
    struct salus_serve_tensor x;
    struct serve_wire_msg failed;
    static const int64_t negative[] = {-1};

    open_it();
    cr_expect_eq(salus_serve_done(s), -1);
    expect_error("there is no batch");
    give(9, 64);
    cr_assert_eq(salus_serve_next(s), 1);
    cr_expect_eq(salus_serve_input(s, 2, "x", &x), -1);
    expect_error("no request 2 in a batch of 2");
    cr_expect_eq(salus_serve_input(s, -1, "x", &x), -1);
    cr_expect_eq(salus_serve_input(s, 0, "only", &x), -1);
    expect_error("request 0 has no input \"only\"");
    cr_expect_null(salus_serve_output(s, 0, "y", "FP31", 1, one, 0));
    expect_error("no datatype \"FP31\"");
    cr_expect_null(salus_serve_output(s, 0, "y", "FP32", 17, one, 0));
    expect_error("17 dimensions");
    cr_expect_null(salus_serve_output(s, 0, "y", "FP32", 1, negative, 0));
    expect_error("dimension 0 cannot be -1");
    cr_expect_eq(salus_serve_done(s), -1);
    expect_error("no tensors");
    cr_assert(salus_serve_output(s, 0, "y", "FP32", 2, one, 12));
    cr_expect_eq(salus_serve_done(s), -1);
    expect_error("12 bytes, but 2 elements of FP32 are 8");
    cr_expect_eq(salus_serve_failed(s, "too hot"), 0);
    failed = hear_only(SERVE_WIRE_FAILED);
    cr_expect_eq(failed.number, 9);
    cr_expect_str_eq(failed.text, "too hot");
    salus_serve_close(s);
}

Test(serve_model, what_goes_on_unanswered_has_failed) {
    struct serve_wire_msg failed;

    open_it();
    give(1, 64);
    tell(SERVE_WIRE_STOP, 0, 0, 0, -1);
    cr_assert_eq(salus_serve_next(s), 1);
    cr_assert_eq(salus_serve_next(s), 0);
    failed = hear_only(SERVE_WIRE_FAILED);
    cr_expect_eq(failed.number, 1);
    cr_expect(strstr(failed.text, "without an answer"));
    salus_serve_close(s);
}

Test(serve_model, the_end_of_the_socket_is_the_end) {
    open_it();
    close(gateway);
    cr_expect_eq(salus_serve_next(s), 0);
    salus_serve_close(s);
}

Test(serve_model, another_version_and_garbage) {
    struct serve_wire_msg m = {.magic = SERVE_WIRE_MAGIC, .version = 1, .kind = SERVE_WIRE_HELLO};

    connect_pair();
    cr_assert_eq(fdutil_send(gateway, &m, sizeof(m), NULL, 0), 0);
    s = salus_serve_open();
    expect_error("another version");
    cr_expect_eq(salus_serve_next(s), -1);
    salus_serve_close(s);
    open_it();
    tell(SERVE_WIRE_BATCH, 1, 1, 64, -1);
    cr_expect_eq(salus_serve_next(s), -1);
    expect_error("without its memory");
    cr_expect_eq(salus_serve_next(s), -1);
    salus_serve_close(s);
}

/* A batch's mappings and descriptors are freed with it. */
Test(serve_model, nothing_is_left) {
    int before, after;

    open_it();
    before = dup(0);
    close(before);
    for (uint64_t i = 1; i <= 100; i++) {
        int fd;
        give(i, 64);
        cr_assert_eq(salus_serve_next(s), 1);
        cr_assert(salus_serve_output(s, 0, "y", "FP32", 2, one, 0));
        cr_assert_eq(salus_serve_done(s), 0);
        hear(&fd);
        cr_expect_eq(fd, -1);
    }
    after = dup(0);
    close(after);
    cr_expect_eq(before, after);
    salus_serve_close(s);
}
