/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernel output on a driver that writes the output of all jobs to one descriptor: each job gets its
 * own lines, all of them, in order, before its operation completes.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/atomics.h"
#include "common/err.h"
#include "daemon/device/cuda/driver/cuda_text.h"
#include "daemon/device/cuda/module/cuda_module.h"
#include "daemon/device/cuda/module/cuda_prints.h"
#include "daemon/device/cuda/queue/cuda_issue.h"
#include "daemon/device/cuda/queue/cuda_queue.h"
#include "daemon/device/soft/image/fatbin.h"
#include "test/lib/patience.h"

#define STREAMS 8
#define ROUNDS 500

/* ---- a driver
 * ------------------------------------------------------------------------------------
 *
 * Kernels are numbers. They begin at once, report that, and complete when the test says so. The
 * output of a kernel stays in the driver until some call waits or launches. */

struct fake_stream {
    uint64_t *word, number; /* address of the word, and the value to write; NULL: none */
    char line[64];          /* line that the kernel prints at its end */
};

static struct fake_stream streams[STREAMS];
static struct {
    pthread_mutex_t lock;
    uint32_t streams;
    _Atomic uint32_t flushes;
    char buffer[4096]; /* text that was printed */
    uint64_t words[COMPLETION_WORDS * 8] __attribute__((aligned(64)));
    bool lost;
    bool says_at_once; /* prints also when a caller queries the stream */
    const char *said;  /* text of failed assertions, written to descriptor 2 when a caller waits */
    bool slow;         /* writing the output takes time */
    _Atomic bool held; /* no output is written */
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void write_down(void) {
    pthread_mutex_lock(&fake.lock);
    fputs(fake.buffer, stdout); /* not flushed */
    fake.buffer[0] = '\0';
    pthread_mutex_unlock(&fake.lock);
}

static void say(void) {
    if (fake.said) fputs(fake.said, stderr);
    fake.said = NULL;
}

static CUresult set_current(CUcontext c) {
    (void)c;
    return CUDA_SUCCESS;
}

static CUresult host_alloc(void **out, size_t bytes, unsigned int flags) {
    (void)flags;
    cr_assert_leq(bytes, sizeof(fake.words));
    *out = fake.words;
    return CUDA_SUCCESS;
}

static CUresult host_free(void *p) {
    (void)p;
    return CUDA_SUCCESS;
}

static CUresult device_pointer(CUdeviceptr *out, void *host, unsigned int flags) {
    (void)flags;
    *out = (CUdeviceptr)(uintptr_t)host;
    return CUDA_SUCCESS;
}

static CUresult stream_create(CUstream *out, unsigned int flags, int priority) {
    (void)flags, (void)priority;
    cr_assert_lt(fake.streams, STREAMS);
    *out = (CUstream)&streams[fake.streams++];
    return CUDA_SUCCESS;
}

static CUresult stream_destroy(CUstream s) {
    (void)s;
    return CUDA_SUCCESS;
}

static CUresult stream_query(CUstream s) {
    (void)s;
    if (fake.lost && fake.says_at_once) say();
    return fake.lost ? CUDA_ERROR_ASSERT : CUDA_ERROR_NOT_READY;
}

static CUresult synchronize(CUstream s) {
    (void)s;
    atom_add(&fake.flushes, 1);
    if (fake.slow) usleep(30000);
    while (atom_load_acquire(&fake.held))
        usleep(100);
    write_down();
    say();
    return fake.lost ? CUDA_ERROR_ASSERT : CUDA_SUCCESS;
}

static CUresult launch(const CUlaunchConfig *config, CUfunction f, void **params, void **extra) {
    struct fake_stream *s = (struct fake_stream *)config->hStream;
    (void)f, (void)params;
    write_down();
    snprintf(s->line, sizeof(s->line), "%s", (const char *)extra[1]);
    return CUDA_SUCCESS;
}

static CUresult write_value(CUstream stream, CUdeviceptr at, uint64_t value, unsigned int flags) {
    struct fake_stream *s = (struct fake_stream *)stream;
    (void)flags;
    s->word = (uint64_t *)(uintptr_t)at;
    s->number = value;
    return CUDA_SUCCESS;
}

static CUresult error_name(CUresult r, const char **out) {
    (void)r;
    *out = "CUDA_ERROR";
    return CUDA_SUCCESS;
}

/* Completes everything that runs on the stream. */
static void end(struct fake_stream *s) {
    if (!s->word) return;
    pthread_mutex_lock(&fake.lock);
    strncat(fake.buffer, s->line, sizeof(fake.buffer) - strlen(fake.buffer) - 1);
    pthread_mutex_unlock(&fake.lock);
    s->line[0] = '\0';
    atom_store_release((_Atomic uint64_t *)s->word, s->number);
    s->word = NULL;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

struct job {
    struct dev_space space;
    struct dev_queue *queues[2];
    char *text; /* text that the job got */
    size_t bytes, room;
    char said[1024]; /* to its standard error */
};

static struct context context = {.driver = {.cuCtxSetCurrent = set_current,
                                            .cuMemHostAlloc = host_alloc,
                                            .cuMemFreeHost = host_free,
                                            .cuMemHostGetDevicePointer_v2 = device_pointer,
                                            .cuStreamCreateWithPriority = stream_create,
                                            .cuStreamDestroy_v2 = stream_destroy,
                                            .cuStreamQuery = stream_query,
                                            .cuStreamSynchronize = synchronize,
                                            .cuStreamWriteValue64_v2 = write_value,
                                            .cuLaunchKernelEx = launch,
                                            .cuGetErrorName = error_name}};
static struct texts texts;
static struct shares shares = {.context = &context}; /* none */
static struct times times = {.context = &context};   /* none */
static struct queues all;
static struct job jobs[2];
static struct dev_module printing = {.context = &context, .prints = true},
                         silent = {.context = &context};
static struct dev_module asserting = {.context = &context, .asserts = true};
static struct dev_func prints = {.module = &printing}, prints_not = {.module = &silent},
                       may_fail = {.module = &asserting};

static void put_text(void *arg, int to_stderr, const char *text, size_t bytes) {
    struct job *j = arg;
    if (to_stderr) {
        cr_assert_lt(strlen(j->said) + bytes, sizeof(j->said));
        strncat(j->said, text, bytes);
        return;
    }
    if (j->bytes + bytes > j->room)
        cr_assert_not_null(j->text = realloc(j->text, j->room = 2 * (j->bytes + bytes)));
    memcpy(j->text + j->bytes, text, bytes);
    j->bytes += bytes;
}

static const struct dev_space_ops space_ops = {.text = put_text};

static void setup(void) {
    cr_assert_eq(cuda_text_open(&texts), 0);
    context.texts = &texts;
    cr_assert_eq(cuda_queues_open(&all, &context, &shares, &times, DEV_COMPLETION_WORDS), 0);
    all.each = true; /* operations complete one by one here */
    cr_assert_eq(cuda_text_start(&texts, &context, all.words.event_fd), 0);
    for (int i = 0; i < 2; i++) {
        jobs[i].space.ops = &space_ops;
        jobs[i].space.ops_arg = &jobs[i];
        for (int k = 0; k < 2; k++)
            cr_assert_eq(cuda_queue_create(&all, &jobs[i].space, 0, &jobs[i].queues[k]), 0);
    }
}

static void teardown(void) {
    for (int i = 0; i < 4; i++)
        cuda_queue_destroy(jobs[i / 2].queues[i % 2]);
    cuda_text_stop(&texts);
    cuda_queues_close(&all);
    cuda_text_close(&texts);
    for (int i = 0; i < 2; i++)
        free(jobs[i].text);
}

TestSuite(cuda_text, .init = setup, .fini = teardown);

/* The stream of a job's queue. */
static struct fake_stream *stream(int job, int queue) {
    return &streams[2 * job + queue];
}

static void submit(int job, int queue, struct dev_func *f, const char *line, struct dev_op *op) {
    struct dev_launch l = {.func = f,
                           .grid = {1, 1, 1},
                           .block = {1, 1, 1},
                           .params = line,
                           .param_bytes = (uint32_t)strlen(line) + 1};
    *op = (struct dev_op){0};
    cr_assert_eq(cuda_issue_launch(jobs[job].queues[queue], &l, op), 0);
}

/* The operations that completed at the latest poll, and their number. */
static struct dev_op *came[STREAMS];
static int look(void) {
    int n = 0;
    for (struct dev_op *op = cuda_queues_poll(&all); op; op = op->next)
        came[n++] = op;
    return n;
}

static void await(const struct dev_op *op) {
    int n = 0;
    cr_assert(PATIENCE_UNTIL((n = look()) > 0));
    cr_assert_eq(n, 1);
    cr_assert_eq(came[0], op);
}

static void holds(int job, const char *text) {
    cr_assert_eq(jobs[job].bytes, strlen(text));
    cr_assert(!jobs[job].bytes || memcmp(jobs[job].text, text, jobs[job].bytes) == 0);
}

/* ---- kernels --------------------------------------------------------------------------------- */

Test(cuda_text, comes_before_the_operation_is_complete) {
    struct dev_op op;
    int early = 0;
    atom_store_release(&fake.held, true);
    submit(0, 0, &prints, "one\n", &op);
    end(stream(0, 0));
    bool asked = PATIENCE_UNTIL((early += look(), atom_load_acquire(&fake.flushes) > 0));
    atom_store_release(&fake.held, false);
    cr_assert(asked);
    cr_assert_eq(early, 0, "it is being written down");
    await(&op);
    holds(0, "one\n");
    holds(1, "");
}

Test(cuda_text, of_a_line_without_an_end_as_well) {
    struct dev_op op;
    submit(0, 0, &prints, "no end", &op);
    end(stream(0, 0));
    await(&op);
    holds(0, "no end");
}

Test(cuda_text, another_job_waits_for_it) {
    struct dev_op ops[2];
    submit(0, 0, &prints, "one\n", &ops[0]);
    submit(1, 0, &prints, "two\n", &ops[1]);
    cr_assert_null(stream(1, 0)->word, "it does not run beside it");
    end(stream(0, 0));
    await(&ops[0]);
    cr_assert_not_null(stream(1, 0)->word, "it begins when the first is complete");
    end(stream(1, 0));
    await(&ops[1]);
    holds(0, "one\n");
    holds(1, "two\n");
}

Test(cuda_text, the_same_job_does_not) {
    struct dev_op ops[2];
    submit(0, 0, &prints, "one\n", &ops[0]);
    submit(0, 1, &prints, "two\n", &ops[1]);
    cr_assert_not_null(stream(0, 1)->word);
    end(stream(0, 1));
    await(&ops[1]);
    end(stream(0, 0));
    await(&ops[0]);
    holds(0, "two\none\n");
}

/* Otherwise a job that always has such a kernel running would block all other jobs' kernels. */
Test(cuda_text, but_not_before_another_who_waits) {
    struct dev_op ops[3];
    submit(0, 0, &prints, "one\n", &ops[0]);
    submit(1, 0, &prints, "two\n", &ops[1]);
    submit(0, 1, &prints, "three\n", &ops[2]);
    cr_assert_null(stream(0, 1)->word, "it waits behind the other job's");
    end(stream(0, 0));
    await(&ops[0]);
    end(stream(1, 0));
    await(&ops[1]);
    end(stream(0, 1));
    await(&ops[2]);
    holds(0, "one\nthree\n");
    holds(1, "two\n");
}

Test(cuda_text, who_prints_not_neither_waits_nor_is_waited_for) {
    struct dev_op ops[2];
    submit(0, 0, &prints, "one\n", &ops[0]);
    submit(1, 0, &prints_not, "", &ops[1]);
    cr_assert_not_null(stream(1, 0)->word);
    end(stream(1, 0));
    await(&ops[1]);
    cr_assert_eq(fake.flushes, 0, "nothing is asked for it");
    end(stream(0, 0));
    await(&ops[0]);
    cr_assert_eq(fake.flushes, 1);
}

Test(cuda_text, what_is_behind_it_in_its_queue_waits) {
    struct dev_op ops[2];
    submit(0, 0, &prints, "one\n", &ops[0]);
    submit(0, 0, &prints_not, "", &ops[1]);
    end(stream(0, 0));
    await(&ops[0]);
    end(stream(0, 0));
    await(&ops[1]);
}

Test(cuda_text, of_nobody_is_nobodys) {
    struct dev_op op;
    puts("said by the driver itself");
    fflush(stdout);
    submit(0, 0, &prints, "one\n", &op);
    end(stream(0, 0));
    await(&op);
    holds(0, "one\n");
}

Test(cuda_text, a_turn_that_is_cancelled_holds_nobody_up) {
    struct dev_op ops[3];
    submit(0, 0, &prints, "one\n", &ops[0]);
    submit(1, 0, &prints, "two\n", &ops[1]);
    submit(0, 1, &prints, "three\n", &ops[2]);
    cuda_queues_cancel(&all, &jobs[1].space);
    await(&ops[1]);
    cr_assert_eq(ops[1].result, ERR_CANCELLED);
    cr_assert_not_null(stream(0, 1)->word, "the next one's turn");
    end(stream(0, 0));
    await(&ops[0]);
    end(stream(0, 1));
    await(&ops[2]);
    holds(1, "");
}

Test(cuda_text, a_lost_context_ends_all_turns) {
    struct dev_op ops[2];
    submit(0, 0, &prints, "one\n", &ops[0]);
    submit(1, 0, &prints, "two\n", &ops[1]);
    strcpy(fake.buffer, "before it died\n");
    fake.lost = true;
    int n = 0;
    cr_assert(PATIENCE_UNTIL((n += look()) > 0));
    cr_assert_eq(n, 2);
    cr_assert_eq(ops[0].result, ERR_ASSERT);
    cr_assert_eq(ops[1].result, ERR_DEVICE_LOST);
    holds(0, "before it died\n");
    holds(1, "");
}

/* ---- assertions ------------------------------------------------------------------------------ */

#define FAILED(thread)                                                                     \
    "a.cu:22: void f(int*): block: [0,0,0], thread: [" #thread ",0,0] Assertion `x == 0` " \
    "failed.\n"
#define LOGGED "2026-11-24T16:00:00Z info worker of=another thread\n"

/* Returns the log while all operations are dropped, without the device's own line. */
static const char *log_of_burial(int operations) {
    static char text[4096];
    int before = dup(STDERR_FILENO), fd = memfd_create("log", 0), n = 0;
    dup2(fd, STDERR_FILENO);
    fake.lost = true;
    bool ended = PATIENCE_UNTIL((n += look()) >= operations);
    dup2(before, STDERR_FILENO);
    cr_assert(ended && n == operations);
    ssize_t bytes = pread(fd, text, sizeof(text) - 1, 0);
    text[bytes > 0 ? bytes : 0] = '\0';
    close(fd);
    close(before);
    char *own = strstr(text, "event=context_lost");
    cr_assert_not_null(own);
    while (own > text && own[-1] != '\n')
        own--;
    char *next = strchr(own, '\n') + 1;
    memmove(own, next, strlen(next) + 1);
    return text;
}

Test(cuda_text, an_assertion_is_told_to_who_failed_and_logged) {
    struct dev_op ops[2];
    submit(0, 0, &prints_not, "", &ops[0]);
    submit(0, 0, &prints_not, "", &ops[1]);
    fake.said = FAILED(1) LOGGED FAILED(3);
    cr_expect_str_eq(log_of_burial(2), FAILED(1) LOGGED FAILED(3));
    cr_expect_str_eq(jobs[0].said, FAILED(1) FAILED(3), "nobody else's lines");
    cr_expect_eq(ops[0].result, ERR_ASSERT);
    cr_expect_str_eq(ops[0].fault_text, "a.cu:22: void f(int*): block: [0,0,0], thread: [1,0,0] "
                                        "Assertion `x == 0` failed.");
}

/* The job whose assertion failed is unknown. */
Test(cuda_text, an_assertion_of_some_job_is_logged_alone) {
    struct dev_op ops[2];
    submit(0, 0, &prints_not, "", &ops[0]);
    submit(1, 0, &prints_not, "", &ops[1]);
    fake.said = FAILED(1);
    cr_expect_str_eq(log_of_burial(2), FAILED(1));
    cr_expect(!jobs[0].said[0] && !jobs[1].said[0]);
    for (int i = 0; i < 2; i++) {
        cr_expect_eq(ops[i].result, ERR_DEVICE_LOST);
        cr_expect(!strstr(ops[i].fault_text, "a.cu"), "%s", ops[i].fault_text);
    }
}

/* No other job is suspected either. */
Test(cuda_text, who_names_no_assertion_had_none_that_failed) {
    struct dev_op ops[2];
    submit(0, 0, &prints_not, "", &ops[0]);
    submit(1, 0, &may_fail, "", &ops[1]);
    fake.said = FAILED(1);
    log_of_burial(2);
    cr_expect_str_eq(jobs[1].said, FAILED(1));
    cr_expect(!jobs[0].said[0]);
    cr_expect_eq(ops[0].result, ERR_DEVICE_LOST);
    cr_expect_eq(ops[0].suspects, 0);
    cr_expect_eq(ops[1].result, ERR_ASSERT);
}

/* A driver that writes the text when it is queried, not when it is waited for. */
Test(cuda_text, an_assertion_that_a_question_brings) {
    struct dev_op op;
    submit(0, 0, &prints_not, "", &op);
    fake.said = FAILED(1);
    fake.says_at_once = true;
    cr_expect_str_eq(log_of_burial(1), FAILED(1));
    cr_expect_str_eq(jobs[0].said, FAILED(1));
}

/* Comes before any other wait: otherwise the text would only be in the log. */
Test(cuda_text, an_assertion_of_a_job_that_prints) {
    struct dev_op op;
    submit(0, 0, &prints, "", &op);
    strcpy(fake.buffer, "before it died\n");
    fake.said = FAILED(1);
    cr_expect_str_eq(log_of_burial(1), FAILED(1));
    cr_expect_str_eq(jobs[0].said, FAILED(1));
    holds(0, "before it died\n");
}

/* The kernel is complete, and no job is blamed, although its text is not there yet. */
Test(cuda_text, a_complete_one_is_not_blamed) {
    struct dev_op ops[2];
    fake.slow = true; /* the text is not written yet when the end is seen */
    submit(0, 0, &prints, "one\n", &ops[0]);
    submit(1, 0, &prints_not, "", &ops[1]);
    end(stream(0, 0));
    fake.lost = true;
    all.rounds = 1u << 20; /* the next poll queries the driver */
    int n = 0;
    cr_assert(PATIENCE_UNTIL((n += look()) == 2));
    cr_assert_eq(ops[0].result, 0);
    cr_assert_eq(ops[1].result, ERR_ASSERT);
    holds(0, "one\n");
}

/* ---- many rounds ----------------------------------------------------------------------------- */

static bool is_done(const struct dev_op *op, int n) {
    for (int i = 0; i < n; i++)
        if (came[i] == op) return true;
    return false;
}

/* Two jobs at once, on two queues each, in any order. */
Test(cuda_text, each_has_its_own_lines_and_all_of_them) {
    struct dev_op ops[2][2];
    int rounds[2][2] = {{0}};
    bool busy[2][2] = {{false}};
    srand(1);
    for (int left = 4 * ROUNDS; left > 0;) {
        for (int i = 0; i < 4; i++) {
            int job = i / 2, queue = i % 2;
            char line[32];
            snprintf(line, sizeof(line), "%d %d %d\n", job, queue, rounds[job][queue]);
            if (!busy[job][queue] && rounds[job][queue] < ROUNDS)
                submit(job, queue, &prints, line, &ops[job][queue]), busy[job][queue] = true;
            if (rand() % 2) end(stream(job, queue));
        }
        int n = look();
        for (int i = 0; i < 4; i++)
            if (busy[i / 2][i % 2] && is_done(&ops[i / 2][i % 2], n))
                busy[i / 2][i % 2] = false, rounds[i / 2][i % 2]++, left--;
    }
    for (int job = 0; job < 2; job++) {
        int next[2] = {0}, who, queue, round, length;
        put_text(&jobs[job], 0, "", 1);
        for (const char *at = jobs[job].text; *at; at += length) {
            cr_assert_eq(sscanf(at, "%d %d %d%n", &who, &queue, &round, &length), 3);
            length++; /* the end of the line */
            cr_assert_eq(who, job);
            cr_assert_eq(round, next[queue]++);
        }
        cr_assert_eq(next[0], ROUNDS);
        cr_assert_eq(next[1], ROUNDS);
    }
}

/* ---- images ---------------------------------------------------------------------------------- */

/* Appends an entry to a fatbin. */
static size_t add_entry(unsigned char *at, uint16_t kind, uint32_t target, const char *text) {
    uint32_t header = FATBIN_ENTRY_BYTES;
    uint64_t bytes = strlen(text) + 1;
    memset(at, 0, header);
    memcpy(at, &kind, sizeof(kind));
    memcpy(at + 4, &header, sizeof(header));
    memcpy(at + 8, &bytes, sizeof(bytes));
    memcpy(at + 28, &target, sizeof(target));
    memcpy(at + header, text, bytes);
    return header + bytes;
}

static size_t make_fatbin(unsigned char *at, const char *own, const char *other, const char *ptx) {
    uint32_t magic = FATBIN_MAGIC;
    uint16_t version = 1, header = FATBIN_HEADER_BYTES;
    uint64_t bytes = 0;
    if (own) bytes += add_entry(at + header + bytes, FATBIN_ELF, 90, own);
    if (other) bytes += add_entry(at + header + bytes, FATBIN_ELF, 80, other);
    if (ptx) bytes += add_entry(at + header + bytes, FATBIN_PTX, 75, ptx);
    memcpy(at, &magic, sizeof(magic));
    memcpy(at + 4, &version, sizeof(version));
    memcpy(at + 6, &header, sizeof(header));
    memcpy(at + 8, &bytes, sizeof(bytes));
    return header + bytes;
}

static bool asserts;

Test(cuda_prints, a_name_decides) {
    static const char ptx[] = ".version 8.0\n.extern .func (.param .b32 r) vprintf\n";
    cr_assert(cuda_prints(ptx, sizeof(ptx), 90, &asserts));
    cr_assert_not(asserts);
    cr_assert_not(cuda_prints(ptx, 20, 90, &asserts));
}

Test(cuda_prints, of_assertions_too) {
    unsigned char image[1024];
    cr_assert_not(cuda_prints(image, make_fatbin(image, "__assertfail", "", ""), 90, &asserts));
    cr_assert(asserts);
    size_t bytes = make_fatbin(image, "vprintf", NULL, NULL);
    bytes += make_fatbin(image + bytes, "__assertfail", NULL, NULL);
    cr_assert(cuda_prints(image, bytes, 90, &asserts));
    cr_assert(asserts, "of another unit");
}

Test(cuda_prints, what_the_gpu_would_run_decides) {
    unsigned char image[1024];
    cr_assert(cuda_prints(image, make_fatbin(image, "vprintf", "", ""), 90, &asserts));
    cr_assert_not(cuda_prints(image, make_fatbin(image, "", "vprintf", "vprintf"), 90, &asserts));
    cr_assert(cuda_prints(image, make_fatbin(image, NULL, "", "vprintf"), 90, &asserts));
    cr_assert_not(cuda_prints(image, make_fatbin(image, NULL, "vprintf", ""), 90, &asserts));
}

Test(cuda_prints, any_of_several_units_does) {
    unsigned char image[1024];
    size_t bytes = make_fatbin(image, "", NULL, NULL);
    bytes += make_fatbin(image + bytes, "vprintf", NULL, NULL);
    cr_assert(cuda_prints(image, bytes, 90, &asserts));
    cr_assert_not(asserts);
}

Test(cuda_prints, what_cannot_be_read_may) {
    unsigned char image[1024];
    size_t bytes = make_fatbin(image, "quiet", NULL, NULL);
    uint32_t packed = FATBIN_LZ4;
    cr_assert_not(cuda_prints(image, bytes, 90, &asserts));
    memcpy(image + FATBIN_HEADER_BYTES + 40, &packed, sizeof(packed));
    cr_assert(cuda_prints(image, bytes, 90, &asserts) && asserts);
}
