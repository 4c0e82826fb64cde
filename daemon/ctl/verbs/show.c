/* SPDX-License-Identifier: Apache-2.0
 *
 * The verbs that ask the daemon and show its answer.
 */
#include "daemon/ctl/verbs/show.h"

#include <cjson/cJSON.h>
#include <string.h>
#include <unistd.h>

#include "daemon/ctl/cli/ask.h"
#include "daemon/ctl/cli/interrupt.h"
#include "daemon/ctl/cli/query.h"
#include "daemon/ctl/cli/render.h"
#include "proto/version.h"
#include "proto/wire/wire.h"

static const struct render_column job_columns[] = {{"ID", "id"},
                                                   {"NAME", "name"},
                                                   {"STATE", "state"},
                                                   {"PID", "pid"},
                                                   {"USER", "uid"},
                                                   {"GPU", "gpu"},
                                                   {"LANE", "lane"},
                                                   {"WEIGHT", "weight"},
                                                   {"MEMORY", "memory_bytes"},
                                                   {"GOT%", "got_percent"},
                                                   {"DUE%", "due_percent"},
                                                   {"BUSY", "busy_ns"},
                                                   {"ITERATIONS", "iterations"},
                                                   {"EACH", "iteration_ns"},
                                                   {"LAUNCHES", "launches"},
                                                   {"RUNS", "running"},
                                                   {"FOR", "running_ns"},
                                                   {"AGE", "since_ns"},
                                                   {"WHY", "why"},
                                                   {NULL, NULL}};

static const struct render_column gpu_columns[] = {{"ID", "id"},
                                                   {"INDEX", "index"},
                                                   {"NAME", "name"},
                                                   {"STATE", "state"},
                                                   {"MEMORY", "memory_bytes"},
                                                   {"GRANTED", "granted_bytes"},
                                                   {"USED", "memory_used_bytes"},
                                                   {"SMS", "sms"},
                                                   {"LANES", "lanes"},
                                                   {"JOBS", "jobs"},
                                                   {"WAITING", "waiting"},
                                                   {"POLICY", "lane_policy"},
                                                   {"WITHIN", "kernel_policy"},
                                                   {"UUID", "uuid"},
                                                   {NULL, NULL}};

static const struct render_column lane_columns[] = {{"GPU", "gpu"},
                                                    {"LANE", "id"},
                                                    {"MEMORY", "memory_bytes"},
                                                    {"BACKED", "backed_bytes"},
                                                    {"JOBS", "jobs"},
                                                    {"HOLDER", "holder"},
                                                    {"NAME", "holder_name"},
                                                    {"SWITCHES", "switches"},
                                                    {"BUSY", "busy_ns"},
                                                    {NULL, NULL}};

static const struct render_column policy_columns[] = {{"KIND", "kind"},
                                                      {"NAME", "name"},
                                                      {"CHOSEN", "chosen"},
                                                      {"WHAT IT RUNS NEXT", "sentence"},
                                                      {NULL, NULL}};

static const struct render_column ended_columns[] = {{"ID", "id"},
                                                     {"NAME", "name"},
                                                     {"USER", "uid"},
                                                     {"GPU", "gpu"},
                                                     {"HOW", "how"},
                                                     {"EXIT", "exit"},
                                                     {"BY", "by"},
                                                     {"STARTED", "since_ns"},
                                                     {"ENDED", "ended_ns"},
                                                     {"WAITED", "waited_ns"},
                                                     {"BUSY", "busy_ns"},
                                                     {"ITERATIONS", "iterations"},
                                                     {"EACH", "iteration_ns"},
                                                     {"PERSISTENT", "persistent_peak_bytes"},
                                                     {"EPHEMERAL", "ephemeral_peak_bytes"},
                                                     {"COMMAND", "command"},
                                                     {"WHY", "why"},
                                                     {NULL, NULL}};

static const struct render_column user_columns[] = {{"USER", "uid"},
                                                    {"JOBS", "jobs"},
                                                    {"OF", "jobs_limit"},
                                                    {"ENDED", "ended"},
                                                    {"OWN", "own_limits"},
                                                    {"CONNECTIONS", "connections"},
                                                    {"OF", "connections_limit"},
                                                    {"BEGINNING", "handshakes"},
                                                    {"OF", "handshakes_limit"},
                                                    {"CONTROL", "controls"},
                                                    {"OF", "controls_limit"},
                                                    {"PINNED", "pinned_bytes"},
                                                    {"DEVICE", "device_bytes"},
                                                    {"QUEUED", "operations"},
                                                    {"PRIORITY", "max_priority"},
                                                    {"WEIGHT", "max_weight"},
                                                    {"REFUSED", "refused"},
                                                    {NULL, NULL}};

/* Views of record kinds: the JSON names of one and of several records, and the columns of a table.
 * `alias`: these names where the verb was called by its deprecated name. */
static const struct view {
    const char *one, *many;
    const struct render_column *columns;
    const char *alias_one, *alias_many;
} views[CTL_RECORD_COUNT] = {
    [CTL_RECORD_STATUS] = {.one = "status"},
    [CTL_RECORD_JOB] = {.one = "job", .many = "jobs", .columns = job_columns},
    [CTL_RECORD_GPU] = {.one = "gpu", .many = "gpus", .columns = gpu_columns},
    [CTL_RECORD_LANE] = {.one = "lane", .many = "lanes", .columns = lane_columns},
    [CTL_RECORD_POLICY] = {.one = "policy", .many = "policies", .columns = policy_columns},
    [CTL_RECORD_POLICY_CONFIG] = {.one = "policy"},
    [CTL_RECORD_ENDED] = {.one = "job", .many = "history", .columns = ended_columns},
    [CTL_RECORD_USER] = {.one = "user",
                         .many = "users",
                         .columns = user_columns,
                         .alias_one = "tenant",
                         .alias_many = "tenants"},
};

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);

    return n >= m && strcmp(text + n - m, end) == 0;
}

static int ask_once(struct cli *c, const struct ctl_request *r) {
    const struct ctl_verb_info *verb = ctl_verb_info(r->verb);
    const struct view *v = &views[verb->record];
    struct query q;
    int status = query_send(c, r, false, &q);

    if (status != CLI_OK) return status;
    status = ends_with(verb->text, ".list")
                 ? render_list(c, &q, c->alias ? v->alias_many : v->many, v->columns)
                 : render_one(c, &q, c->alias ? v->alias_one : v->one);
    query_finish(&q);
    return status;
}

/* Repeats a request until interrupted or refused. */
static int watch(struct cli *c, const struct ctl_request *r) {
    bool screen = c->format == CLI_TABLE && isatty(fileno(c->out));
    int status;

    interrupt_catch();
    do {
        if (screen) fputs("\033[H\033[J", c->out);
        status = ask_once(c, r);
        if (status == CLI_OK) status = cli_flush(c);
        if (status == CLI_OK) interrupt_sleep_ms(c->watch_ms);
    } while (status == CLI_OK && !interrupt_came());
    return status;
}

/* Repeats only verbs that change nothing. */
static int show(struct cli *c, const struct ctl_request *r) {
    const char *text = ctl_verb_info(r->verb)->text;
    bool looks = r->verb == CTL_V_status || ends_with(text, ".list") || ends_with(text, ".show");

    return c->watch_ms && looks ? watch(c, r) : ask_once(c, r);
}

int show_ask(struct cli *c, enum ctl_verb verb, int argc, char **argv) {
    struct ctl_request r;
    int status = ask_build(c, verb, argc, argv, &r);

    return status == CLI_OK ? show(c, &r) : status;
}

/* Shows the status once; the exit status tells scripts whether a job would be served. */
static int status_once(struct cli *c) {
    struct query q;
    int status = query_ask(c, CTL_V_status, 0, false, &q);
    const struct ctl_status *s;

    if (status != CLI_OK) return status;
    status = render_one(c, &q, "status");
    s = q.count ? query_record(&q, 0) : NULL;
    if (status == CLI_OK && s && strcmp(s->state, "ok") != 0)
        status = cli_fail(c, CLI_DEGRADED, "no GPU can serve a job now: %s", s->trouble);
    query_finish(&q);
    return status;
}

int show_status(struct cli *c, int argc, char **argv) {
    return c->watch_ms ? show_ask(c, CTL_V_status, argc, argv) : status_once(c);
}

int show_history(struct cli *c, int argc, char **argv) {
    return show_ask(c, CTL_V_history_list, argc, argv);
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

static void version_text(struct cli *c, const struct query *q, int asked) {
    const struct ctl_version *v = q->count ? query_record(q, 0) : NULL;

    fprintf(c->out, "salusctl %s (control protocol %d)\n", VERSION_TEXT, CTL_PROTOCOL);
    if (v)
        fprintf(c->out, "salusd %s (client protocol %s, spec %s)\n", v->version, v->client_protocol,
                v->spec_hash);
    else if (asked == CLI_NO_DAEMON)
        fprintf(c->out, "salusd is not running at %s\n", c->socket);
    else
        fprintf(c->out, "salusd's version is unknown\n"); /* the diagnostic says why */
}

/* Shows our own version whatever the daemon answers. A missing daemon, or one that refuses, is no
 * failure here. */
int show_version(struct cli *c, int argc, char **argv) {
    struct query q;
    int asked = query_ask(c, CTL_V_version, 0, true, &q), status = CLI_OK;

    if (c->format == CLI_JSON)
        status = version_json(c, &q);
    else
        version_text(c, &q, asked);
    query_finish(&q);
    if (status != CLI_OK || asked == CLI_NO_DAEMON || asked == CLI_NOT_PERMITTED) return status;
    return asked;
}
