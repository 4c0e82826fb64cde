/* SPDX-License-Identifier: Apache-2.0
 *
 * The broker as clients see it: the correct handshake, and every way of doing it wrongly with the
 * exact words of its refusal.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "daemon/broker/server_parts.h"
#include "test/lib/broker/broker_rig.h"
#include "test/lib/patience.h"

#define S 1000000000ull

static struct broker_rig rig;

static void setup(void) {
    broker_rig_init(&rig);
    broker_rig_start(&rig);
}

/* Replaces the suite's broker by one that waits only 300 ms for each message, for tests whose
 * clients send nothing that could be late. */
static void listen_impatiently(void) {
    broker_rig_stop(&rig);
    broker_rig_init(&rig);
    rig.config.handshake_timeout = 300000000;
    broker_rig_listen(&rig);
}

static void teardown(void) {
    broker_rig_stop(&rig);
}

TestSuite(broker_client, .init = setup, .fini = teardown, .timeout = 180);

/* Connects, sends `msg` unless `bytes` is 0, and expects a refusal with `result` and `text`, then
 * the connection's end. */
static void expect_refusal(const void *msg, size_t bytes, int result, const char *text) {
    int fd = broker_rig_connect(&rig, "job.sock");
    struct wire_offer o;

    if (bytes) cr_assert_eq(fdutil_send(fd, msg, bytes, NULL, 0), 0);
    broker_rig_expect(fd, &o, sizeof(o), NULL, 0);
    cr_assert_eq(o.magic, WIRE_MAGIC);
    cr_assert_eq(o.result, result, "result %d", o.result);
    cr_assert_str_eq(o.text, text);
    cr_assert(broker_rig_closed(fd));
    close(fd);
}

Test(broker_client, a_client_gets_windows_descriptors_and_its_device) {
    int fd = broker_rig_connect(&rig, "job.sock"), fds[WIRE_FD_COUNT];
    struct wire_offer o = broker_rig_attach(fd, fds);

    cr_assert_eq(o.magic, WIRE_MAGIC);
    cr_assert_eq(o.major, WIRE_MAJOR);
    cr_assert_neq(o.job_id, 0);
    cr_assert_eq(o.windows.dev_base, 0x200000000000);
    cr_assert_eq(o.windows.alloc_bytes, 288ull << 30);
    cr_assert_eq(o.windows.module_bytes, 4ull << 30);
    cr_assert_eq(o.windows.host_base, 0x200000000000 + (292ull << 30));
    cr_assert_eq(o.windows.host_bytes, 64ull << 30);
    cr_assert_str_eq(o.device.name, "Fake GPU");
    cr_assert_eq(fdutil_check_sealed(fds[WIRE_FD_SUBMISSION], sizeof(struct wire_submission)), 0);
    cr_assert_eq(fdutil_check_sealed(fds[WIRE_FD_HOST], 64ull << 30), 0);
    cr_assert_eq(fdutil_check_sealed(fds[WIRE_FD_COMPLETION], sizeof(struct wire_completion)), 0);
    cr_assert_eq(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fds[WIRE_FD_COMPLETION], 0),
                 MAP_FAILED, "the completion page must not be writable here");
    cr_assert_eq(write(fds[WIRE_FD_DOORBELL], &(uint64_t){1}, 8), 8);
    close(fd);
    cr_assert(broker_rig_wait(&rig.worker.detached, 1), "the worker is told of its end");
}

Test(broker_client, two_clients_have_different_windows_and_ids) {
    int a = broker_rig_connect(&rig, "job.sock"), b = broker_rig_connect(&rig, "job.sock");
    int fds[WIRE_FD_COUNT];
    struct wire_offer first = broker_rig_attach(a, fds), second = broker_rig_attach(b, fds);

    cr_assert_neq(first.job_id, second.job_id);
    cr_assert_eq(second.windows.dev_base - first.windows.dev_base, CONFIG_STRIDE_BYTES);
    close(a);
    close(b);
}

Test(broker_client, wrong_magic_is_refused) {
    struct wire_hello h = broker_rig_hello();

    h.magic = 0x12345678;
    expect_refusal(&h, sizeof(h), ERR_PROTOCOL,
                   "not a Salus client: its first message does not begin with the protocol's "
                   "magic number");
}

Test(broker_client, garbage_is_refused) {
    expect_refusal("GET / HTTP/1.0\r\n", 16, ERR_PROTOCOL,
                   "not a Salus client: its first message does not begin with the protocol's "
                   "magic number");
}

Test(broker_client, one_byte_is_refused) {
    expect_refusal("S", 1, ERR_PROTOCOL,
                   "not a Salus client: its first message does not begin with the protocol's "
                   "magic number");
}

Test(broker_client, another_major_is_refused_with_both_versions) {
    struct wire_hello h = broker_rig_hello();

    h.major = 2;
    h.minor = 7;
    expect_refusal(&h, sizeof(h), ERR_VERSION,
                   "the client's library speaks protocol 2.7, this salusd 1.9; install both from "
                   "one release");
}

Test(broker_client, another_major_is_refused_whatever_its_hello_has_after_it) {
    struct wire_hello h = broker_rig_hello();

    h.major = 9;
    expect_refusal(&h, 16, ERR_VERSION,
                   "the client's library speaks protocol 9.9, this salusd 1.9; install both from "
                   "one release");
}

Test(broker_client, a_short_hello_is_refused) {
    struct wire_hello h = broker_rig_hello();

    expect_refusal(&h, sizeof(h) - 1, ERR_PROTOCOL,
                   "the hello message has 207 bytes instead of 208");
}

/* A library of version 1.7 gives no target, and its hello ends before that field. */
Test(broker_client, a_hello_ends_before_a_target_or_behind_it) {
    struct wire_hello h = broker_rig_hello();
    size_t bytes[] = {WIRE_HELLO_BYTES_1_7, sizeof(h)};

    h.job.slo_ns = 90000000;
    h.job.slo_of = 3;
    for (int i = 0; i < 2; i++) {
        int fd = broker_rig_connect(&rig, "job.sock"), fds[WIRE_FD_COUNT];
        struct wire_offer o;

        fdutil_send(fd, &h, bytes[i], NULL, 0);
        broker_rig_expect(fd, &o, sizeof(o), fds, WIRE_FD_COUNT);
        cr_assert_eq(o.result, 0, "%s", o.text);
        cr_expect_eq(rig.worker.last_attach.job.slo_ns, i ? 90000000 : 0);
        cr_expect_eq(rig.worker.last_attach.job.slo_of, i ? 3 : 0);
        close(fd);
    }
}

Test(broker_client, another_minor_and_spec_are_served) {
    struct wire_hello h = broker_rig_hello();
    int fd = broker_rig_connect(&rig, "job.sock"), fds[WIRE_FD_COUNT];
    struct wire_offer o;

    h.minor = WIRE_MINOR + 1;
    h.spec_hash = 42;
    fdutil_send(fd, &h, sizeof(h), NULL, 0);
    broker_rig_expect(fd, &o, sizeof(o), fds, WIRE_FD_COUNT);
    cr_assert_eq(o.result, 0);
    cr_assert_eq(o.minor, WIRE_MINOR);
    close(fd);
}

Test(broker_client, a_message_that_is_too_long_is_refused) {
    unsigned char big[4096] = {0};

    expect_refusal(big, sizeof(big), ERR_PROTOCOL,
                   "the client sent a message that is too long or carries descriptors");
}

/* Attaches a job that stays: all descriptors of broker and worker are open, and no message is in
 * flight. */
static void attach_settled(void) {
    int fds[WIRE_FD_COUNT];

    broker_rig_attach(broker_rig_connect(&rig, "job.sock"), fds);
    for (int i = 0; i < WIRE_FD_COUNT; i++)
        close(fds[i]);
    broker_rig_settle(&rig);
}

Test(broker_client, a_hello_with_descriptors_is_refused) {
    struct wire_hello h = broker_rig_hello();
    struct wire_offer o;
    int before, fd;

    attach_settled();
    before = broker_rig_count_fds();
    fd = broker_rig_connect(&rig, "job.sock");
    fdutil_send(fd, &h, sizeof(h), &(int){0}, 1);
    broker_rig_expect(fd, &o, sizeof(o), NULL, 0);
    cr_assert_str_eq(o.text, "the client sent a message that is too long or carries descriptors");
    cr_assert(broker_rig_closed(fd));
    close(fd);
    cr_assert(PATIENCE_UNTIL(broker_rig_count_fds() <= before), "the descriptor must not stay");
}

Test(broker_client, a_silent_client_is_refused_after_the_timeout) {
    uint64_t start;

    listen_impatiently();
    broker_rig_run(&rig);
    start = fdutil_now_ns();
    expect_refusal(NULL, 0, -ETIMEDOUT,
                   "the client sent no hello message within 300 ms (handshake_timeout)");
    cr_assert_geq(fdutil_now_ns() - start, 250000000u);
}

Test(broker_client, a_client_that_does_not_answer_the_offer_is_refused) {
    struct wire_hello h = broker_rig_hello();
    int fd, fds[WIRE_FD_COUNT];
    struct wire_welcome w;
    struct wire_offer o;

    listen_impatiently();
    fd = broker_rig_connect(&rig, "job.sock");
    fdutil_send(fd, &h, sizeof(h), NULL, 0); /* it cannot be late: the broker has not started yet */
    broker_rig_run(&rig);
    broker_rig_expect(fd, &o, sizeof(o), fds, WIRE_FD_COUNT);
    broker_rig_expect(fd, &w, sizeof(w), NULL, 0);
    cr_assert_eq(w.result, -ETIMEDOUT);
    cr_assert_str_eq(
        w.text,
        "the client did not answer the offer of address windows within 300 ms (handshake_timeout)");
    cr_assert(broker_rig_closed(fd));
    close(fd);
    cr_assert(broker_rig_wait(&rig.worker.detached, 1));
}

Test(broker_client, a_malformed_answer_is_refused) {
    struct wire_hello h = broker_rig_hello();
    struct wire_answer a = {.magic = WIRE_MAGIC, .accepted = 2};
    int fd = broker_rig_connect(&rig, "job.sock"), fds[WIRE_FD_COUNT];
    struct wire_welcome w;
    struct wire_offer o;

    fdutil_send(fd, &h, sizeof(h), NULL, 0);
    broker_rig_expect(fd, &o, sizeof(o), fds, WIRE_FD_COUNT);
    fdutil_send(fd, &a, sizeof(a), NULL, 0);
    broker_rig_expect(fd, &w, sizeof(w), NULL, 0);
    cr_assert_eq(w.result, ERR_PROTOCOL);
    cr_assert_str_eq(w.text, "the answer to the offered windows is malformed");
    close(fd);
}

/* Number of jobs in the history; all of them were refused. */
static uint64_t refused(void) {
    return history_count(rig.server->broker.history, getuid());
}

Test(broker_client, a_job_that_was_refused_at_any_step_is_in_the_history) {
    struct wire_hello h = broker_rig_hello();
    struct wire_answer wrong = {.magic = WIRE_MAGIC, .accepted = 2};
    int fd, fds[WIRE_FD_COUNT];
    struct wire_welcome w;
    struct wire_offer o;

    atomic_store(&rig.worker.attach_result, ERR_NO_MEMORY);
    expect_refusal(&h, sizeof(h), ERR_NO_MEMORY,
                   "the GPU worker rejected the job: out of patience");
    cr_assert_eq(refused(), 1, "by the worker");
    atomic_store(&rig.worker.attach_result, 0);
    fd = broker_rig_connect(&rig, "job.sock");
    fdutil_send(fd, &h, sizeof(h), NULL, 0);
    broker_rig_expect(fd, &o, sizeof(o), fds, WIRE_FD_COUNT);
    fdutil_send(fd, &wrong, sizeof(wrong), NULL, 0);
    broker_rig_expect(fd, &w, sizeof(w), NULL, 0);
    cr_assert_eq(refused(), 2, "for its answer");
    close(fd);
    h.gpu = 9;
    expect_refusal(&h, sizeof(h), -ENODEV, "salusd has no GPU 8, only GPU 0");
    cr_assert_eq(refused(), 3, "by admission, once");
}

/* The library connects again, for the next worker, so the loss of the first is no refusal. A client
 * without a valid hello is no job, and not counted either. */
Test(broker_client, a_job_that_comes_again_was_not_refused) {
    struct wire_hello h = broker_rig_hello();
    int fd = broker_rig_connect(&rig, "job.sock"), fds[WIRE_FD_COUNT];
    struct wire_welcome w;
    struct wire_offer o;

    fdutil_send(fd, &h, sizeof(h), NULL, 0);
    broker_rig_expect(fd, &o, sizeof(o), fds, WIRE_FD_COUNT);
    broker_rig_kill_worker(&rig);
    broker_rig_expect(fd, &w, sizeof(w), NULL, 0);
    cr_assert_eq(w.result, ERR_WORKER_LOST);
    close(fd);
    expect_refusal("x", 1, ERR_PROTOCOL,
                   "not a Salus client: its first message does not begin with the protocol's magic "
                   "number");
    cr_assert_eq(refused(), 0);
}

Test(broker_client, windows_that_the_client_cannot_use_lead_to_others) {
    struct wire_hello h = broker_rig_hello();
    struct wire_answer no = {.magic = WIRE_MAGIC}, yes = {.magic = WIRE_MAGIC, .accepted = 1};
    int fd = broker_rig_connect(&rig, "job.sock"), fds[WIRE_FD_COUNT];
    struct wire_offer first, second;
    struct wire_welcome w;

    fdutil_send(fd, &h, sizeof(h), NULL, 0);
    broker_rig_expect(fd, &first, sizeof(first), fds, WIRE_FD_COUNT);
    fdutil_send(fd, &no, sizeof(no), NULL, 0);
    broker_rig_expect(fd, &second, sizeof(second), fds, WIRE_FD_COUNT);
    cr_assert_geq(second.windows.dev_base, 0x550000000000, "where sanitizers leave room");
    cr_assert_neq(second.job_id, first.job_id);
    fdutil_send(fd, &yes, sizeof(yes), NULL, 0);
    broker_rig_expect(fd, &w, sizeof(w), NULL, 0);
    cr_assert_eq(w.result, 0);
    cr_assert_eq(atomic_load(&rig.worker.detached), 1, "the first windows were given back");
    close(fd);
}

Test(broker_client, windows_that_the_worker_cannot_use_lead_to_the_next) {
    int fd = broker_rig_connect(&rig, "job.sock"), fds[WIRE_FD_COUNT];
    struct wire_offer o;

    atomic_store(&rig.worker.collide, 3);
    o = broker_rig_attach(fd, fds);
    cr_assert_eq(o.windows.dev_base, 0x200000000000 + 3 * CONFIG_STRIDE_BYTES);
    close(fd);
}

Test(broker_client, sixteen_tries_and_no_more) {
    struct wire_hello h = broker_rig_hello();

    atomic_store(&rig.worker.collide, 1000);
    expect_refusal(&h, sizeof(h), -EADDRNOTAVAIL,
                   "salusd tried 16 address windows, and the client or the worker uses addresses "
                   "in each; set window_base to an address range that is free in both");
    cr_assert_eq(atomic_load(&rig.worker.collide), 1000 - 16);
}

/* The refusal of the last windows has the form of an offer, because the client waits for one. */
Test(broker_client, sixteen_that_the_client_declines_and_no_more) {
    struct wire_hello h = broker_rig_hello();
    struct wire_answer no = {.magic = WIRE_MAGIC};
    int fd = broker_rig_connect(&rig, "job.sock"), fds[WIRE_FD_COUNT];
    struct wire_offer o;

    fdutil_send(fd, &h, sizeof(h), NULL, 0);
    for (int i = 0; i < 16; i++) {
        broker_rig_expect(fd, &o, sizeof(o), fds, WIRE_FD_COUNT);
        for (int k = 0; k < WIRE_FD_COUNT; k++)
            close(fds[k]);
        fdutil_send(fd, &no, sizeof(no), NULL, 0);
    }
    broker_rig_expect(fd, &o, sizeof(o), NULL, 0);
    cr_assert_eq(o.result, -EADDRNOTAVAIL);
    cr_assert(broker_rig_closed(fd));
    close(fd);
}

Test(broker_client, windows_that_others_have_are_not_said_to_be_tried) {
    int fds[WIRE_FD_COUNT], fd;
    struct wire_hello h = broker_rig_hello();

    broker_rig_stop(&rig); /* stops the suite's broker */
    broker_rig_init(&rig);
    rig.config.window_base = CONFIG_WINDOW_END - CONFIG_STRIDE_BYTES; /* space for one window */
    broker_rig_start(&rig);
    atomic_store(&rig.worker.keep, 1);
    fd = broker_rig_connect(&rig, "job.sock");
    broker_rig_attach(fd, fds);
    close(fd); /* the worker does not detach it */
    expect_refusal(&h, sizeof(h), -EBUSY,
                   "all 1 address windows are in use by jobs; try again when a job has ended");
}

Test(broker_client, the_workers_refusal_is_passed_on_with_its_words) {
    struct wire_hello h = broker_rig_hello();

    atomic_store(&rig.worker.attach_result, ERR_NO_MEMORY);
    expect_refusal(&h, sizeof(h), ERR_NO_MEMORY,
                   "the GPU worker rejected the job: out of patience");
}

Test(broker_client, a_completion_memfd_that_is_too_small_is_never_mapped) {
    struct wire_hello h = broker_rig_hello();

    atomic_store(&rig.worker.bad_completion, 1);
    expect_refusal(&h, sizeof(h), ERR_PROTOCOL,
                   "the GPU worker sent an invalid completion page: Invalid argument");
}

Test(broker_client, a_client_that_speaks_after_its_welcome_ends) {
    int fd = broker_rig_connect(&rig, "job.sock"), fds[WIRE_FD_COUNT];
    struct wire_submission *s;

    broker_rig_attach(fd, fds);
    s = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fds[WIRE_FD_SUBMISSION], 0);
    cr_assert_neq(s, MAP_FAILED);
    fdutil_send(fd, "x", 1, NULL, 0);
    cr_assert(broker_rig_closed(fd));
    cr_assert_eq(atomic_load(&s->lost), (uint32_t)-ERR_PROTOCOL);
    cr_assert(broker_rig_wait(&rig.worker.detach_result, ERR_PROTOCOL));
    close(fd);
}

/* ---- files of clients that run --------------------------------------------------------------- */

static int make_file(int seals, ino_t *inode) {
    int fd = memfd_create("file", MFD_ALLOW_SEALING | MFD_CLOEXEC);
    struct stat st;

    cr_assert_eq(ftruncate(fd, 4096), 0);
    cr_assert_eq(fcntl(fd, F_ADD_SEALS, seals), 0);
    cr_assert_eq(fstat(fd, &st), 0);
    *inode = st.st_ino;
    return fd;
}

static struct wire_file file_of(uint32_t number) {
    return (struct wire_file){
        .magic = WIRE_FILE_MAGIC, .file = number, .reply = 5, .ticket = 100 + number};
}

static void attach(int *fd) {
    int fds[WIRE_FD_COUNT];

    *fd = broker_rig_connect(&rig, "job.sock");
    broker_rig_attach(*fd, fds);
    for (int i = 0; i < WIRE_FD_COUNT; i++)
        close(fds[i]);
}

static void lend(int fd, uint32_t number, int file) {
    struct wire_file f = file_of(number);

    cr_assert_eq(fdutil_send(fd, &f, sizeof(f), &file, file >= 0), 0);
    if (file >= 0) close(file);
}

Test(broker_client, a_file_is_passed_on) {
    const struct broker_rig_worker *w = &rig.worker;
    ino_t inode;
    int fd;

    attach(&fd);
    for (int i = 1; i <= 20; i++) {
        lend(fd, (uint32_t)i, make_file(F_SEAL_SHRINK, &inode));
        cr_assert(broker_rig_wait(&w->files, i));
        cr_expect_eq(atomic_load(&w->file_inode), inode);
        cr_expect_eq(w->last_file.job_id, w->last_attach.job_id);
        cr_expect(w->last_file.file.file == (uint32_t)i && w->last_file.file.reply == 5 &&
                  w->last_file.file.ticket == 100 + (uint32_t)i && w->last_file.result == 0);
    }
    close(fd);
    cr_assert(broker_rig_wait(&rig.worker.detached, 1));
}

/* The broker refuses a file that its owner could truncate, so the worker, which serves all users,
 * never gets it. */
Test(broker_client, a_file_that_could_shrink_stays_here) {
    const struct broker_rig_worker *w = &rig.worker;
    int fd, pipes[2], before;
    ino_t inode;

    attach(&fd);
    broker_rig_settle(&rig);
    before = broker_rig_count_fds();
    lend(fd, 1, make_file(F_SEAL_GROW, &inode));
    cr_assert(broker_rig_wait(&w->files, 1));
    cr_expect(w->last_file.result == -EINVAL && atomic_load(&w->file_inode) == 0);
    cr_assert_eq(pipe(pipes), 0);
    close(pipes[1]);
    lend(fd, 2, pipes[0]);
    cr_assert(broker_rig_wait(&w->files, 2));
    cr_expect(w->last_file.result == -EINVAL && atomic_load(&w->file_inode) == 0);
    lend(fd, 3, -1);
    cr_assert(broker_rig_wait(&w->files, 3));
    cr_expect_eq(w->last_file.result, -EINVAL);
    broker_rig_settle(&rig);
    cr_expect_eq(broker_rig_count_fds(), before);
    close(fd);
}

static void lend_end(int fd, uint32_t segment, int end) {
    struct wire_file f = file_of(segment);

    f.magic = WIRE_KEEP_MAGIC;
    cr_assert_eq(fdutil_send(fd, &f, sizeof(f), &end, end >= 0), 0);
}

/* The end of a segment's descriptor is passed on; the message carries no descriptor that would
 * have to be closed. */
Test(broker_client, the_end_of_a_descriptor_is_passed_on) {
    const struct broker_rig_worker *w = &rig.worker;
    struct stat st;
    int fd, pair[2], before;
    ino_t inode;

    attach(&fd);
    broker_rig_settle(&rig);
    cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    before = broker_rig_count_fds();
    fstat(pair[1], &st);
    lend_end(fd, WIRE_SEGMENTS - 1, pair[1]);
    cr_assert(broker_rig_wait(&w->files, 1));
    cr_expect_eq(atomic_load(&w->file_inode), st.st_ino);
    cr_expect(w->last_file.kind == WIRE_KEEP && w->last_file.result == 0 &&
              w->last_file.file.file == WIRE_SEGMENTS - 1);
    cr_expect_eq(fdutil_send(pair[0], "x", 1, NULL, 0), -EPIPE);
    lend_end(fd, 2, make_file(F_SEAL_SHRINK, &inode));
    cr_assert(broker_rig_wait(&w->files, 2));
    cr_expect(w->last_file.result == -EINVAL && atomic_load(&w->file_inode) == 0, "it is a file");
    cr_expect_eq(w->last_file.kind, WIRE_KEEP);
    cr_expect_eq(fdutil_send(pair[1], "x", 1, NULL, 0), 0);
    lend_end(fd, 3, pair[0]);
    cr_assert(broker_rig_wait(&w->files, 3));
    cr_expect(w->last_file.result == -EINVAL && atomic_load(&w->file_inode) == 0,
              "it is not empty");
    lend(fd, 4, dup(pair[0]));
    cr_assert(broker_rig_wait(&w->files, 4));
    cr_expect(w->last_file.result == -EINVAL && atomic_load(&w->file_inode) == 0, "it is no file");
    lend_end(fd, 5, -1);
    cr_assert(broker_rig_wait(&w->files, 5));
    cr_expect_eq(w->last_file.result, -EINVAL);
    broker_rig_settle(&rig);
    cr_expect_eq(broker_rig_count_fds(), before + 1, "the file is ours");
    close(fd);
}

/* A client that sends continuously has one file in flight, and its disconnect is noticed all the
 * same. */
Test(broker_client, the_next_file_waits_for_the_answer) {
    struct broker_rig_worker *w = &rig.worker;
    struct wire_worker_msg filed = {.kind = WIRE_FILED};
    ino_t inode;
    int fd, other;

    attach(&fd);
    filed.job_id = w->last_attach.job_id;
    atomic_store(&w->file_silent, 1);
    for (uint32_t i = 0; i < 5; i++)
        lend(fd, i, make_file(F_SEAL_SHRINK, &inode));
    attach(&other);
    broker_rig_settle(&rig);
    cr_expect_eq(atomic_load(&w->files), 1);
    broker_rig_say(&rig, &filed);
    cr_assert(broker_rig_wait(&w->files, 2));
    broker_rig_settle(&rig);
    cr_expect(atomic_load(&w->files) == 2 && atomic_load(&w->detached) == 0);
    atomic_store(&w->keep, 1);
    cr_assert_eq(rig.server->broker.clients.running, 2);
    close(fd);
    cr_assert(PATIENCE_UNTIL(rig.server->broker.clients.running == 1));
    broker_rig_say(&rig, &filed); /* before it reports that the job is gone */
    broker_rig_settle(&rig);
    cr_expect_eq(atomic_load(&w->launches), 1);
    atomic_store(&w->keep, 0);
    close(other);
    cr_assert(broker_rig_wait(&w->detached, 1));
}

Test(broker_client, what_is_said_of_a_file_is_checked) {
    struct wire_file bad[6];
    ino_t inode;

    for (int i = 0; i < 6; i++) {
        int file = make_file(F_SEAL_SHRINK, &inode), fd;

        bad[i] = file_of(0);
        if (i == 0) bad[i].file = WIRE_FILES;
        if (i == 1) bad[i].reply = WIRE_REPLIES;
        if (i == 2) bad[i].pad = 1;
        if (i == 3) bad[i].ticket = 0;
        if (i == 4) bad[i].magic = WIRE_MAGIC;
        if (i == 5) bad[i] = (struct wire_file){WIRE_KEEP_MAGIC, WIRE_SEGMENTS, 5, 0, 100};
        attach(&fd);
        cr_assert_eq(fdutil_send(fd, &bad[i], sizeof(bad[i]), &file, 1), 0);
        cr_expect(broker_rig_closed(fd), "%d", i);
        cr_assert(broker_rig_wait(&rig.worker.detach_result, ERR_PROTOCOL));
        atomic_store(&rig.worker.detach_result, 0);
        close(fd);
        close(file);
    }
    cr_expect_eq(atomic_load(&rig.worker.files), 0);
}

/* The broker had not sent the worker a file of this job. */
Test(broker_client, an_answer_about_no_file_ends_the_worker) {
    struct wire_worker_msg filed = {.kind = WIRE_FILED};
    int fd;

    attach(&fd);
    filed.job_id = rig.worker.last_attach.job_id;
    broker_rig_say(&rig, &filed);
    cr_assert(broker_rig_wait(&rig.worker.launches, 2));
    close(fd);
}

Test(broker_client, a_thousand_connections_leave_nothing_behind) {
    int before, fds[WIRE_FD_COUNT];

    attach_settled();
    before = broker_rig_count_fds();
    for (int i = 0; i < 1000; i++) {
        int fd = broker_rig_connect(&rig, "job.sock");

        if (i % 4 == 1) fdutil_send(fd, "junk", 4, NULL, 0);
        if (i % 4 == 2) {
            struct wire_hello h = broker_rig_hello();

            fdutil_send(fd, &h, sizeof(h), NULL, 0);
        }
        if (i % 4 == 3) {
            broker_rig_attach(fd, fds);
            for (int k = 0; k < WIRE_FD_COUNT; k++)
                close(fds[k]);
        }
        close(fd);
    }
    cr_assert(PATIENCE_UNTIL(broker_rig_count_fds() <= before), "%d descriptors before, %d after",
              before, broker_rig_count_fds());
    cr_assert(
        PATIENCE_UNTIL(atomic_load(&rig.worker.detached) + 1 == atomic_load(&rig.worker.attached)));
}

Test(broker_client, a_process_that_dies_is_noticed_though_its_socket_lives_on) {
    int fd = broker_rig_connect(&rig, "job.sock"), pair[2], fds[WIRE_FD_COUNT];
    pid_t child;

    /* The child connects and passes the socket to us, so that the child's end causes no EOF. */
    cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    close(fd);
    child = fork();
    if (child == 0) {
        fd = broker_rig_connect(&rig, "job.sock");
        broker_rig_attach(fd, fds);
        fdutil_send(pair[1], "s", 1, &fd, 1);
        _exit(0);
    }
    char byte;
    int nfds = 1;

    cr_assert_eq(fdutil_recv(pair[0], &byte, 1, &fd, &nfds), 1);
    cr_assert_eq(nfds, 1);
    waitpid(child, NULL, 0);
    cr_assert(broker_rig_closed(fd), "the broker closed it");
    cr_assert(broker_rig_wait(&rig.worker.detached, 1));
    close(fd);
}

Test(broker_client, many_connections_wait_and_are_all_answered) {
    int fds[WIRE_FD_COUNT], socks[140], ok = 0;
    struct wire_offer o;

    listen_impatiently();
    broker_rig_run(&rig);
    /* More than max_jobs + 64 silent connections: the rest wait in the backlog until these time
     * out. */
    for (int i = 0; i < 140; i++)
        socks[i] = broker_rig_connect(&rig, "job.sock");
    for (int i = 0; i < 140; i++) {
        broker_rig_expect(socks[i], &o, sizeof(o), NULL, 0);
        ok += o.result == -ETIMEDOUT;
        close(socks[i]);
    }
    cr_assert_eq(ok, 140);
    rig.server->broker.config.handshake_timeout = 60 * S; /* the broker's loop sleeps */
    socks[0] = broker_rig_connect(&rig, "job.sock");
    broker_rig_attach(socks[0], fds);
    close(socks[0]);
}

Test(broker_client, an_orderly_end_is_told) {
    struct broker_rig other;
    struct wire_submission *s;
    int fd, fds[WIRE_FD_COUNT];

    broker_rig_init(&other);
    broker_rig_start(&other);
    fd = broker_rig_connect(&other, "job.sock");
    broker_rig_attach(fd, fds);
    s = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fds[WIRE_FD_SUBMISSION], 0);
    broker_rig_stop(&other);
    cr_assert(broker_rig_closed(fd));
    cr_assert_eq(atomic_load(&s->lost), (uint32_t)-ERR_STOPPED);
    close(fd);
}

Test(broker_client, one_broker_a_directory) {
    struct server *second;
    char why[256], expected[256];

    cr_assert_eq(server_create(&second, &rig.config, NULL, NULL, why, sizeof(why)), -EBUSY);
    snprintf(expected, sizeof(expected),
             "%s: another salusd with pid %d serves this directory; see 'salusctl status'", rig.dir,
             (int)getpid());
    cr_assert_str_eq(why, expected);
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static void allow_fds(rlim_t n) {
    struct rlimit limit;

    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = n;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* The lowest free descriptor. */
static rlim_t next_fd(void) {
    int fd = dup(0);

    close(fd);
    return (rlim_t)fd;
}

Test(broker_client, where_no_descriptor_is_left_the_reserve_says_so) {
    int first = broker_rig_connect(&rig, "job.sock"), fds[WIRE_FD_COUNT];
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    struct wire_offer o;
    int fd;

    broker_rig_attach(first, fds); /* the worker has opened all descriptors that it needs */
    broker_rig_settle(&rig);
    fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/job.sock", rig.dir);
    for (int i = 0; i < 3; i++) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int connected, answered;

        allow_fds(next_fd());
        connected = connect(fd, (struct sockaddr *)&addr, sizeof(addr));
        answered = poll(&p, 1, patience_ms());
        fdutil_raise_limits(); /* the test needs descriptors to report a failure */
        cr_assert_eq(connected, 0);
        cr_assert_eq(answered, 1, "nothing was said");
        broker_rig_expect(fd, &o, sizeof(o), NULL, 0);
        cr_assert_eq(o.result, -EMFILE);
        cr_assert_str_eq(
            o.text,
            "salusd has no file descriptors left; raise LimitNOFILE of its unit, or 'ulimit -Hn'");
        fdutil_raise_limits();
        close(fd);
        fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    }
    close(fd);
    fd = broker_rig_connect(&rig, "job.sock");
    broker_rig_attach(fd, fds);
    close(fd);
}

/* Opens one more connection that the broker has accepted (with a descriptor of its socket and
 * one of its process) or refused. */
static struct pollfd connected(void) {
    const int before = broker_rig_count_fds();
    struct pollfd p = {.fd = broker_rig_connect(&rig, "job.sock"), .events = POLLIN};

    cr_assert(PATIENCE_UNTIL(poll(&p, 1, 0) == 1 || broker_rig_count_fds() >= before + 3));
    return p;
}

Test(broker_client, the_last_descriptors_are_not_for_clients) {
    int first = broker_rig_connect(&rig, "job.sock"), fds[WIRE_FD_COUNT];
    struct pollfd p;
    struct wire_offer o;

    broker_rig_attach(first, fds); /* the worker has opened all descriptors that it needs */
    broker_rig_settle(&rig);
    p = connected();
    allow_fds(next_fd() + 12);
    for (int i = 0; i < 4 && !p.revents; i++)
        p = connected();
    broker_rig_expect(p.fd, &o, sizeof(o), NULL, 0);
    cr_assert_eq(o.result, -EMFILE);
    for (int i = 0; i < 3; i++)
        cr_assert_geq(dup(0), 0, "there are some left");
    fdutil_raise_limits();
}

/* ---- questions instead of a hello ------------------------------------------------------------ */

static const struct wire_question question = {
    .magic = WIRE_QUESTION_MAGIC, .major = WIRE_MAJOR, .minor = WIRE_MINOR};

#define VIEW_BYTES offsetof(struct wire_view, processes)

Test(broker_client, a_question_is_answered_without_a_job) {
    struct wire_question q = question;
    int fd = broker_rig_connect(&rig, "job.sock");
    struct wire_view v;

    q.minor = WIRE_MINOR + 1;
    cr_assert_eq(fdutil_send(fd, &q, sizeof(q), NULL, 0), 0);
    broker_rig_expect(fd, &v, VIEW_BYTES, NULL, 0);
    cr_assert_eq(v.magic, WIRE_QUESTION_MAGIC);
    cr_assert_eq(v.minor, WIRE_MINOR);
    cr_assert_str_eq(v.device.name, "Fake GPU");
    cr_assert_eq(v.process_count, 0);
    cr_assert(broker_rig_closed(fd));
    close(fd);
    cr_assert_eq(atomic_load(&rig.worker.attached), 0);
}

Test(broker_client, a_question_of_another_major_is_refused) {
    struct wire_question q = question;

    q.major = 2;
    q.minor = 7;
    expect_refusal(&q, sizeof(q), ERR_VERSION,
                   "the client's library speaks protocol 2.7, this salusd 1.9; install both from "
                   "one release");
    expect_refusal(&q, 8, ERR_VERSION,
                   "the client's library speaks protocol 2.7, this salusd 1.9; install both from "
                   "one release");
}

Test(broker_client, a_malformed_question_is_refused) {
    struct wire_question q = question;
    unsigned char longer[sizeof(q) + 1] = {0};

    memcpy(longer, &q, sizeof(q));
    expect_refusal(&q, sizeof(q) - 1, ERR_PROTOCOL, "the question about a GPU is malformed");
    expect_refusal(longer, sizeof(longer), ERR_PROTOCOL, "the question about a GPU is malformed");
    q.reserved = 1;
    expect_refusal(&q, sizeof(q), ERR_PROTOCOL, "the question about a GPU is malformed");
}

Test(broker_client, one_question_a_connection) {
    int fd = broker_rig_connect(&rig, "job.sock");
    struct wire_view v;

    cr_assert(broker_rig_wait(&rig.worker.trials, 1)); /* the device is known */
    fdutil_send(fd, &question, sizeof(question), NULL, 0);
    fdutil_send(fd, &question, sizeof(question), NULL, 0);
    broker_rig_expect(fd, &v, VIEW_BYTES, NULL, 0);
    cr_assert(broker_rig_closed(fd));
    close(fd);
}

Test(broker_client, a_question_waits_only_until_the_device_is_known) {
    int fd;
    struct wire_view v;
    struct pollfd p;

    broker_rig_stop(&rig); /* stops the suite's broker */
    broker_rig_init(&rig);
    atomic_store(&rig.worker.fail_ready, 1);
    broker_rig_start(&rig);
    fd = broker_rig_connect(&rig, "job.sock");
    fdutil_send(fd, &question, sizeof(question), NULL, 0);
    p = (struct pollfd){.fd = fd, .events = POLLIN};
    cr_assert_eq(poll(&p, 1, patience_ms()), 1);
    broker_rig_expect(fd, &v, VIEW_BYTES, NULL, 0);
    cr_assert_eq(v.device.memory_bytes, 1ull << 30);
    close(fd);
    atomic_store(&rig.worker.never_ready, 1); /* and no longer, whatever happens to workers */
    broker_rig_kill_worker(&rig);
    fd = broker_rig_connect(&rig, "job.sock");
    fdutil_send(fd, &question, sizeof(question), NULL, 0);
    broker_rig_expect(fd, &v, VIEW_BYTES, NULL, 0);
    cr_assert_eq(v.device.memory_bytes, 1ull << 30);
    close(fd);
}

Test(broker_client, a_question_that_waits_is_refused_in_time) {
    int fd;
    struct wire_offer o;

    broker_rig_stop(&rig);
    broker_rig_init(&rig);
    rig.config.worker_timeout = 300000000;
    atomic_store(&rig.worker.never_ready, 1);
    broker_rig_start(&rig);
    fd = broker_rig_connect(&rig, "job.sock");
    fdutil_send(fd, &question, sizeof(question), NULL, 0);
    broker_rig_expect(fd, &o, sizeof(o), NULL, 0);
    cr_assert_eq(o.result, ERR_WORKER_LOST);
    cr_assert(broker_rig_closed(fd));
    close(fd);
}

Test(broker_client, who_spoke_while_his_question_waits_is_refused) {
    int fd;
    struct wire_offer o;

    broker_rig_stop(&rig);
    broker_rig_init(&rig);
    atomic_store(&rig.worker.never_ready, 1);
    broker_rig_start(&rig);
    fd = broker_rig_connect(&rig, "job.sock");
    fdutil_send(fd, &question, sizeof(question), NULL, 0);
    fdutil_send(fd, &question, sizeof(question), NULL, 0);
    broker_rig_expect(fd, &o, sizeof(o), NULL, 0);
    cr_assert_str_eq(o.text, "the client sent a message while salusd expected none");
    close(fd);
}

Test(broker_client, a_view_shows_the_job_of_who_asks) {
    int job = broker_rig_connect(&rig, "job.sock"), fds[WIRE_FD_COUNT];
    int fd = broker_rig_connect(&rig, "job.sock");
    struct wire_view v;

    broker_rig_attach(job, fds);
    atomic_store(&rig.worker.page->obtainable.persistent, 1);
    atomic_store(&rig.worker.page->obtainable.free_bytes, (1 << 30) - (7 << 20));
    fdutil_send(fd, &question, sizeof(question), NULL, 0);
    broker_rig_expect(fd, &v, VIEW_BYTES + sizeof(v.processes[0]), NULL, 0);
    cr_assert_eq(v.used_bytes, 7 << 20);
    cr_assert_eq(v.processes[0].pid, getpid());
    close(fd);
    close(job);
}
