/* SPDX-License-Identifier: Apache-2.0
 *
 * A model's program that breaks the rule that its argument names: rogue RULE. Otherwise it answers
 * correctly: "y" is the INT64 sum of each request's bytes of "x".
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "proto/serve/serve_memory_make.h"
#include "proto/serve/serve_message.h"

#define FD 3

static const char *rule;

static bool is(const char *name) {
    return strcmp(rule, name) == 0;
}

static struct serve_wire_msg message(enum serve_wire_kind kind, uint64_t number) {
    return (struct serve_wire_msg){.magic = SERVE_WIRE_MAGIC,
                                   .version = SERVE_WIRE_VERSION,
                                   .kind = (uint16_t)kind,
                                   .number = number};
}

static void send_it(const struct serve_wire_msg *m, int fd, int count) {
    int fds[2] = {fd, fd};

    if (fdutil_send(FD, m, sizeof(*m), fds, count)) exit(1);
}

static void say(enum serve_wire_kind kind, uint64_t number) {
    struct serve_wire_msg m = message(kind, number);

    send_it(&m, -1, 0);
}

static void sleep_on(void) {
    for (;;)
        pause();
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Returns tensors with the sums. The caller frees them and their data, *sum. */
static struct serve_memory_tensor *sums(const struct serve_memory *in, int64_t **sum) {
    struct serve_memory_tensor *out = calloc(in->requests, sizeof(*out));

    *sum = calloc(in->requests, sizeof(**sum));
    for (uint32_t i = 0; i < in->requests; i++) {
        const struct serve_memory_tensor *x = serve_memory_get(in, i, "x");
        for (uint64_t k = 0; k < x->bytes; k++)
            (*sum)[i] += ((const unsigned char *)x->data)[k];
        out[i] = (struct serve_memory_tensor){i, "y", DATATYPE_INT64, 0, {0}, &(*sum)[i], 8};
    }
    return out;
}

/* Makes a memfd with the same bytes and other seals, changed as the rule tells. */
static int again(int fd, uint64_t bytes, int seals) {
    int copy = memfd_create("rogue", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    unsigned char *data = malloc(bytes);

    if (pread(fd, data, bytes, 0) != (ssize_t)bytes) exit(1);
    if (is("table")) memset(data + sizeof(struct serve_wire_head), 0xff, 64);
    if (pwrite(copy, data, bytes, 0) != (ssize_t)bytes) exit(1);
    if (is("small") && ftruncate(copy, 16)) exit(1);
    free(data);
    if (fcntl(copy, F_ADD_SEALS, seals) < 0) exit(1);
    return copy;
}

static void break_memory(struct serve_wire_msg *m, int *fd) {
    int all = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE, ends[2];

    if (is("unsealed")) *fd = again(*fd, m->bytes, 0);
    if (is("writable")) *fd = again(*fd, m->bytes, F_SEAL_SHRINK | F_SEAL_GROW);
    if (is("shrinking")) *fd = again(*fd, m->bytes, F_SEAL_GROW | F_SEAL_WRITE);
    if (is("small") || is("table")) *fd = again(*fd, m->bytes, all);
    if (is("pipe") && pipe(ends) == 0) *fd = ends[0];
    if (is("huge-size")) m->bytes = UINT64_MAX;
    if (is("no-size")) m->bytes = 0;
}

static void answer_as_file(struct serve_wire_msg *m, const struct serve_memory_tensor *out,
                           uint32_t count) {
    struct serve_memory_why why;
    int fd = serve_memory_make(out, count, count, &m->bytes, &why);

    break_memory(m, &fd);
    if (is("magic")) m->magic++;
    if (is("version")) m->version++;
    if (is("kind")) m->kind = 77;
    send_it(m, fd, is("no-memory") ? 0 : is("two-memories") ? 2 : 1);
    if (is("shrinking") && ftruncate(fd, 0)) exit(1);
    if (is("twice")) send_it(m, fd, 1);
    close(fd);
}

static bool is_behind(void) {
    return is("behind-short") || is("behind-long") || is("behind-huge") || is("behind-none") ||
           is("behind-table") || is("behind-too-long") || is("behind-and-file");
}

/* Sends an answer with more bytes than the memory behind a message may have. */
static void answer_behind(struct serve_wire_msg *m, const struct serve_memory_tensor *out,
                          uint32_t count) {
    struct serve_memory_parcel p;
    struct serve_memory_why why;
    static unsigned char all[sizeof(struct serve_message) + 1];
    int err = serve_memory_pack(&p, out, count, count, &why), fd = dup(FD);
    size_t bytes = p.bytes + is("behind-long") - is("behind-short");

    if (err) exit(1);
    memcpy(all + sizeof(*m), p.message + sizeof(*m), p.bytes);
    m->bytes = is("behind-huge") ? UINT64_MAX : is("behind-none") ? 0 : p.bytes;
    if (is("behind-table")) memset(all + sizeof(*m) + sizeof(struct serve_wire_head), 0xff, 64);
    if (is("behind-too-long")) m->bytes = bytes = SERVE_WIRE_BEHIND_BYTES + 1;
    memcpy(all, m, sizeof(*m));
    if (fdutil_send(FD, all, sizeof(*m) + bytes, &fd, is("behind-and-file"))) exit(1);
    serve_memory_parcel_finish(&p);
    close(fd);
}

static void answer(const struct serve_wire_msg *batch, const struct serve_memory *in) {
    struct serve_wire_msg m = message(SERVE_WIRE_DONE, batch->number + is("number"));
    struct serve_memory_why why;
    int64_t *sum;
    struct serve_memory_tensor *out = sums(in, &sum);

    m.requests = in->requests + is("requests");
    if (is("none"))
        serve_message_send_memory(FD, &m, out, in->requests, &why);
    else if (is_behind())
        answer_behind(&m, out, in->requests);
    else
        answer_as_file(&m, out, in->requests);
    free(out);
    free(sum);
}

static void fail(uint64_t number) {
    struct serve_wire_msg m = message(SERVE_WIRE_FAILED, number);

    memset(m.text, 'x', sizeof(m.text));
    if (!is("endless-text")) strcpy(m.text, "not today");
    if (is("fails-and-more")) {
        struct serve_wire_msg more[2] = {m};
        if (fdutil_send(FD, more, sizeof(more), NULL, 0)) exit(1);
        return;
    }
    send_it(&m, -1, 0);
}

/* Sends its last message and leaves a batch unread. */
static void leave_unread(void) {
    struct pollfd p = {.fd = FD, .events = POLLIN};

    if (poll(&p, 1, -1) < 0) exit(1);
    fail(1);
    close(FD);
    sleep_on();
}

/* Returns true when it sent the answer itself. */
static bool misbehave(uint64_t number) {
    if (is("garbage")) return write(FD, "garbage", 7) == 7;
    if (is("long")) {
        char much[4096] = "";
        return write(FD, much, sizeof(much)) > 0;
    }
    if (is("dies")) raise(SIGABRT);
    if (is("exits")) exit(3);
    if (is("silent")) sleep_on();
    if (is("hangs-up")) {
        close(FD);
        sleep_on();
    }
    while (is("flood"))
        say(SERVE_WIRE_HELLO, 0);
    if (is("fails") || is("fails-and-more") || is("endless-text")) {
        fail(number);
        return true;
    }
    return false;
}

/* ---- */

static void before(void) {
    if (is("dies-first")) raise(SIGKILL);
    if (is("speaks")) {
        char much[1000];
        memset(much, 'm', sizeof(much));
        if (write(1, "one\ntwo \"2\"\n\n", 13) < 0 || write(2, much, sizeof(much)) < 0) exit(1);
        if (write(2, "\nlast words", 11) < 0) exit(1);
        exit(3);
    }
    if (is("silent-first")) sleep_on();
    if (is("ignores-stop")) signal(SIGTERM, SIG_IGN);
    if (is("answers-first")) say(SERVE_WIRE_FAILED, 1);
    if (is("leaves-child") && fork() == 0) sleep_on();
    while (is("babbles") && write(2, "words without end\n", 18) > 0)
        if (getppid() == 1) exit(1);
}

static void serve_batch(const struct serve_message *msg, int fd) {
    struct serve_memory in;
    struct serve_memory_why why;

    if (misbehave(msg->m.number)) return;
    if (serve_message_open(&in, msg, fd, true, &why)) exit(1);
    answer(&msg->m, &in);
    serve_memory_finish(&in);
}

static void serve(void) {
    struct serve_message *msg = serve_message_create();
    const char *why;
    int fd;

    for (;;) {
        enum serve_message_got got = serve_message_receive(FD, msg, &fd, &why);
        if (got != SERVE_MESSAGE_SOUND || msg->m.kind == SERVE_WIRE_STOP) break;
        if (msg->m.kind == SERVE_WIRE_HELLO && is("leaves-unread")) leave_unread();
        if (msg->m.kind != SERVE_WIRE_BATCH) continue;
        serve_batch(msg, fd);
        fdutil_close(&fd);
        if (is("dies-after")) raise(SIGKILL);
    }
    free(msg);
    if (is("ignores-stop")) sleep_on();
}

int main(int argc, char **argv) {
    rule = argc > 1 ? argv[1] : "none";
    before();
    say(SERVE_WIRE_HELLO, 0);
    if (is("hello-twice")) say(SERVE_WIRE_HELLO, 0);
    serve();
    return 0;
}
