/* SPDX-License-Identifier: Apache-2.0
 *
 * The client's side of the handshake against a broker that is a thread of the test: refusals,
 * windows that collide, and brokers that break the protocol.
 */
#include "shim/connection/conn.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "common/log.h"
#include "proto/cuda/cuda_abi.h"
#include "proto/wire/job.h"
#include "shim/process/program_identity.h"
#include "test/lib/description.h"

#define GRANULE (2ull << 20)
#define FIRST 0x300000000000ull
#define SECOND 0x310000000000ull
#define CONNECTIONS_MOST 4 /* connections until the job is refused for good */

/* The faults of the broker, and the messages it received. */
struct script {
    int refuse;           /* result of the offer */
    int major_off;        /* added to the version */
    int minor;            /* 0: the current version */
    int wrong;            /* attribute of the description; < 0: its version */
    bool hang_up;         /* after hello */
    bool unsealed;        /* the completion memfd can shrink */
    bool small;           /* the submission memfd is too small */
    int fds;              /* descriptors that are sent; 0: all */
    uint64_t granularity; /* 0: GRANULE */
    uint64_t alloc;       /* granules of the window; 0: 4 */
    int welcome;          /* result of the welcome */
    int lost;             /* connections whose worker ends during the offer */
    bool late; /* refuses an accepted offer late, before it learns that the client did not accept */
    uint64_t base[2];        /* window bases of the first and the second offer */
    uint32_t answers[2];     /* the client's answers */
    int offers, connections; /* offers made and connections accepted */
    struct wire_hello hello; /* as received */
    struct wire_question question;
    int listener, peer, host; /* descriptors */
};

static int make_memfd(size_t bytes, bool sealed) {
    if (sealed) return fdutil_memfd("test", bytes, 0);
    int fd = memfd_create("test", MFD_ALLOW_SEALING);
    cr_assert_eq(ftruncate(fd, (off_t)bytes), 0);
    return fd;
}

/* Makes the page as the worker does: the device is described before the offer. */
static int make_completion(const struct script *s) {
    const struct wire_device device = {.memory_bytes = GRANULE,
                                       .sm_count = 9,
                                       .cc_major = 8,
                                       .threads_per_sm = 1536,
                                       .blocks_per_sm = 16,
                                       .regs_per_sm = 65536,
                                       .shared_per_sm_bytes = 100 << 10,
                                       .shared_per_block_bytes = 48 << 10,
                                       .shared_optin_bytes = 99 << 10};
    int fd = make_memfd(sizeof(struct wire_completion), !s->unsealed);
    struct description d;
    description_example(&d, &device);
    if (s->wrong > 0) description_set(&d, (uint32_t)s->wrong, -1);
    if (s->wrong < 0) d.version++;
    cr_assert_eq(pwrite(fd, &d, sizeof(d), offsetof(struct wire_completion, description)),
                 (ssize_t)sizeof(d));
    return fd;
}

static void send_offer(struct script *s, uint64_t base) {
    struct wire_offer o = {
        .magic = WIRE_MAGIC,
        .major = (uint16_t)(WIRE_MAJOR + s->major_off),
        .minor = s->minor ? (uint16_t)s->minor : WIRE_MINOR,
        .result = s->refuse,
        .job_id = 7,
        .windows = {base, (s->alloc ? s->alloc : 4) * GRANULE, GRANULE, base + 16 * GRANULE,
                    4 * GRANULE},
        .device = {.granularity_bytes = s->granularity ? s->granularity : GRANULE},
        .text = "no",
    };
    size_t sub = sizeof(struct wire_submission) - (s->small ? 4096 : 0);
    int fds[WIRE_FD_COUNT] = {
        [WIRE_FD_SUBMISSION] = make_memfd(sub, true),
        [WIRE_FD_COMPLETION] = make_completion(s),
        [WIRE_FD_HOST] = make_memfd(4 * GRANULE, true),
        [WIRE_FD_DOORBELL] = eventfd(0, 0),
    };
    int count = s->refuse ? 0 : s->fds ? s->fds : WIRE_FD_COUNT;
    fdutil_send(s->peer, &o, sizeof(o), fds, count);
    s->host = fds[WIRE_FD_HOST];
    s->offers++;
}

static void say_welcome(const struct script *s, int result) {
    struct wire_welcome w = {.magic = WIRE_MAGIC, .result = result};
    fdutil_send(s->peer, &w, sizeof(w), NULL, 0);
}

/* Answers that the GPU exists. */
static void answer_question(struct script *s) {
    struct wire_view v = {
        .magic = WIRE_QUESTION_MAGIC, .major = WIRE_MAJOR, .device = {.memory_bytes = GRANULE}};
    memcpy(&s->question, &s->hello, sizeof(s->question));
    fdutil_send(s->peer, &v, offsetof(struct wire_view, processes), NULL, 0);
    close(s->peer);
}

/* Serves one connection. False: the client will connect again. */
static bool serve(struct script *s) {
    struct wire_answer a = {0};
    s->peer = accept(s->listener, NULL, NULL);
    if (s->peer < 0) return true; /* the client should have connected again */
    fdutil_recv(s->peer, &s->hello, sizeof(s->hello), NULL, NULL);
    if (s->hello.magic == WIRE_QUESTION_MAGIC) {
        answer_question(s);
        return false;
    }
    bool lost = s->connections++ < s->lost;
    for (int i = 0; i < 2 && !s->hang_up; i++) {
        if (s->late && i == 1) {
            say_welcome(s, lost ? ERR_WORKER_LOST : -ETIMEDOUT);
            break;
        }
        send_offer(s, s->base[i]);
        if (fdutil_recv(s->peer, &a, sizeof(a), NULL, NULL) <= 0) break;
        s->answers[i] = a.accepted;
        if (!a.accepted) continue;
        say_welcome(s, lost ? ERR_WORKER_LOST : s->welcome);
        if (!lost) return true;
        break;
    }
    close(s->peer);
    s->peer = -1;
    return !lost || s->connections == CONNECTIONS_MOST;
}

static void *broker(void *arg) {
    const struct script *s = arg;
    while (!serve(arg))
        continue;
    close(s->listener); /* a further connection gets no answer */
    return NULL;
}

static char dir[] = "/tmp/shim-conn-XXXXXX";

static int connect_to(struct script *s, struct conn *c) {
    pthread_t thread;
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    struct timeval most = {.tv_sec = 10};
    log_init("none");
    cr_assert_not_null(mkdtemp(dir));
    setenv("SALUS_RUN_DIR", dir, 1);
    setenv("SALUS_JOB_NAME", "a test", 1);
    snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/job.sock", dir);
    s->listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    cr_assert_eq(bind(s->listener, (struct sockaddr *)&addr, sizeof(addr)), 0);
    cr_assert_eq(listen(s->listener, 1), 0);
    setsockopt(s->listener, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
    if (!s->base[0]) s->base[0] = FIRST;
    if (!s->base[1]) s->base[1] = SECOND;
    pthread_create(&thread, NULL, broker, s);
    int err = conn_open(c);
    pthread_join(thread, NULL);
    unlink(addr.sun_path);
    rmdir(dir);
    return err;
}

/* Makes a file such as `salusctl run` passes to its command. */
static int give_note(void) {
    char path[64];
    int fd = memfd_create("note", MFD_CLOEXEC);
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", getpid(), fd);
    setenv(JOB_REFUSED_VARIABLE, path, 1);
    return fd;
}

/* Expects one line in the file, with the reason. */
static void check_note(int fd, const char *reason) {
    char text[1024] = "";
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
    cr_assert_gt(n, 1, "the launcher is not told");
    cr_expect_eq(strchr(text, '\n'), text + n - 1, "%s", text);
    text[n - 1] = '\0';
    cr_expect_str_eq(text, reason);
    close(fd);
}

/* True when no mapping is there. */
static bool is_free(uint64_t at) {
    void *p = mmap((void *)(uintptr_t)at, 4096, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (p == MAP_FAILED) return false;
    munmap(p, 4096);
    return true;
}

Test(shim_conn, joins_and_shares_memory) {
    struct script s = {0};
    struct conn c = {0};
    cr_assert_eq(connect_to(&s, &c), 0);
    cr_assert_str_eq(s.hello.name, "a test");
    cr_assert_eq(s.hello.magic, WIRE_MAGIC);
    cr_assert_eq(s.hello.pid, getpid());
    cr_assert_eq(c.job_id, 7);
    cr_assert_eq(c.windows.dev_base, FIRST);
    char *theirs = mmap(NULL, GRANULE, PROT_READ, MAP_SHARED, s.host, 0);
    strcpy((char *)(uintptr_t)c.windows.host_base, "hello");
    cr_assert_str_eq(theirs, "hello");
    cr_assert(conn_in_device(&c, FIRST + 5 * GRANULE - 1));
    cr_assert_not(conn_in_device(&c, FIRST + 5 * GRANULE));
    cr_assert_not(conn_in_host(&c, FIRST));
    cr_assert_not(conn_closed(&c));
    close(s.peer);
    cr_assert(conn_closed(&c));
}

Test(shim_conn, says_what_the_user_said_about_the_job) {
    struct script s = {0};
    struct conn c = {0};
    setenv("SALUS_PERSISTENT", "3GiB", 1);
    setenv("SALUS_WEIGHT", "7", 1);
    setenv("SALUS_PRIORITY", "-2", 1);
    setenv("SALUS_GROUP", "ring", 1);
    setenv("SALUS_ITERATIONS", "many", 1); /* ignored */
    setenv("SALUS_ADMIT_TIMEOUT", "2min", 1);
    cr_assert_eq(connect_to(&s, &c), 0);
    const struct wire_job *j = &s.hello.job;
    cr_assert_eq(j->flags, WIRE_JOB_RESERVED,
                 "one of the two sizes is a reservation, the other is 0");
    cr_assert_eq(j->persistent_bytes, 3ull << 30);
    cr_assert_eq(j->ephemeral_bytes, 0);
    cr_assert_eq(j->weight, 7);
    cr_assert_eq(j->priority, -2);
    cr_assert_str_eq(j->group, "ring");
    cr_assert_eq(j->iterations, 0);
    cr_assert_eq(j->admit_timeout_ns, 120000000000ull);
    cr_assert_eq(j->profile, program_identity_self());
}

Test(shim_conn, asks_for_the_gpu_that_the_user_named) {
    struct script s = {0};
    struct conn c = {0};

    setenv("SALUS_GPU", "2", 1);
    cr_assert_eq(connect_to(&s, &c), 0);
    cr_assert_eq(s.hello.gpu, 3);
}

Test(shim_conn, asks_for_the_first_gpu_that_is_visible) {
    struct script s = {0};
    struct conn c = {0};

    setenv("CUDA_VISIBLE_DEVICES", "4,1", 1);
    cr_assert_eq(connect_to(&s, &c), 0);
    cr_assert_eq(s.question.gpu, 5, "whether there is one");
    cr_assert_eq(s.hello.gpu, 5);
}

Test(shim_conn, a_list_that_hides_every_gpu_asks_nobody) {
    struct conn c = {0};

    log_init("none");
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    setenv("SALUS_RUN_DIR", "/nonexistent", 1);
    cr_assert_eq(conn_open(&c), -ENODEV);
    setenv("CUDA_VISIBLE_DEVICES", "0", 1);
    cr_assert_eq(conn_open(&c), ERR_NO_DAEMON);
}

/* A misspelt GPU that is ignored would silently mean another GPU. */
Test(shim_conn, a_gpu_that_is_misspelt_is_no_job) {
    struct conn c = {0};

    log_init("none");
    setenv("SALUS_GPU", "2nd", 1);
    setenv("SALUS_RUN_DIR", "/nonexistent", 1); /* no broker is asked */
    int note = give_note();
    cr_assert_eq(conn_open(&c), -ENODEV);
    cr_assert(c.refused);
    check_note(note, "SALUS_GPU: '2nd' is not the number of a GPU");
}

Test(shim_conn, a_profile_is_a_program_and_its_arguments) {
    const char args[] = "train\0--rate\0001\0", other_name[] = "./train\0--rate\0001\0";
    const char other_args[] = "train\0--rate\0002\0", joined[] = "train\0--rate1\0";
    uint64_t profile = program_identity_of("/bin/train", args, sizeof(args) - 1);
    cr_assert_neq(profile, 0);
    cr_assert_eq(profile, program_identity_of("/bin/train", other_name, sizeof(other_name) - 1));
    cr_assert_neq(profile, program_identity_of("/opt/train", args, sizeof(args) - 1));
    cr_assert_neq(profile, program_identity_of("/bin/train", other_args, sizeof(other_args) - 1));
    cr_assert_neq(profile, program_identity_of("/bin/train", joined, sizeof(joined) - 1));
    cr_assert_neq(profile, program_identity_of("/bin/train", args, 6));
    cr_assert_eq(program_identity_self(), program_identity_self());
    cr_assert_neq(program_identity_self(), program_identity_of("", "", 0));
}

Test(shim_conn, asks_for_another_place_when_something_is_in_the_way) {
    struct script s = {0};
    struct conn c = {0};
    /* The obstacle is in the middle of the second window: the first window must be unmapped as
     * well. */
    mmap((void *)(FIRST + 17 * GRANULE), 4096, PROT_READ,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    cr_assert_eq(connect_to(&s, &c), 0);
    cr_assert_eq(s.offers, 2);
    cr_assert_eq(s.answers[0], 0);
    cr_assert_eq(s.answers[1], 1);
    cr_assert_eq(c.windows.dev_base, SECOND);
    cr_assert(is_free(FIRST));
}

Test(shim_conn, says_when_there_is_no_daemon) {
    struct conn c = {0};
    log_init("none");
    setenv("SALUS_RUN_DIR", "/nonexistent", 1);
    int note = give_note();
    cr_assert_eq(conn_open(&c), ERR_NO_DAEMON);
    check_note(note, err_text(ERR_NO_DAEMON));
    char longest[300];
    memset(longest, 'x', sizeof(longest));
    longest[299] = '\0';
    setenv("SALUS_RUN_DIR", longest, 1);
    cr_assert_eq(conn_open(&c), ERR_NO_DAEMON);
}

/* Expects that a failure leaves nothing mapped, and is reported. */
static void check_refused(struct script *s, int expected) {
    struct conn c = {0};
    int note = give_note();
    cr_assert_eq(connect_to(s, &c), expected);
    check_note(
        note,
        s->refuse ? "no"
        : s->offers && s->alloc > 4
            ? "this process cannot reserve the addresses of its GPU's memory; raise 'ulimit -v'"
            : err_text(expected));
    cr_assert(is_free(FIRST));
    cr_assert(is_free(FIRST + 16 * GRANULE));
    cr_assert_eq(c.sock, -1);
}

Test(shim_conn, refusal) {
    check_refused(&(struct script){.refuse = -EBUSY}, -EBUSY);
}

/* A program may have got this variable from anywhere. */
Test(shim_conn, only_a_launchers_file_is_written_to) {
    char path[] = "/tmp/shim-note-XXXXXX", byte;
    int fd = mkstemp(path);
    struct script s = {.refuse = -EBUSY};
    struct conn c = {0};
    setenv(JOB_REFUSED_VARIABLE, path, 1);
    cr_assert_eq(connect_to(&s, &c), -EBUSY);
    unlink(path);
    cr_assert_eq(read(fd, &byte, 1), 0);
    close(fd);
}

Test(shim_conn, refused_welcome) {
    check_refused(&(struct script){.welcome = -ENOMEM}, -ENOMEM);
}

static void block_first(void) {
    void *p = mmap((void *)(FIRST + 17 * GRANULE), 4096, PROT_READ,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    cr_assert_neq(p, MAP_FAILED);
}

Test(shim_conn, a_refusal_that_crossed_its_answer) {
    struct script s = {.late = true};
    block_first();
    check_refused(&s, -ETIMEDOUT);
    cr_assert_eq(s.answers[0], 0);
    cr_assert_eq(s.connections, 1);
}

Test(shim_conn, a_worker_that_ends_before_the_welcome_is_no_end) {
    struct script s = {.lost = CONNECTIONS_MOST - 1};
    struct conn c = {0};
    char byte;
    int note = give_note();
    cr_assert_eq(connect_to(&s, &c), 0);
    cr_assert_eq(pread(note, &byte, 1, 0), 0, "nobody was refused");
    cr_assert_eq(s.connections, CONNECTIONS_MOST);
    cr_assert_eq(s.offers, CONNECTIONS_MOST);
    cr_assert_eq(c.windows.dev_base, FIRST);
    cr_assert_not(c.refused);
    cr_assert_not(conn_closed(&c));
}

Test(shim_conn, workers_that_end_one_after_the_other_are) {
    struct script s = {.lost = 1000};
    check_refused(&s, ERR_WORKER_LOST);
    cr_assert_eq(s.connections, CONNECTIONS_MOST);
}

/* When a worker ends while the client asks for another place, the client connects again, too. */
Test(shim_conn, a_loss_that_crossed_its_answer) {
    struct script s = {.late = true, .lost = 1000};
    block_first();
    check_refused(&s, ERR_WORKER_LOST);
    cr_assert_eq(s.connections, CONNECTIONS_MOST);
}

#ifndef __SANITIZE_ADDRESS__ /* ASan needs the address space itself */
/* The failure is no collision: no other address would work. */
Test(shim_conn, no_address_space_is_no_collision) {
    struct script s = {.alloc = 1024};
    struct rlimit some = {1ull << 30, 1ull << 30};
    cr_assert_eq(setrlimit(RLIMIT_AS, &some), 0);
    check_refused(&s, -ENOMEM);
    cr_assert_eq(s.offers, 1);
}
#endif

Test(shim_conn, other_version) {
    check_refused(&(struct script){.major_off = 1}, ERR_VERSION);
}

Test(shim_conn, a_daemon_that_does_not_describe_its_device) {
    check_refused(&(struct script){.minor = 4}, ERR_VERSION);
}

Test(shim_conn, a_description_of_another_version) {
    check_refused(&(struct script){.wrong = -1}, ERR_VERSION);
}

Test(shim_conn, a_description_that_cannot_be) {
    check_refused(&(struct script){.wrong = CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y}, ERR_PROTOCOL);
}

Test(shim_conn, the_device_is_as_its_page_describes_it) {
    struct script s = {0};
    struct conn c = {0};
    cr_assert_eq(connect_to(&s, &c), 0);
    cr_expect_eq(description_attribute(&c.description, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
                 9);
    cr_expect_eq(description_attribute(&c.description, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID), 0x3b);
}

Test(shim_conn, hangs_up) {
    check_refused(&(struct script){.hang_up = true}, ERR_BROKER_LOST);
}

Test(shim_conn, memory_that_can_shrink) {
    check_refused(&(struct script){.unsealed = true}, ERR_PROTOCOL);
}

Test(shim_conn, memory_that_is_too_small) {
    check_refused(&(struct script){.small = true}, ERR_PROTOCOL);
}

Test(shim_conn, missing_descriptors) {
    check_refused(&(struct script){.fds = 2}, ERR_PROTOCOL);
}

Test(shim_conn, windows_that_are_not_whole_granules) {
    check_refused(&(struct script){.base = {FIRST + 4096}}, ERR_PROTOCOL);
}

/* Each half of the device window has its own granules. */
Test(shim_conn, windows_that_have_no_halves) {
    check_refused(&(struct script){.alloc = 3}, ERR_PROTOCOL);
}

Test(shim_conn, granularity_that_cannot_be) {
    check_refused(&(struct script){.granularity = 3}, ERR_PROTOCOL);
}
