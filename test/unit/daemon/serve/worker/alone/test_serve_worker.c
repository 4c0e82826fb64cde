/* SPDX-License-Identifier: Apache-2.0
 *
 * Workers of a model: correct programs, programs that break every rule, and kills at random. Each
 * batch ends once, and nothing leaks.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/log.h"
#include "daemon/serve/worker/backoff.h"
#include "daemon/serve/worker/lines.h"
#include "daemon/serve/worker/model_worker.h"
#include "test/lib/patience.h"

#define MS 1000000ull
#define ROGUE SERVE_PROGRAMS "/rogue"
#define ADDER SERVE_PROGRAMS "/adder"
#define LIMIT (60000 * MS) /* timeout of batches that must end before it */

struct bench {
    uv_loop_t loop;
    uv_timer_t tick, killer;
    struct model_worker *w;
    struct model_worker_config config;
    int ready, done, failed, lost, lost_batch, stopped;
    uint64_t number; /* number of the current batch; 0: none */
    uint64_t next;
    int wrong;  /* number of ends of a batch that is not out, or with a wrong result */
    int killed; /* number of workers that were ready at the latest kill */
    bool keeps_sending;
    int err; /* result of the latest batch sent because of keeps_sending */
    uint64_t limit_ns;
    char why[400];
    struct result *result;
    unsigned seed;
};

/* ---- batches --------------------------------------------------------------------------------- */

static const float a0[] = {1, 2}, a1[] = {3, 4, 5, 6}, b0[] = {10, 20}, b1[] = {30, 40, 50, 60};
static const float negative[] = {-1, 2};

static struct tensor floats(const char *name, const float *data, int64_t rows) {
    return (struct tensor){.name = name,
                           .type = DATATYPE_FP32,
                           .rank = 2,
                           .shape = {rows, 2},
                           .elements = 2 * (uint64_t)rows,
                           .data = data,
                           .bytes = 8 * (uint64_t)rows};
}

static int send_pair(struct bench *b, struct tensor *first, uint32_t first_count,
                     struct tensor *second, uint32_t second_count) {
    struct batch_request requests[] = {{first, first_count}, {second, second_count}};
    struct serve_memory_why why;
    int err = model_worker_send(b->w, b->next, requests, second ? 2 : 1, b->limit_ns, &why);

    if (!err) b->number = b->next++;
    return err;
}

static int send_sum(struct bench *b) {
    struct tensor first[] = {floats("a", a0, 1), floats("b", b0, 1)};
    struct tensor second[] = {floats("b", b1, 2), floats("a", a1, 2)};

    return send_pair(b, first, 2, second, 2);
}

/* Requests of one and two bytes. */
static int send_bytes(struct bench *b) {
    struct tensor first = {.name = "x", .type = DATATYPE_UINT8, .rank = 1, .shape = {1}};
    struct tensor second = first;

    first.elements = first.bytes = 1;
    first.data = "\5";
    second.shape[0] = 2;
    second.elements = second.bytes = 2;
    second.data = "\7\xff";
    return send_pair(b, &first, 1, &second, 1);
}

/* ---- the owner's callbacks ------------------------------------------------------------------- */

static void end_batch(struct bench *b, uint64_t number) {
    if (number == 0 || number != b->number) b->wrong++;
    b->number = 0;
    if (b->keeps_sending) b->err = send_bytes(b);
}

static void on_ready(void *ctx, struct model_worker *w) {
    struct bench *b = ctx;

    b->ready++;
    if (b->keeps_sending) b->err = send_bytes(b);
}

static void on_done(void *ctx, struct model_worker *w, uint64_t number, struct result *r) {
    struct bench *b = ctx;

    b->done++;
    result_destroy(b->result);
    b->result = r;
    end_batch(b, number);
}

static void on_failed(void *ctx, struct model_worker *w, uint64_t number, const char *why) {
    struct bench *b = ctx;

    b->failed++;
    snprintf(b->why, sizeof(b->why), "%s", why);
    end_batch(b, number);
}

static void on_lost(void *ctx, struct model_worker *w, uint64_t number, const char *why) {
    struct bench *b = ctx;

    b->lost++;
    snprintf(b->why, sizeof(b->why), "%s", why);
    if (number != b->number) b->wrong++;
    if (number) b->lost_batch++;
    b->number = 0;
}

static void on_stopped(void *ctx, struct model_worker *w) {
    ((struct bench *)ctx)->stopped++;
    model_worker_destroy(w);
}

static const struct model_worker_ops ops = {on_ready, on_done, on_failed, on_lost, on_stopped};

/* ---- a loop with a time limit ---------------------------------------------------------------- */

static void on_tick(uv_timer_t *timer) {}

static int count_files(void) {
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;

    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

/* Counts descriptors after libuv has opened those that all loops share. */
static int count_before(void) {
    uv_loop_t loop;

    uv_loop_init(&loop);
    uv_loop_close(&loop);
    return count_files();
}

/* Runs turns of the loop, which the tick ends. */
#define UNTIL(b, condition)                                                        \
    do {                                                                           \
        uint64_t until_ns = fdutil_now_ns() + patience_ms() * 1000000ull;          \
        while (uv_run(&(b)->loop, UV_RUN_ONCE), !(condition))                      \
            cr_assert(fdutil_now_ns() < until_ns, "%s: %s", #condition, (b)->why); \
    } while (0)

static void begin(struct bench *b, char *const *argv) {
    *b = (struct bench){.next = 1, .limit_ns = LIMIT, .seed = 5};
    b->config = (struct model_worker_config){.name = "m",
                                             .argv = argv,
                                             .hello_ns = 60000 * MS,
                                             .stop_ns = 20000 * MS,
                                             .again_first_ns = 1 * MS,
                                             .again_most_ns = 20 * MS,
                                             .again_reset_ns = 60000 * MS};
    uv_loop_init(&b->loop);
    uv_timer_init(&b->loop, &b->tick);
    uv_timer_start(&b->tick, on_tick, 5, 5);
}

static void start(struct bench *b) {
    b->w = model_worker_create(&b->loop, &b->config, &ops, b);
    cr_assert(b->w);
    model_worker_start(b->w);
}

static void stop(struct bench *b) {
    model_worker_stop(b->w);
    UNTIL(b, b->stopped);
    cr_expect_eq(b->number, 0, "batch %llu has no end", (unsigned long long)b->number);
    cr_expect_eq(b->wrong, 0);
    uv_close((uv_handle_t *)&b->tick, NULL);
    uv_run(&b->loop, UV_RUN_DEFAULT);
    cr_expect_eq(uv_loop_close(&b->loop), 0, "handles are left");
    cr_expect_eq(waitpid(-1, NULL, WNOHANG), -1, "a child is left");
    result_destroy(b->result);
}

/* ---- correct programs ------------------------------------------------------------------------ */

static const struct tensor *output(struct bench *b, uint32_t request, const char *name) {
    uint32_t count;
    const struct tensor *t = result_outputs(b->result, request, &count);

    cr_assert_eq(count, 1);
    cr_assert_str_eq(t->name, name);
    return t;
}

/* Two batches and one that fails, with any program that adds. */
static void expect_adds(char *const *argv) {
    struct bench b;
    struct tensor below[] = {floats("a", negative, 1), floats("b", b0, 1)};
    const struct tensor *y;

    begin(&b, argv);
    start(&b);
    cr_expect_eq(send_sum(&b), -ENOTCONN);
    UNTIL(&b, b.ready);
    for (int i = 1; i <= 2; i++) {
        cr_assert_eq(send_sum(&b), 0);
        cr_expect_eq(send_sum(&b), -EBUSY);
        UNTIL(&b, b.done == i || b.failed || b.lost);
        cr_assert_eq(b.done, i, "%s", b.why);
        y = output(&b, 0, "y");
        cr_expect_eq(y->elements, 2);
        cr_expect_eq(((const float *)y->data)[1], 22);
        y = output(&b, 1, "y");
        cr_expect_eq(y->shape[0], 2);
        cr_expect_eq(((const float *)y->data)[3], 66);
    }
    cr_assert_eq(send_pair(&b, below, 2, NULL, 0), 0);
    UNTIL(&b, b.failed || b.lost);
    cr_expect_str_eq(b.why, "it is negative");
    cr_assert_eq(send_sum(&b), 0);
    UNTIL(&b, b.done == 3);
    stop(&b);
    cr_expect_eq(b.lost, 0, "%s", b.why);
}

Test(serve_worker, adds) {
    int before = count_before();

    expect_adds((char *[]){ADDER, NULL});
    cr_expect_eq(count_files(), before);
}

static const char *python(void) {
    const char *p = getenv("PYTHON");
    return p ? p : "python3";
}

/* Returns whether the code runs: a Python without ASan cannot load a library with it. */
static bool has_python(const char *code) {
    char command[256];

    snprintf(command, sizeof(command), "%s -c '%s' 2>/dev/null", python(), code);
#ifdef __SANITIZE_ADDRESS__
    snprintf(command, sizeof(command), "false");
#endif
    if (system(command) == 0) return true;
    fprintf(stderr, "not tried: %s with: %s\n", python(), code);
    return false;
}

static void find_module(void) {
    setenv("PYTHONPATH", "daemon/serve/model", 1);
    setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
    setenv("SALUS_SERVE_LIBRARY", SERVE_LIBRARY, 1);
}

Test(serve_worker, python_without_numpy) {
    if (!has_python("import ctypes")) return;
    find_module();
    expect_adds((char *[]){(char *)python(), "test/serve/adder.py", "plain", NULL});
}

Test(serve_worker, python_with_numpy) {
    if (!has_python("import numpy")) return;
    find_module();
    expect_adds((char *[]){(char *)python(), "test/serve/adder.py", NULL});
}

Test(serve_worker, python_bytes) {
    struct bench b;
    struct tensor s[] = {{.name = "s",
                          .type = DATATYPE_BYTES,
                          .rank = 1,
                          .shape = {2},
                          .elements = 2,
                          .data = "\2\0\0\0ab\0\0\0\0",
                          .bytes = 10}};
    const struct tensor *t;

    if (!has_python("import ctypes")) return;
    find_module();
    begin(&b, (char *[]){(char *)python(), "test/serve/adder.py", "bytes", NULL});
    start(&b);
    UNTIL(&b, b.ready);
    cr_assert_eq(send_pair(&b, s, 1, NULL, 0), 0);
    UNTIL(&b, b.done || b.failed || b.lost);
    cr_assert_eq(b.done, 1, "%s", b.why);
    t = output(&b, 0, "t");
    cr_expect_eq(t->bytes, 10);
    cr_expect_eq(memcmp(t->data, "\2\0\0\0AB\0\0\0\0", 10), 0);
    stop(&b);
}

Test(serve_worker, a_batch_that_cannot_be_said_is_not_taken) {
    struct bench b;
    struct tensor bad[] = {floats("a", a0, 1)};

    bad[0].bytes = 4;
    begin(&b, (char *[]){ADDER, NULL});
    start(&b);
    UNTIL(&b, b.ready);
    cr_expect_eq(send_pair(&b, bad, 1, NULL, 0), -EINVAL);
    cr_assert_eq(send_sum(&b), 0);
    UNTIL(&b, b.done);
    stop(&b);
}

/* ---- programs that break a rule -------------------------------------------------------------- */

/* Expects that the batch is lost, with these words in the reason, and that the next program is
 * started. */
static void expect_lost(const char *rule, const char *part) {
    struct bench b;

    begin(&b, (char *[]){ROGUE, (char *)rule, NULL});
    start(&b);
    UNTIL(&b, b.ready == 1);
    cr_assert_eq(send_bytes(&b), 0);
    UNTIL(&b, b.lost || b.done || b.failed);
    cr_expect_eq(b.lost_batch, 1, "%s: not lost", rule);
    cr_expect(strstr(b.why, part), "%s: \"%s\" without \"%s\"", rule, b.why, part);
    UNTIL(&b, b.ready == 2);
    stop(&b);
}

Test(serve_worker, breaks_rules, .timeout = 300) {
    static const struct {
        const char *rule, *why;
    } rules[] = {
        {"garbage", "garbage"},
        {"long", "garbage"},
        {"magic", "garbage"},
        {"version", "another version"},
        {"kind", "nobody asked for"},
        {"number", "none was expected"},
        {"requests", "none was expected"},
        {"no-memory", "without its memory"},
        {"two-memories", "garbage"},
        {"pipe", "no memfd"},
        {"unsealed", "F_SEAL_SHRINK"},
        {"writable", "F_SEAL_WRITE"},
        {"shrinking", "F_SEAL_SHRINK"},
        {"small", "announced"},
        {"huge-size", "announced"},
        {"no-size", "too few"},
        {"table", "tensor 0"},
        {"endless-text", "text without an end"},
        {"flood", "none was expected"},
        {"dies", "signal 6"},
        {"exits", "status 3"},
        {"hangs-up", "closed the connection"},
        {"behind-short", "shorter"},
        {"behind-long", "longer"},
        {"behind-huge", "longer"},
        {"behind-none", "longer"},
        {"behind-table", "tensor 0"},
        {"behind-too-long", "garbage"},
        {"behind-and-file", "two ways"},
        {"fails-and-more", "more than its message"},
    };
    int before = count_before();

    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        expect_lost(rules[i].rule, rules[i].why);
    cr_expect_eq(count_files(), before);
}

/* The program ends without a batch. */
static void expect_ends(const char *rule, const char *part, uint64_t hello_ns) {
    struct bench b;

    begin(&b, (char *[]){ROGUE, (char *)rule, NULL});
    b.config.hello_ns = hello_ns;
    start(&b);
    UNTIL(&b, b.lost >= 2);
    cr_expect_eq(b.lost_batch, 0);
    cr_expect(strstr(b.why, part), "%s: \"%s\" without \"%s\"", rule, b.why, part);
    stop(&b);
}

Test(serve_worker, ends_before_a_batch) {
    expect_ends("dies-first", "signal 9", 60000 * MS);
    expect_ends("silent-first", "not ready within 50 ms", 50 * MS);
    expect_ends("babbles", "not ready within 50 ms", 50 * MS);
    expect_ends("answers-first", "none was expected", 60000 * MS);
    expect_ends("hello-twice", "none was expected", 60000 * MS);
}

/* Returns the log of a program that prints and ends; the caller frees it. */
static char *log_of(char *const *argv) {
    FILE *file = tmpfile();
    int kept = dup(STDERR_FILENO);
    char *text = calloc(1, 65536);
    struct bench b;

    cr_assert(file && text);
    dup2(fileno(file), STDERR_FILENO);
    log_init("info");
    begin(&b, argv);
    start(&b);
    UNTIL(&b, b.lost);
    stop(&b);
    dup2(kept, STDERR_FILENO);
    close(kept);
    rewind(file);
    cr_assert_gt(fread(text, 1, 65535, file), 0);
    fclose(file);
    return text;
}

Test(serve_worker, what_it_says_is_in_the_log) {
    char *text = log_of((char *[]){ROGUE, "speaks", NULL});
    static const char *const parts[] = {"event=said model=m pid=", " text=\"one\"\n",
                                        " text=\"two '2'\"\n", " text=\"last words\"\n",
                                        "event=lost model=m"};
    const char *much;

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        cr_expect(strstr(text, parts[i]), "%s is not in:\n%s", parts[i], text);
    /* The long line comes in two pieces; empty lines are not logged. */
    much = strstr(text, "text=\"mmm");
    cr_assert(much);
    cr_expect(strstr(much + 1, "text=\"mmm"));
    cr_expect(strstr(much, "mmm\"\n"));
    cr_expect_null(strstr(text, "text=\"\""));
    free(text);
}

/* A program that has closed its output and lives on does not wake the loop repeatedly. */
Test(serve_worker, what_is_closed_is_not_listened_to) {
    uv_loop_t loop;
    struct lines l;
    int fds[2];

    uv_loop_init(&loop);
    cr_assert_eq(pipe(fds), 0);
    cr_assert_eq(lines_open(&l, &loop, fds[0], "m"), 0);
    close(fds[1]);
    errno = EAGAIN; /* an errno left by an earlier call */
    uv_run(&loop, UV_RUN_NOWAIT);
    cr_expect_not(uv_is_active((uv_handle_t *)&l.poll));
    lines_close(&l, NULL, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_expect_eq(uv_loop_close(&loop), 0);
}

Test(serve_worker, cannot_be_started) {
    struct bench b;
    int before = count_before();

    begin(&b, (char *[]){"/nowhere/model", NULL});
    start(&b);
    UNTIL(&b, b.lost >= 3);
    cr_expect(strstr(b.why, "cannot be started: No such file"), "%s", b.why);
    stop(&b);
    cr_expect_eq(count_files(), before);
}

Test(serve_worker, takes_too_long) {
    struct bench b;

    begin(&b, (char *[]){ROGUE, "silent", NULL});
    b.limit_ns = 30 * MS;
    start(&b);
    UNTIL(&b, b.ready);
    cr_assert_eq(send_bytes(&b), 0);
    UNTIL(&b, b.lost);
    cr_expect(strstr(b.why, "longer than 30 ms"), "%s", b.why);
    cr_expect_eq(b.lost_batch, 1);
    stop(&b);
}

/* The answer may arrive after the notice of the end. */
Test(serve_worker, its_last_words_count) {
    struct bench b;

    begin(&b, (char *[]){ROGUE, "dies-after", NULL});
    b.keeps_sending = true;
    start(&b);
    UNTIL(&b, b.lost >= 20);
    b.keeps_sending = false;
    cr_expect_geq(b.done, 20);
    stop(&b);
}

/* The timeout has passed when the loop checks, but the answer has arrived. */
Test(serve_worker, answers_while_we_stood_still) {
    struct bench b;
    siginfo_t info;

    begin(&b, (char *[]){ROGUE, "dies-after", NULL});
    b.limit_ns = 1 * MS;
    start(&b);
    UNTIL(&b, b.ready);
    cr_assert_eq(send_bytes(&b), 0);
    cr_assert_eq(waitid(P_PID, (id_t)model_worker_pid(b.w), &info, WEXITED | WNOWAIT), 0);
    usleep(2000);
    UNTIL(&b, b.done || b.lost);
    cr_expect_eq(b.done, 1, "%s", b.why);
    stop(&b);
}

/* A batch is sent to a program that has ended, before that is known: the batch is not at fault. */
Test(serve_worker, has_ended_before_it_is_reaped) {
    struct bench b;
    siginfo_t info;

    begin(&b, (char *[]){ROGUE, "dies-after", NULL});
    start(&b);
    UNTIL(&b, b.ready);
    cr_assert_eq(send_bytes(&b), 0);
    cr_assert_eq(waitid(P_PID, (id_t)model_worker_pid(b.w), &info, WEXITED | WNOWAIT), 0);
    b.keeps_sending = true;
    UNTIL(&b, b.done || b.lost);
    b.keeps_sending = false;
    cr_expect_eq(b.done, 1, "%s", b.why);
    cr_expect_eq(b.err, -ENOTCONN, "%d", b.err);
    UNTIL(&b, b.lost);
    cr_expect_eq(b.lost_batch, 0);
    cr_expect(strstr(b.why, "signal 9"), "%s", b.why);
    stop(&b);
}

Test(serve_worker, fails) {
    struct bench b;

    begin(&b, (char *[]){ROGUE, "fails", NULL});
    start(&b);
    UNTIL(&b, b.ready);
    for (int i = 1; i <= 3; i++) {
        cr_assert_eq(send_bytes(&b), 0);
        UNTIL(&b, b.failed == i);
        cr_expect_str_eq(b.why, "not today");
    }
    stop(&b);
    cr_expect_eq(b.lost, 0);
}

Test(serve_worker, answers_twice) {
    struct bench b;

    begin(&b, (char *[]){ROGUE, "twice", NULL});
    start(&b);
    UNTIL(&b, b.ready);
    cr_assert_eq(send_bytes(&b), 0);
    UNTIL(&b, b.lost);
    cr_expect_eq(b.done, 1);
    cr_expect_eq(b.lost_batch, 0);
    stop(&b);
}

/* The program's message is read, and its end is noticed, although the kernel reports an error
 * first. */
Test(serve_worker, leaves_a_batch_unread) {
    struct bench b;
    char path[64];

    begin(&b, (char *[]){ROGUE, "leaves-unread", NULL});
    start(&b);
    UNTIL(&b, b.ready);
    snprintf(path, sizeof(path), "/proc/%d/fd/3", model_worker_pid(b.w));
    cr_assert_eq(send_bytes(&b), 0);
    cr_assert(PATIENCE_UNTIL(access(path, F_OK) < 0)); /* so that all of it arrives at once */
    UNTIL(&b, b.lost);
    cr_expect_eq(b.failed, 1);
    cr_expect_eq(b.lost_batch, 0);
    cr_expect(strstr(b.why, "closed the connection"), "%s", b.why);
    stop(&b);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* Sends this many bytes of one request and expects them back. */
static void expect_bytes(struct bench *b, uint64_t bytes) {
    unsigned char *data = malloc(bytes);
    struct tensor x = {.name = "x", .type = DATATYPE_UINT8, .rank = 1, .shape = {(int64_t)bytes}};
    int64_t sum = 0;
    int done = b->done;

    for (uint64_t i = 0; i < bytes; i++)
        sum += data[i] = (unsigned char)(i * 7 + i / 251);
    x.elements = x.bytes = bytes;
    x.data = data;
    cr_assert_eq(send_pair(b, &x, 1, NULL, 0), 0);
    free(data);
    UNTIL(b, b->done > done || b->failed || b->lost);
    cr_assert_eq(b->done, done + 1, "%llu bytes: %s", (unsigned long long)bytes, b->why);
    cr_expect_eq(*(const int64_t *)output(b, 0, "y")->data, sum, "%llu bytes",
                 (unsigned long long)bytes);
}

/* Sizes around the limit at which batches become files, to the byte; answered in a message, and
 * by a file that was not necessary. */
Test(serve_worker, of_any_size) {
    const uint64_t most = SERVE_WIRE_BEHIND_BYTES - 256; /* head, table and name */
    static const char *const rules[] = {"none", "file"};
    struct bench b;
    int before = count_before();

    for (int r = 0; r < 2; r++) {
        begin(&b, (char *[]){ROGUE, (char *)rules[r], NULL});
        start(&b);
        UNTIL(&b, b.ready);
        expect_bytes(&b, 1);
        for (uint64_t bytes = most - 3; bytes <= most + 3; bytes++)
            expect_bytes(&b, bytes);
        expect_bytes(&b, 1 << 20);
        stop(&b);
        cr_expect_eq(b.lost, 0, "%s", b.why);
    }
    cr_expect_eq(count_files(), before);
}

/* ---- the end --------------------------------------------------------------------------------- */

Test(serve_worker, stops_before_it_starts) {
    struct bench b;

    begin(&b, (char *[]){ADDER, NULL});
    b.w = model_worker_create(&b.loop, &b.config, &ops, &b);
    stop(&b);
    begin(&b, (char *[]){ADDER, NULL});
    start(&b);
    stop(&b);
    model_worker_destroy(NULL);
}

Test(serve_worker, what_ignores_all_is_killed) {
    struct bench b;
    int pid;

    begin(&b, (char *[]){ROGUE, "ignores-stop", NULL});
    b.config.stop_ns = 20 * MS;
    start(&b);
    UNTIL(&b, b.ready);
    pid = model_worker_pid(b.w);
    stop(&b);
    cr_expect_eq(kill(pid, 0), -1);
    cr_expect_eq(b.lost, 0);
}

/* The program finishes its current batch when it is told to stop. */
Test(serve_worker, finishes_its_batch) {
    struct bench b;

    begin(&b, (char *[]){ROGUE, "none", NULL});
    start(&b);
    UNTIL(&b, b.ready);
    cr_assert_eq(send_bytes(&b), 0);
    stop(&b);
    cr_expect_eq(b.done, 1);
    cr_expect_eq(b.lost, 0);
}

Test(serve_worker, children_end_with_it) {
    struct bench b;
    int pid;

    begin(&b, (char *[]){ROGUE, "leaves-child", NULL});
    start(&b);
    UNTIL(&b, b.ready);
    pid = model_worker_pid(b.w);
    cr_expect_eq(kill(-pid, 0), 0);
    stop(&b);
    /* No process of its group is left, after init has reaped the orphans. */
    cr_expect(PATIENCE_UNTIL(kill(-pid, SIGCONT) == -1 && errno == ESRCH));
}

Test(serve_worker, pauses_grow) {
    struct backoff b = {.first_ns = 1000, .most_ns = 60000, .reset_ns = 50000};
    static const uint64_t expected[] = {1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000};

    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
        cr_expect_eq(backoff_next_ns(&b, i % 2 ? 49999 : 0), expected[i], "%zu", i);
    cr_expect_eq(backoff_next_ns(&b, 50000), 1000);
    cr_expect_eq(backoff_next_ns(&b, 0), 2000);
}

/* ---- at random ------------------------------------------------------------------------------- */

static void on_kill(uv_timer_t *timer) {
    struct bench *b = timer->data;
    static const int signals[] = {SIGKILL, SIGTERM, SIGABRT};
    int pid = model_worker_pid(b->w);
    /* no worker was ready since the last kill, so mostly lets it live */
    bool fresh = b->ready == b->killed;

    if (fresh && rand_r(&b->seed) % 8) pid = 0;
    if (pid > 0) b->killed = b->ready;
    if (pid > 0) kill(pid, signals[rand_r(&b->seed) % 3]);
    uv_timer_start(timer, on_kill, (uint64_t)(rand_r(&b->seed) % 20), 0);
}

/* 500 batches; the counters show that each ends once. */
Test(serve_worker, kills_at_random, .timeout = 300) {
    struct bench b;
    int before = count_before();
    uint64_t sent;

    begin(&b, (char *[]){ROGUE, "none", NULL});
    b.keeps_sending = true;
    uv_timer_init(&b.loop, &b.killer);
    b.killer.data = &b;
    uv_timer_start(&b.killer, on_kill, 20, 0);
    start(&b);
    UNTIL(&b, b.next > 500 && b.lost >= 60);
    b.keeps_sending = false;
    uv_close((uv_handle_t *)&b.killer, NULL);
    stop(&b);
    sent = b.next - 1;
    cr_expect_eq((uint64_t)(b.done + b.failed + b.lost_batch), sent, "%d %d %d of %llu", b.done,
                 b.failed, b.lost_batch, (unsigned long long)sent);
    fprintf(stderr, "kills_at_random: %llu batches: %d done, %d lost; %d programs ended\n",
            (unsigned long long)sent, b.done, b.lost_batch, b.lost);
    cr_expect_eq(count_files(), before);
}
