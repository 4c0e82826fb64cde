/* SPDX-License-Identifier: Apache-2.0
 *
 * `salusctl record`: polls the daemon ten times a second and writes the result at the end.
 */
#include "daemon/ctl/record/record_verb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "daemon/ctl/cli/interrupt.h"
#include "daemon/ctl/cli/query.h"
#include "daemon/ctl/files/output_file.h"
#include "daemon/ctl/files/temporary.h"
#include "daemon/ctl/record/kernel_trace.h"
#include "daemon/ctl/record/record_events.h"
#include "daemon/ctl/record/recording.h"

#define LOOK_MS 100

/* The state of polling: the jobs seen, and the history number read so far. */
struct watching {
    struct recording recording;
    uint64_t history;
    size_t jobs;
    struct record_lease *events; /* NULL: kernels are not recorded */
    bool wrote;                  /* the file is complete */
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

/* Reads the history since the previous poll. `keep` false: it precedes this recording. */
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

/* Polls until the recording is long enough or the daemon is gone; what was seen is written in
 * either case. */
static int watch(struct cli *c, struct watching *w, uint64_t for_ns, bool until_idle) {
    uint64_t begin = fdutil_now_ns();
    int status = CLI_OK;

    while (status == CLI_OK && !interrupt_came()) {
        status = see_jobs(c, w);
        if (status == CLI_OK) status = see_history(c, w, true);
        if (status == CLI_OK && w->events) status = record_events_renew(c, w->events);
        if (for_ns && fdutil_now_ns() - begin >= for_ns) break;
        if (until_idle && w->jobs == 0 && w->recording.count > 0) break;
        if (status == CLI_OK) interrupt_sleep_ms(LOOK_MS);
    }
    return status;
}

/* Formats the workload file. Returns 0 or -errno. */
static int print_seen(const struct watching *w, char **text, size_t *bytes, size_t *jobs) {
    FILE *f = open_memstream(text, bytes);

    if (!f) return -errno;
    *jobs = recording_write(&w->recording, f, real_now_ns());
    return fclose(f) != 0 ? -errno : 0;
}

static int write_seen(struct cli *c, const struct watching *w, const struct output_file *o) {
    char *text = NULL;
    size_t bytes = 0, jobs = 0;
    int status = print_seen(w, &text, &bytes, &jobs) < 0 ? no_memory(c) : CLI_OK;

    if (status == CLI_OK && !o) {
        fwrite(text, 1, bytes, c->out);
        status = cli_flush(c);
    } else if (status == CLI_OK) {
        status = output_file_write(c, o, text, bytes);
    }
    if (status == CLI_OK && o)
        fprintf(c->err,
                "salusctl: recorded %zu jobs in %s; simulate them with 'salus-sim run', see "
                "salus-sim(1)\n",
                jobs, o->path);
    free(text);
    return status;
}

/* Adds the kernels that ran, if they were requested. */
static int add_kernels(struct cli *c, struct watching *w, struct kernel_trace *kernels,
                       FILE *events) {
    if (!events) return CLI_OK;
    rewind(events);
    if (kernel_trace_read(kernels, events)) return no_memory(c);
    w->recording.kernels = kernels;
    return CLI_OK;
}

/* Opens an unnamed file, into which the worker writes its scheduler's events. */
static int begin_events(struct cli *c, struct watching *w, struct record_lease *lease,
                        FILE **events) {
    char path[PATH_MAX], why[TEMPORARY_WHY_BYTES];
    int fd = temporary_open("salus-events", path, why);

    if (fd < 0) return cli_fail(c, CLI_FAILED, "%s", why);
    unlink(path);
    *events = fdopen(fd, "w+");
    if (!*events) {
        close(fd);
        return cli_fail(c, CLI_FAILED, "cannot open the temporary file for events: %s",
                        strerror(errno));
    }
    w->events = lease;
    return record_events_begin(c, lease, fileno(*events));
}

/* Polls and writes the result, even if the daemon disappeared. `o` NULL: to standard output. */
static int see_and_write(struct cli *c, struct watching *w, uint64_t for_ns,
                         const struct output_file *o) {
    bool until_idle = cli_option(c, "--until-idle") != NULL;
    struct kernel_trace kernels;
    struct record_lease lease;
    FILE *events = NULL;
    int status = cli_option(c, "--kernels") ? begin_events(c, w, &lease, &events) : CLI_OK, wrote;

    kernel_trace_init(&kernels);
    if (status == CLI_OK) {
        interrupt_catch();
        status = watch(c, w, for_ns, until_idle);
        if (status == CLI_OK && events)
            status = record_events_end(c, &lease, "temporary file of events");
        wrote = add_kernels(c, w, &kernels, events);
        if (wrote == CLI_OK) wrote = write_seen(c, w, o);
        w->wrote = wrote == CLI_OK;
        if (status == CLI_OK) status = wrote;
    }
    kernel_trace_finish(&kernels);
    if (events) fclose(events);
    return status;
}

/* Opens the file first, so that a user who cannot write it need not wait. */
static int see_into(struct cli *c, struct watching *w, uint64_t for_ns, const char *path) {
    struct output_file o;
    int status;

    if (strcmp(path, "-") == 0) return see_and_write(c, w, for_ns, NULL);
    status = output_file_open(c, &o, path, 0666);
    if (status != CLI_OK) return status;
    status = see_and_write(c, w, for_ns, &o);
    output_file_close(&o, w->wrote);
    return status;
}

int record_verb_run(struct cli *c, int argc, char **argv) {
    const char *limit = cli_option(c, "--for"), *path = argv[0];
    bool events = cli_option(c, "--events"), kernels = cli_option(c, "--kernels");
    struct watching w = {.history = 0};
    uint64_t for_ns = 0;
    int status;

    if (limit && (status = cli_take_time(c, "--for", limit, &for_ns)) != CLI_OK) return status;
    if (events && kernels)
        return cli_fail(c, CLI_USAGE,
                        "--events and --kernels write different formats: give one of them");
    if (cli_option(c, "--gpu") && !events && !kernels)
        return cli_fail(
            c, CLI_USAGE,
            "--gpu needs --events or --kernels: a workload without them covers all GPUs");
    if (events) return record_events(c, for_ns, path);
    recording_init(&w.recording);
    status = see_device(c, &w);
    if (status == CLI_OK) status = see_history(c, &w, false);
    if (status == CLI_OK) status = see_into(c, &w, for_ns, path);
    recording_finish(&w.recording);
    return status;
}
