/* SPDX-License-Identifier: Apache-2.0
 *
 * The verbs that ask the daemon and show what it says.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "daemon/ctl/cli.h"
#include "daemon/ctl/query.h"
#include "daemon/ctl/render.h"
#include "proto/version.h"
#include "proto/wire.h"

static const struct render_column job_columns[] = {
    {"ID", "id"},         {"NAME", "name"},         {"STATE", "state"},
    {"PID", "pid"},       {"USER", "uid"},          {"MEMORY", "memory_bytes"},
    {"BUSY", "busy_ns"},  {"LAUNCHES", "launches"}, {"COPIED", "copied_bytes"},
    {"QUEUED", "queued"}, {"AGE", "since_ns"},      {NULL, NULL}};

static const struct render_column gpu_columns[] = {{"ID", "id"},
                                                   {"NAME", "name"},
                                                   {"STATE", "state"},
                                                   {"MEMORY", "memory_bytes"},
                                                   {"USED", "memory_used_bytes"},
                                                   {"SMS", "sms"},
                                                   {"JOBS", "jobs"},
                                                   {NULL, NULL}};

/* What one showing is. `columns` NULL: a single record. */
struct view {
    enum ctl_verb verb;
    uint64_t number;
    const char *name;
    const struct render_column *columns;
};

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number) {
    interrupted = 1;
}

static int show_once(struct cli *c, const struct view *v) {
    struct query q;
    int rc = query_ask(c, v->verb, v->number, false, &q);

    if (rc != CLI_OK) return rc;
    rc = v->columns ? render_list(c, &q, v->name, v->columns) : render_one(c, &q, v->name);
    query_finish(&q);
    return rc;
}

/* Once, or again and again until interrupted or refused. */
static int show(struct cli *c, const struct view *v) {
    struct timespec pause = {.tv_sec = (time_t)(c->watch_ms / 1000),
                             .tv_nsec = (long)(c->watch_ms % 1000) * 1000000};
    struct sigaction act = {.sa_handler = on_interrupt};
    bool screen = c->watch_ms && c->format == CLI_TABLE && isatty(fileno(c->out));
    int rc;

    if (c->watch_ms == 0) return show_once(c, v);
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    do {
        if (screen) fputs("\033[H\033[J", c->out);
        rc = show_once(c, v);
        if (fflush(c->out) != 0) return CLI_FAILED; /* nobody reads any more */
        if (rc == CLI_OK && !interrupted) nanosleep(&pause, NULL);
    } while (rc == CLI_OK && !interrupted);
    return rc;
}

static int parse_id(struct cli *c, const char *what, const char *text, uint64_t *out) {
    char *end;

    errno = 0;
    *out = strtoull(text, &end, 10);
    if (errno || end == text || *end || *text == '-')
        return cli_fail(c, CLI_USAGE, "%s '%s' is not a number; see 'salusctl %s list'", what, text,
                        what);
    return CLI_OK;
}

int cli_status(struct cli *c, int argc, char **argv) {
    return show(c, &(struct view){CTL_V_STATUS, 0, "status", NULL});
}

int cli_job_list(struct cli *c, int argc, char **argv) {
    return show(c, &(struct view){CTL_V_JOB_LIST, 0, "jobs", job_columns});
}

int cli_gpu_list(struct cli *c, int argc, char **argv) {
    return show(c, &(struct view){CTL_V_GPU_LIST, 0, "gpus", gpu_columns});
}

int cli_job_show(struct cli *c, int argc, char **argv) {
    struct view v = {CTL_V_JOB_SHOW, 0, "job", NULL};
    int rc = parse_id(c, "job", argv[0], &v.number);

    return rc ? rc : show(c, &v);
}

int cli_gpu_show(struct cli *c, int argc, char **argv) {
    struct view v = {CTL_V_GPU_SHOW, 0, "gpu", NULL};
    int rc = parse_id(c, "gpu", argv[0], &v.number);

    return rc ? rc : show(c, &v);
}

/* ---- version --------------------------------------------------------------------------------- */

static int version_json(struct cli *c, const struct query *q) {
    cJSON *root = cJSON_CreateObject(), *self = cJSON_CreateObject();

    cJSON_AddNumberToObject(root, "schema", RENDER_SCHEMA);
    cJSON_AddStringToObject(self, "version", VERSION_TEXT);
    cJSON_AddNumberToObject(self, "control_protocol", CTL_PROTOCOL);
    cJSON_AddItemToObject(root, "salusctl", self);
    cJSON_AddItemToObject(root, "salusd",
                          q->count ? render_json(q->kind, query_record(q, 0)) : cJSON_CreateNull());
    return render_print(c, root);
}

/* Our own version is known without a daemon, so its absence is no failure here. */
int cli_version(struct cli *c, int argc, char **argv) {
    struct query q;
    int rc = query_ask(c, CTL_V_VERSION, 0, true, &q);
    const struct ctl_version *v;

    if (rc != CLI_OK && rc != CLI_NO_DAEMON) return rc;
    if (c->format == CLI_JSON) {
        rc = version_json(c, &q);
        query_finish(&q);
        return rc;
    }
    fprintf(c->out, "salusctl %s (control protocol %d)\n", VERSION_TEXT, CTL_PROTOCOL);
    v = q.count ? query_record(&q, 0) : NULL;
    if (v)
        fprintf(c->out, "salusd %s (client protocol %s, spec %s)\n", v->version, v->client_protocol,
                v->spec_hash);
    else
        fprintf(c->out, "salusd not running at %s\n", c->socket);
    query_finish(&q);
    return CLI_OK;
}
