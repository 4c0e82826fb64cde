/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages to and from a model's program: without memory, with bytes, or with a descriptor; and
 * messages that only a faulty program sends.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "proto/serve/serve_message.h"

static int ends[2];
static struct serve_message *msg;
static struct serve_memory_why why;

static void setup(void) {
    cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), 0);
    msg = serve_message_create();
    cr_assert(msg);
}

static void teardown(void) {
    close(ends[0]);
    close(ends[1]);
    free(msg);
}

TestSuite(serve_message, .init = setup, .fini = teardown);

/* Sends one tensor of that many bytes, as batch 5 of one request. */
static int send_bytes(uint64_t bytes) {
    unsigned char *data = malloc(bytes);
    struct serve_memory_tensor t = {.name = "x", .type = DATATYPE_UINT8, .rank = 1};
    struct serve_wire_msg m = {.kind = SERVE_WIRE_BATCH, .number = 5, .requests = 1};

    for (uint64_t i = 0; i < bytes; i++)
        data[i] = (unsigned char)(i * 7 + i / 251);
    t.shape[0] = (int64_t)bytes;
    t.data = data;
    t.bytes = bytes;
    int err = serve_message_send_memory(ends[0], &m, &t, 1, &why);
    free(data);
    return err;
}

/* Expects the tensor, with or without a descriptor. */
static void expect_bytes(uint64_t bytes, int by_file, int kept) {
    struct serve_memory memory;
    const char *text;
    int fd;

    cr_assert_eq(send_bytes(bytes), 0, "%s", why.text);
    cr_assert_eq(serve_message_receive(ends[1], msg, &fd, &text), SERVE_MESSAGE_SOUND);
    cr_expect_eq(fd >= 0, by_file, "%llu bytes", (unsigned long long)bytes);
    cr_expect_eq(msg->m.number, 5);
    cr_assert_eq(serve_message_open(&memory, msg, fd, kept, &why), 0, "%s", why.text);
    if (fd >= 0) close(fd);
    if (!kept) memset(msg, 0xee, sizeof(*msg));
    const struct serve_memory_tensor *t = serve_memory_get(&memory, 0, "x");
    cr_assert(t && t->bytes == bytes);
    cr_expect_eq((uintptr_t)t->data % SERVE_WIRE_ALIGN, 0);
    for (uint64_t i = 0; i < bytes; i++)
        cr_assert_eq(((const unsigned char *)t->data)[i], (unsigned char)(i * 7 + i / 251));
    serve_memory_finish(&memory);
}

#define MOST (SERVE_WIRE_BEHIND_BYTES - 256) /* head, table and name */

Test(serve_message, there_and_back) {
    int next = dup(0), after;

    close(next);
    for (int kept = 0; kept < 2; kept++) {
        expect_bytes(1, 0, kept);
        expect_bytes(1000, 0, kept);
        expect_bytes(MOST, 0, kept);
        expect_bytes(MOST + 1, 1, kept);
        expect_bytes(1 << 20, 1, kept);
    }
    after = dup(0);
    close(after);
    cr_expect_eq(after, next, "a descriptor is left");
}

/* The socket takes only small messages: the memory is sent as a file. */
Test(serve_message, a_socket_of_little_room) {
    int least = 1;

    cr_assert_eq(setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &least, sizeof(least)), 0);
    expect_bytes(100, 0, 1);
    expect_bytes(MOST, 1, 1);
    expect_bytes(MOST, 1, 0);
}

Test(serve_message, words) {
    struct serve_wire_msg m = {.kind = SERVE_WIRE_HELLO};
    const char *text;
    int fd;

    cr_expect_eq(serve_message_receive(ends[1], msg, &fd, &text), SERVE_MESSAGE_NOTHING);
    cr_assert_eq(serve_message_send(ends[0], &m), 0);
    cr_expect_eq(serve_message_receive(ends[1], msg, &fd, &text), SERVE_MESSAGE_SOUND);
    cr_expect_eq(fd, -1);
    cr_expect_eq(msg->m.kind, SERVE_WIRE_HELLO);
    close(ends[0]);
    cr_expect_eq(serve_message_receive(ends[1], msg, &fd, &text), SERVE_MESSAGE_END);
    cr_expect_lt(send_bytes(10), 0);
    cr_expect(strstr(why.text, "cannot be told"), "%s", why.text);
    ends[0] = dup(ends[1]);
}

/* A message that cannot be expressed is not sent. */
Test(serve_message, no_tensors) {
    struct serve_wire_msg m = {.kind = SERVE_WIRE_DONE, .requests = 1};
    const char *text;
    int fd;

    cr_expect_eq(serve_message_send_memory(ends[0], &m, NULL, 0, &why), -EINVAL);
    cr_expect(strstr(why.text, "no tensors"));
    cr_expect_eq(serve_message_receive(ends[1], msg, &fd, &text), SERVE_MESSAGE_NOTHING);
}

static void expect_fault(int bytes, int fd, const char *part) {
    const char *text = serve_message_fault(msg, bytes, fd);

    if (part)
        cr_expect(text && strstr(text, part), "%d bytes: \"%s\" without \"%s\"", bytes,
                  text ? text : "nothing", part);
    else
        cr_expect_null(text, "%d bytes: %s", bytes, text);
}

Test(serve_message, faults) {
    const int alone = sizeof(struct serve_wire_msg);
    const struct serve_wire_msg sound = {
        .magic = SERVE_WIRE_MAGIC, .version = SERVE_WIRE_VERSION, .kind = SERVE_WIRE_DONE};

    msg->m = sound;
    msg->m.bytes = 100;
    for (int n = 0; n < alone; n++)
        expect_fault(n, -1, "garbage");
    for (int n = alone; n <= (int)sizeof(*msg); n++)
        expect_fault(n, -1, n == alone ? "without its memory" : n == alone + 100 ? NULL : "longer");
    expect_fault((int)sizeof(*msg) + 1, -1, "garbage");
    expect_fault(alone, 3, NULL);
    expect_fault(alone + 100, 3, "two ways");
    msg->m.bytes = UINT64_MAX;
    expect_fault(alone + 100, -1, "longer");
    expect_fault(alone - 1, -1, "garbage");
    msg->m.bytes = 0;
    expect_fault(alone, -1, "without its memory");
    for (uint16_t kind = 0; kind < 8; kind++) {
        if (kind == SERVE_WIRE_DONE || kind == SERVE_WIRE_BATCH) continue;
        msg->m.kind = kind;
        expect_fault(alone, -1, NULL);
        expect_fault(alone, 3, "nobody asked for");
        expect_fault(alone + 1, -1, "more than its message");
    }
    memset(msg->m.text, 'x', sizeof(msg->m.text));
    expect_fault(alone, -1, "text without an end");
    msg->m = sound;
    msg->m.version = 1;
    expect_fault(alone, -1, "another version");
    msg->m.magic++;
    expect_fault(alone, -1, "garbage");
}

/* A message above the maximum length, and one with two descriptors; no descriptor leaks. */
Test(serve_message, what_is_too_much) {
    unsigned char *all = calloc(1, sizeof(*msg) + 1);
    const struct serve_wire_msg m = {.magic = SERVE_WIRE_MAGIC,
                                     .version = SERVE_WIRE_VERSION,
                                     .kind = SERVE_WIRE_DONE,
                                     .bytes = SERVE_WIRE_BEHIND_BYTES};
    int two[] = {0, 0}, fd, next = dup(0);
    const char *text;

    close(next);
    memcpy(all, &m, sizeof(m));
    cr_assert_eq(fdutil_send(ends[0], all, sizeof(*msg), NULL, 0), 0);
    cr_expect_eq(serve_message_receive(ends[1], msg, &fd, &text), SERVE_MESSAGE_SOUND);
    cr_expect_eq(serve_message_open(&(struct serve_memory){0}, msg, fd, 0, &why), -EINVAL);
    cr_assert_eq(fdutil_send(ends[0], all, sizeof(*msg) + 1, NULL, 0), 0);
    cr_expect_eq(serve_message_receive(ends[1], msg, &fd, &text), SERVE_MESSAGE_BAD);
    cr_expect_str_eq(text, "garbage");
    cr_assert_eq(fdutil_send(ends[0], &m, sizeof(m), two, 2), 0);
    cr_expect_eq(serve_message_receive(ends[1], msg, &fd, &text), SERVE_MESSAGE_BAD);
    cr_assert_eq(fdutil_send(ends[0], all, sizeof(*msg), two, 1), 0);
    cr_expect_eq(serve_message_receive(ends[1], msg, &fd, &text), SERVE_MESSAGE_BAD);
    cr_expect(strstr(text, "two ways"));
    cr_expect_eq(fd, -1);
    fd = dup(0);
    cr_expect_eq(fd, next, "a descriptor is left");
    close(fd);
    free(all);
}
