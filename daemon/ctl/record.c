/* SPDX-License-Identifier: Apache-2.0
 *
 * `salusctl record`: looks at the daemon ten times a second and writes, at the end, what it saw.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "common/fdutil.h"
#include "daemon/ctl/cli.h"
#include "daemon/ctl/kernel_trace.h"
#include "daemon/ctl/query.h"
#include "daemon/ctl/record_events.h"
#include "daemon/ctl/recording.h"

#define LOOK_MS 100

/* What a look found: how many jobs were there, and up to which number the history was read. */
struct watching {
    struct recording recording;
    uint64_t history;
    size_t jobs;
    struct record_lease *events; /* NULL: of kernels nothing is asked */
};

static uint64_t real_now_ns(void) {
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int no_memory(struct cli *c) {
    return cli_fail(c, CLI_FAILED, "out of memory");
}

static int see_jobs(struct cli *c, struct watching *w) {
    struct query q;
    int status = query_ask(c, CTL_V_job_list, 0, false, &q);

    if (status != CLI_OK) return status;
    w->jobs = q.count;
    for (size_t i = 0; i < q.count && status == CLI_OK; i++)
        if (recording_see(&w->recording, query_record(&q, i)) < 0) status = no_memory(c);
    query_finish(&q);
    return status;
}

/* Only what ended since; `keep` false: it is not of this recording. */
static int see_history(struct cli *c, struct watching *w, bool keep) {
    struct ctl_request r = {.verb = CTL_V_history_list};
    struct query q;
    int status;

    ctl_msg_put(&r, CTL_A_after, (int64_t)w->history);
    status = query_send(c, &r, false, &q);
    if (status != CLI_OK) return status;
    for (size_t i = 0; i < q.count && status == CLI_OK; i++) {
        const struct ctl_ended *e = query_record(&q, i);

        w->history = e->number;
        if (keep && recording_see_ended(&w->recording, e) < 0) status = no_memory(c);
    }
    query_finish(&q);
    return status;
}

static void see_gpu(struct watching *w, const struct ctl_gpu *gpu) {
    w->recording.device_bytes = gpu->memory_bytes;
    w->recording.soft = strcmp(gpu->device, "soft") == 0;
}

static int see_device(struct cli *c, struct watching *w) {
    struct query q;
    int status = query_ask(c, CTL_V_gpu_list, 0, false, &q);

    if (status != CLI_OK) return status;
    if (q.count) see_gpu(w, query_record(&q, 0));
    query_finish(&q);
    return CLI_OK;
}

/* Until it is enough, or the daemon is gone: then what was seen until then is still written. */
static int watch(struct cli *c, struct watching *w, uint64_t for_ns, bool until_idle) {
    uint64_t begin = fdutil_now_ns();
    int status = CLI_OK;

    while (status == CLI_OK && !cli_interrupted()) {
        status = see_jobs(c, w);
        if (status == CLI_OK) status = see_history(c, w, true);
        if (status == CLI_OK && w->events) status = record_events_renew(c, w->events);
        if (for_ns && fdutil_now_ns() - begin >= for_ns) break;
        if (until_idle && w->jobs == 0 && w->recording.count > 0) break;
        if (status == CLI_OK) cli_sleep_ms(LOOK_MS);
    }
    return status;
}

static int write_file(struct cli *c, const struct watching *w, const char *path, FILE *f) {
    size_t n = recording_write(&w->recording, f, real_now_ns());

    if (fflush(f) != 0 || ferror(f))
        return cli_fail(c, CLI_FAILED, "%s: %s", path, strerror(errno));
    if (f != c->out) fprintf(c->err, "salusctl: %zu jobs in %s; see salus-sim(1)\n", n, path);
    return CLI_OK;
}

/* What ran, with its kernels where they were asked for; also when the daemon was gone in between.
 */
static int write_seen(struct cli *c, struct watching *w, const char *path, FILE *f, FILE *events) {
    struct kernel_trace kernels;
    int status;

    kernel_trace_init(&kernels);
    if (events) {
        rewind(events);
        if (kernel_trace_read(&kernels, events)) {
            kernel_trace_finish(&kernels);
            return no_memory(c);
        }
        w->recording.kernels = &kernels;
    }
    status = write_file(c, w, path, f);
    kernel_trace_finish(&kernels);
    return status;
}

/* A file without a name, for the worker to write its scheduler's events to. */
static int begin_events(struct cli *c, struct watching *w, struct record_lease *lease,
                        FILE **events) {
    *events = tmpfile();
    if (!*events) return cli_fail(c, CLI_FAILED, "a temporary file: %s", strerror(errno));
    w->events = lease;
    return record_events_begin(c, lease, fileno(*events));
}

static int see_and_write(struct cli *c, struct watching *w, uint64_t for_ns, const char *path) {
    struct record_lease lease;
    FILE *events = NULL;
    int wrote, status = cli_option(c, "--kernels") ? begin_events(c, w, &lease, &events) : CLI_OK;
    FILE *f = status != CLI_OK ? NULL : strcmp(path, "-") == 0 ? c->out : fopen(path, "we");

    if (status == CLI_OK && !f) status = cli_fail(c, CLI_FAILED, "%s: %s", path, strerror(errno));
    if (f) {
        cli_catch_interrupt();
        status = watch(c, w, for_ns, cli_option(c, "--until-idle") != NULL);
        if (status == CLI_OK && events) status = record_events_end(c, &lease, "the events");
        wrote = write_seen(c, w, path, f, events);
        if (status == CLI_OK) status = wrote;
        if (f != c->out) fclose(f);
    }
    if (events) fclose(events);
    return status;
}

int cli_record(struct cli *c, int argc, char **argv) {
    const char *limit = cli_option(c, "--for"), *path = argv[0];
    bool events = cli_option(c, "--events"), kernels = cli_option(c, "--kernels");
    struct watching w = {.history = 0};
    uint64_t for_ns = 0;
    int status;

    if (limit && (status = cli_take_time(c, "--for", limit, &for_ns)) != CLI_OK) return status;
    if (events && kernels)
        return cli_fail(c, CLI_USAGE, "--events and --kernels: into one file goes one of them");
    if (cli_option(c, "--gpu") && !events && !kernels)
        return cli_fail(c, CLI_USAGE,
                        "--gpu: a workload is of all GPUs; it goes with --events and --kernels");
    if (events) return record_events(c, for_ns, path);
    recording_init(&w.recording);
    status = see_device(c, &w);
    if (status == CLI_OK) status = see_history(c, &w, false);
    if (status == CLI_OK) status = see_and_write(c, &w, for_ns, path);
    recording_finish(&w.recording);
    return status;
}
