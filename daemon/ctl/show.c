/* SPDX-License-Identifier: Apache-2.0
 *
 * The verbs that ask the daemon and show what it says.
 */
#include <cjson/cJSON.h>
#include <string.h>
#include <unistd.h>

#include "daemon/ctl/cli.h"
#include "daemon/ctl/query.h"
#include "daemon/ctl/render.h"
#include "proto/version.h"
#include "proto/wire.h"

static const struct render_column job_columns[] = {{"ID", "id"},
                                                   {"NAME", "name"},
                                                   {"STATE", "state"},
                                                   {"PID", "pid"},
                                                   {"USER", "uid"},
                                                   {"LANE", "lane"},
                                                   {"WEIGHT", "weight"},
                                                   {"MEMORY", "memory_bytes"},
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
                                                   {"NAME", "name"},
                                                   {"STATE", "state"},
                                                   {"MEMORY", "memory_bytes"},
                                                   {"GRANTED", "granted_bytes"},
                                                   {"USED", "memory_used_bytes"},
                                                   {"SMS", "sms"},
                                                   {"LANES", "lanes"},
                                                   {"JOBS", "jobs"},
                                                   {"WAITING", "waiting"},
                                                   {NULL, NULL}};

static const struct render_column lane_columns[] = {
    {"LANE", "id"},           {"MEMORY", "memory_bytes"}, {"BACKED", "backed_bytes"},
    {"JOBS", "jobs"},         {"HOLDER", "holder"},       {"NAME", "holder_name"},
    {"SWITCHES", "switches"}, {"BUSY", "busy_ns"},        {NULL, NULL}};

static const struct render_column policy_columns[] = {{"KIND", "kind"},
                                                      {"NAME", "name"},
                                                      {"CHOSEN", "chosen"},
                                                      {"WHAT IT RUNS NEXT", "sentence"},
                                                      {NULL, NULL}};

static const struct render_column ended_columns[] = {{"ID", "id"},
                                                     {"NAME", "name"},
                                                     {"USER", "uid"},
                                                     {"HOW", "how"},
                                                     {"ENDED", "ended_ns"},
                                                     {"WAITED", "waited_ns"},
                                                     {"BUSY", "busy_ns"},
                                                     {"ITERATIONS", "iterations"},
                                                     {"EACH", "iteration_ns"},
                                                     {"PERSISTENT", "persistent_peak_bytes"},
                                                     {"EPHEMERAL", "ephemeral_peak_bytes"},
                                                     {"WHY", "why"},
                                                     {NULL, NULL}};

static const struct render_column tenant_columns[] = {{"USER", "uid"},
                                                      {"JOBS", "jobs"},
                                                      {"OF", "jobs_limit"},
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

/* What one showing is. `columns` NULL: a single record. */
struct view {
    enum ctl_verb verb;
    uint64_t number;
    const char *name;
    const struct render_column *columns;
};

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
    bool screen = c->watch_ms && c->format == CLI_TABLE && isatty(fileno(c->out));
    int rc;

    if (c->watch_ms == 0) return show_once(c, v);
    cli_catch_interrupt();
    do {
        if (screen) fputs("\033[H\033[J", c->out);
        rc = show_once(c, v);
        if (fflush(c->out) != 0) return CLI_FAILED; /* nobody reads any more */
        if (rc == CLI_OK) cli_sleep_ms(c->watch_ms);
    } while (rc == CLI_OK && !cli_interrupted());
    return rc;
}

/* One object by its number. */
static int show_id(struct cli *c, enum ctl_verb verb, const char *what, const char *text) {
    struct view v = {verb, 0, what, NULL};
    int rc = cli_take_id(c, what, text, &v.number);

    return rc ? rc : show(c, &v);
}

/* Once: scripts shall see by the exit status whether a job would be served. */
static int status_once(struct cli *c) {
    struct query q;
    int rc = query_ask(c, CTL_V_status, 0, false, &q);
    const struct ctl_status *s;

    if (rc != CLI_OK) return rc;
    rc = render_one(c, &q, "status");
    s = q.count ? query_record(&q, 0) : NULL;
    if (rc == CLI_OK && s && strcmp(s->state, "ok") != 0)
        rc = cli_fail(c, CLI_DEGRADED, "no job would be served now: %s", s->trouble);
    query_finish(&q);
    return rc;
}

int cli_status(struct cli *c, int argc, char **argv) {
    if (c->watch_ms == 0) return status_once(c);
    return show(c, &(struct view){CTL_V_status, 0, "status", NULL});
}

int cli_job_list(struct cli *c, int argc, char **argv) {
    return show(c, &(struct view){CTL_V_job_list, 0, "jobs", job_columns});
}

int cli_gpu_list(struct cli *c, int argc, char **argv) {
    return show(c, &(struct view){CTL_V_gpu_list, 0, "gpus", gpu_columns});
}

int cli_lane_list(struct cli *c, int argc, char **argv) {
    return show(c, &(struct view){CTL_V_lane_list, 0, "lanes", lane_columns});
}

int cli_policy_list(struct cli *c, int argc, char **argv) {
    return show(c, &(struct view){CTL_V_policy_list, 0, "policies", policy_columns});
}

int cli_policy_show(struct cli *c, int argc, char **argv) {
    return show(c, &(struct view){CTL_V_policy_show, 0, "policy", NULL});
}

int cli_tenant_list(struct cli *c, int argc, char **argv) {
    return show(c, &(struct view){CTL_V_tenant_list, 0, "tenants", tenant_columns});
}

int cli_history(struct cli *c, int argc, char **argv) {
    return show(c, &(struct view){CTL_V_history_list, 0, "history", ended_columns});
}

int cli_job_show(struct cli *c, int argc, char **argv) {
    return show_id(c, CTL_V_job_show, "job", argv[0]);
}

int cli_gpu_show(struct cli *c, int argc, char **argv) {
    return show_id(c, CTL_V_gpu_show, "gpu", argv[0]);
}

int cli_lane_show(struct cli *c, int argc, char **argv) {
    return show_id(c, CTL_V_lane_show, "lane", argv[0]);
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
        fprintf(c->out, "salusd not running at %s\n", c->socket);
    else
        fprintf(c->out, "salusd not known\n"); /* the diagnostic has why */
}

/* Our own version is known without a daemon: it is shown whatever the daemon's answer is. That none
 * runs, or that it is not ours to ask, is no failure here. */
int cli_version(struct cli *c, int argc, char **argv) {
    struct query q;
    int asked = query_ask(c, CTL_V_version, 0, true, &q), rc = CLI_OK;

    if (c->format == CLI_JSON)
        rc = version_json(c, &q);
    else
        version_text(c, &q, asked);
    query_finish(&q);
    if (rc != CLI_OK || asked == CLI_NO_DAEMON || asked == CLI_NOT_PERMITTED) return rc;
    return asked;
}
